package reconcile

import (
	"context"
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/engine/budget"
	"muster/internal/fleet"
)

// documentOf is a configuration of somewhat more than size bytes.
func documentOf(id fleet.DeviceID, size int) []byte {
	return []byte(`{"version":52,"devices":[{"deviceID":"` + string(id) + `"}],` +
		`"gui":{"apiKey":"k","enabled":true},"x":"` + strings.Repeat("x", size) + `"}`)
}

func TestALargeDocumentIsTakenApartOnceThereIsMemory(t *testing.T) {
	id := fleet.DeviceIDOf([32]byte{1})
	for size, want := range map[int]int{10: 1, 3 << 20: 2} {
		doc := documentOf(id, size)
		tries := 0
		memory := budget.NewWorkMemory()
		e := New(Options{Memory: memory})
		err := memory.Do(t.Context(), func(ctx context.Context) error {
			tries++
			_, err := input{id: id}.withDocument(e.takeMemory(ctx), fleet.ObservedConfig{JSON: doc}, stconfig.Value{})
			return err
		})
		if err != nil || tries != want {
			t.Errorf("%d bytes: %d tries, %v; want %d", size, tries, err, want)
		}
	}
}

// A report waits for the memory of the answer, and its documents must not wait with it.
func TestAReportHoldsNoDocuments(t *testing.T) {
	key, err := stconfig.ParseKey("folders.a.label")
	if err != nil {
		t.Fatal(err)
	}
	change := func(size int) plan.Change {
		return plan.Change{Key: key, From: stconfig.Text("old"), To: stconfig.Text(strings.Repeat("x", size)), Reason: "why"}
	}
	changes := []plan.Change{change(10), change(plan.MaxReported), change(20)}
	room := plan.MaxReported
	got := plan.ForReport(changes, &room)
	for i, shown := range []bool{true, false, true} {
		said := strings.Contains(got[i].Reason, "not shown")
		if shown && (!got[i].To.Equal(changes[i].To) || !got[i].From.Equal(changes[i].From) || said) ||
			!shown && (got[i].To.Exists() || got[i].From.Exists() || !said) {
			t.Errorf("change %d: from %s, %d bytes, %q", i, got[i].From.JSON(), len(got[i].To.Str()), got[i].Reason)
		}
		if !got[i].Key.Equal(key) || !strings.HasPrefix(got[i].Reason, "why") {
			t.Errorf("change %d is %s: %q", i, got[i].Key, got[i].Reason)
		}
	}
}

// revisionStore gives the same configuration for every revision.
type revisionStore struct {
	Store
	json []byte
}

func (s revisionStore) Revision(context.Context, fleet.DeviceID, int64) (fleet.Revision, error) {
	return fleet.Revision{JSON: s.json}, nil
}

func TestConfigurationsThatAreTooLargeAreNotCompared(t *testing.T) {
	id := fleet.DeviceIDOf([32]byte{1})
	for size, want := range map[int]fleet.Code{1 << 20: "", maxCompared / 2: fleet.CodeTooLarge} {
		doc := documentOf(id, size)
		_, err := New(Options{Store: revisionStore{json: doc}, Memory: budget.NewWorkMemory()}).Compare(t.Context(), id, 1, 2)
		if fleet.CodeOf(err) != want {
			t.Errorf("%d bytes: got %v, want %q", size, err, want)
		}
	}
}

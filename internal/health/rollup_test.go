package health

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"muster/internal/fleet"
)

func labels(pairs ...string) []fleet.FolderLabel {
	var all []fleet.FolderLabel
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, fleet.FolderLabel{Folder: pairs[i], Label: pairs[i+1]})
	}
	return all
}

func TestAFolderIsAsBadAsItsWorstDevice(t *testing.T) {
	o := NewRollup()
	want := func(when string, want FolderCounts) {
		t.Helper()
		if got := o.Counts().Folders; got != want {
			t.Errorf("%s: got %+v, want %+v", when, got, want)
		}
	}
	o.Put("A", fleet.Online, fleet.ConfigInSync)
	o.Put("B", fleet.Online, fleet.ConfigHeld)
	o.SetFolders("A", labels("p", "Photos", "q", ""))
	o.SetFolders("B", labels("p", "Photos"))
	want("before any summary", FolderCounts{All: 2, Unknown: 2})
	o.SetSummaries("A", map[string]fleet.FolderSummary{"p": {State: "idle"}, "q": {State: "idle"},
		"gone": {State: "error"}})
	want("B unknown", FolderCounts{All: 2, InSync: 1, Unknown: 1})
	o.SetSummaries("B", map[string]fleet.FolderSummary{"p": {State: "syncing", NeedBytes: 1}})
	want("B out of sync", FolderCounts{All: 2, InSync: 1, OutOfSync: 1})
	o.SetSummaries("B", map[string]fleet.FolderSummary{"p": {State: "error"}})
	want("B in error", FolderCounts{All: 2, InSync: 1, WithErrors: 1})
	o.Put("B", fleet.Unreachable, fleet.ConfigUnknown)
	want("B is gone", FolderCounts{All: 2, InSync: 1, Unknown: 1})
	o.Put("B", fleet.Online, fleet.ConfigInSync)
	want("B is back", FolderCounts{All: 2, InSync: 1, WithErrors: 1})
	o.SetFolders("B", nil)
	want("B has it no more", FolderCounts{All: 2, InSync: 2})
	o.Remove("A")
	want("A is deleted", FolderCounts{})
	o.SetFolders("A", labels("p", ""))
	o.SetSummaries("A", nil)
	want("A is deleted and still talks", FolderCounts{})
	counts := o.Counts()
	if counts.Devices != 1 || !maps.Equal(counts.Connections, map[fleet.Connection]int{fleet.Online: 1}) ||
		!maps.Equal(counts.Configurations, map[fleet.Configuration]int{fleet.ConfigInSync: 1}) {
		t.Errorf("got %+v", counts)
	}
}

func TestAFolderIsCalledWhatMostDevicesCallIt(t *testing.T) {
	o := NewRollup()
	for i, label := range []string{"b", "a", "b", "c"} {
		id := fleet.DeviceID(fmt.Sprint(i))
		o.Put(id, fleet.Online, fleet.ConfigInSync)
		o.SetFolders(id, labels("p", label, "p", "twice"))
	}
	want := func(want string) {
		t.Helper()
		if got := o.Folders(); len(got) != 1 || got[0].Label != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	want("b")
	o.SetFolders("0", labels("p", "c"))
	want("c")
	o.SetFolders("3", labels("p", "a"))
	want("a")
	o.Remove("1")
	want("a") // as often as b and c, and the first
}

// One that is told everything at once agrees with one that followed it.
func TestItAgreesWithCountingAnew(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	followed := NewRollup()
	type truth struct {
		connection fleet.Connection
		folders    []fleet.FolderLabel
		summaries  map[string]fleet.FolderSummary
	}
	truths := map[fleet.DeviceID]*truth{}
	for step := range 5000 {
		id := fleet.DeviceID(fmt.Sprint(r.IntN(8)))
		is := truths[id]
		if is == nil {
			is = &truth{}
			truths[id] = is
		}
		switch r.IntN(5) {
		case 0:
			delete(truths, id)
			followed.Remove(id)
			continue
		case 1:
			is.folders = nil
			for _, name := range []string{"p", "q", "r"} {
				if r.IntN(2) == 0 {
					is.folders = append(is.folders, fleet.FolderLabel{Folder: name, Label: fmt.Sprint(r.IntN(2))})
				}
			}
		case 2:
			is.summaries = map[string]fleet.FolderSummary{}
			for _, name := range []string{"p", "q", "r"} {
				if n := r.IntN(4); n > 0 {
					is.summaries[name] = fleet.FolderSummary{NeedFiles: int64(n / 2), State: []string{"", "idle", "idle", "error"}[n]}
				}
			}
		default:
			is.connection = []fleet.Connection{fleet.Online, fleet.Unreachable}[r.IntN(2)]
		}
		followed.Put(id, is.connection, fleet.ConfigInSync)
		followed.SetFolders(id, is.folders)
		followed.SetSummaries(id, is.summaries)
		if step%50 != 0 {
			continue
		}
		anew := NewRollup()
		for id, is := range truths {
			anew.Put(id, is.connection, fleet.ConfigInSync)
			anew.SetFolders(id, is.folders)
			anew.SetSummaries(id, is.summaries)
		}
		got, want := followed.Counts(), anew.Counts()
		if got.Devices != want.Devices || got.Folders != want.Folders || !maps.Equal(got.Connections, want.Connections) ||
			!slices.Equal(followed.Folders(), anew.Folders()) {
			t.Fatalf("step %d: got %+v %v, want %+v %v", step, got, followed.Folders(), want, anew.Folders())
		}
	}
}

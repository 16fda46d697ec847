package syncthing

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

var asking = fleet.DeviceIDOf([32]byte{9})

func pendingFake(t *testing.T) *fake {
	f := newFake(t, fakeOptions{})
	f.answer("/rest/cluster/pending/devices",
		fmt.Sprintf(`{%q:{"time":"2026-11-20T21:11:55Z","name":"new","address":"192.0.2.7:22000"}}`, asking))
	f.answer(
		"/rest/cluster/pending/folders",
		fmt.Sprintf(
			`{"p/q":{"offeredBy":{%q:{"time":"2026-11-20T21:11:56Z","label":"P","receiveEncrypted":true,"remoteEncrypted":false}}}}`,
			asking,
		),
	)
	return f
}

func TestReadsWhatIsPending(t *testing.T) {
	c := newClient(t, pendingFake(t).target(), Limits{})
	got, err := c.Pending(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b fleet.Pending) int { return cmp.Compare(a.Folder, b.Folder) })
	at := time.Date(2026, 11, 20, 21, 11, 55, 0, time.UTC)
	want := []fleet.Pending{
		{From: asking, Name: "new", Address: "192.0.2.7:22000", Since: at},
		{From: asking, Folder: "p/q", FolderLabel: "P", Encrypted: true, Since: at.Add(time.Second)},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPendingBetweenPollsTakesNoOtherConnection(t *testing.T) {
	f := pendingFake(t)
	f.answer("/rest/events", "[]")
	c := newClient(t, f.target(), Limits{})
	for range 2 {
		if _, err := c.Events(t.Context(), 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		if all, err := c.Pending(t.Context()); err != nil || len(all) != 2 {
			t.Fatalf("got %v, %v", all, err)
		}
	}
	if f.dialled() != 1 {
		t.Errorf("%d connections", f.dialled())
	}
}

func TestPendingOfADaemonThatDoesNotKnowItIsNothing(t *testing.T) {
	f := newFake(t, fakeOptions{})
	f.handle("/rest/cluster/pending/devices", http.NotFound)
	if all, err := newClient(t, f.target(), Limits{}).Pending(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("got %v, %v", all, err)
	}
}

func TestPendingThatCannotBeBelieved(t *testing.T) {
	var many []string
	for i := range maxPending + 1 {
		many = append(many, fmt.Sprintf(`%q:{"name":"x"}`, fleet.DeviceIDOf([32]byte{byte(i), byte(i >> 8)})))
	}
	for name, body := range map[string]string{
		"no device ID": `{"abc":{}}`, "a list": `[]`, "too many": "{" + strings.Join(many, ",") + "}",
		"a name without end": fmt.Sprintf(`{%q:{"name":%q}}`, asking, strings.Repeat("x", 5<<10)),
	} {
		t.Run(name, func(t *testing.T) {
			f := pendingFake(t)
			f.answer("/rest/cluster/pending/devices", body)
			if _, err := newClient(t, f.target(), Limits{}).Pending(t.Context()); fleet.CodeOf(err) != fleet.CodeUnbelievable {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDismissNamesWhoAsks(t *testing.T) {
	f := pendingFake(t)
	c := newClient(t, f.target(), Limits{})
	var queries []string
	for _, path := range []string{"/rest/cluster/pending/devices", "/rest/cluster/pending/folders"} {
		f.handle(path, func(_ http.ResponseWriter, r *http.Request) {
			queries = append(queries, r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("folder")+" "+r.URL.Query().Get("device"))
		})
	}
	for _, asks := range []fleet.Pending{{From: asking}, {From: asking, Folder: "p/q &"}} {
		if err := c.DismissPending(t.Context(), asks); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"DELETE /rest/cluster/pending/devices  " + string(asking),
		"DELETE /rest/cluster/pending/folders p/q & " + string(asking)}
	if !slices.Equal(queries, want) {
		t.Errorf("got %q, want %q", queries, want)
	}
}

func TestRequestsAreMeasured(t *testing.T) {
	f := pendingFake(t)
	var seen []string
	c := New(f.target(), Options{Measured: func(during string, took time.Duration, err error) {
		seen = append(seen, fmt.Sprintf("%s %v %v", during, took > 0, err == nil))
	}})
	defer c.Close()
	f.handle("/rest/system/version", http.NotFound)
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Version(t.Context()); err == nil {
		t.Fatal("a version was read")
	}
	if want := []string{"read the status true true", "read the version true false"}; !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
}

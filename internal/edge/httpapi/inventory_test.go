package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// stocked is a world with an inventory over snapshots that a test sets.
type stocked struct {
	*world
	snapshots map[fleet.DeviceID]*fleet.Snapshot
	common    string
	asked     int // for the state of a device
}

func newStocked(t *testing.T) *stocked {
	t.Helper()
	w := &stocked{world: newWorld(t), snapshots: map[fleet.DeviceID]*fleet.Snapshot{}}
	w.fakes.states = map[fleet.DeviceID]fleet.State{}
	w.lookAt(func(id fleet.DeviceID) *fleet.Snapshot { return w.snapshots[id] }, func(o *view.Options) {
		o.State = func(ctx context.Context, id fleet.DeviceID) (fleet.State, error) {
			w.asked++
			return w.fakes.State(ctx, id)
		}
		o.Common = func() any { return w.common }
	})
	return w
}

// stand registers a device in a state, with a version, and marks it.
func (w *stocked) stand(id fleet.DeviceID, label string, state fleet.State, s fleet.Snapshot) {
	w.t.Helper()
	w.device(id, label)
	w.set(id, state, s)
}

func (w *stocked) set(id fleet.DeviceID, state fleet.State, s fleet.Snapshot) {
	s.Device, s.Connection = id, state.Connection
	w.fakes.states[id], w.snapshots[id] = state, &s
	w.changed(id)
}

func (w *stocked) tag(id fleet.DeviceID, tag string) {
	w.put(Prefix+"/devices/"+string(id)+"/tags/"+tag, "")
}

func (w *stocked) inventory(query string) api.Inventory {
	w.t.Helper()
	return read[api.Inventory](w.world, Prefix+"/inventory"+query)
}

func labels(i api.Inventory) []string {
	all := []string{}
	for _, d := range i.Devices {
		all = append(all, d.Label)
	}
	return all
}

// etag is that of the answer to a query, and whether the client that has one gets it again.
func (w *stocked) etag(query, known string) (etag string, unchanged bool) {
	w.t.Helper()
	resp := w.do(call{method: http.MethodGet, path: Prefix + "/inventory" + query,
		header: http.Header{"If-None-Match": {known}}})
	return resp.Header.Get("ETag"), resp.StatusCode == http.StatusNotModified
}

func threeDevices(t *testing.T) *stocked {
	w := newStocked(t)
	hour := time.Now().Truncate(time.Hour)
	folders := []fleet.FolderLabel{{Folder: "a", Label: "Photos"}, {Folder: "b"}, {Folder: "c"}, {Folder: "d"}}
	summaries := map[string]fleet.FolderSummary{
		"a": {
			State: "idle",
		},
		"b": {State: "idle", NeedBytes: 700, NeedFiles: 2},
		"c": {State: fleet.FolderInError, Error: "no marker", NeedBytes: 5},
	}
	w.stand(idA, "Nas", fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigInSync, LastSeen: hour,
		Since: hour, Address: "10.0.0.7:8384", FoundBy: "record"},
		fleet.Snapshot{Version: &fleet.Version{Version: "v1.9.0", OS: "linux", Arch: "arm64"}, Folders: folders,
			Summaries: summaries, Pending: []fleet.Pending{{Device: idA, From: idC}, {Device: idA, From: idC, Folder: "x"}}})
	w.stand(idB, "laptop", fleet.State{Connection: fleet.Unreachable, Configuration: fleet.ConfigUnknown,
		Since: hour.Add(-time.Hour)}, fleet.Snapshot{Version: &fleet.Version{Version: "v1.10.0", OS: "windows"},
		Folders: folders[:2], Summaries: summaries})
	w.stand(idC, "office", fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigHeld, LastSeen: hour},
		fleet.Snapshot{Disks: &fleet.DiskFacts{Home: fleet.DiskSpace{Free: 50, Total: 100},
			Folders: []fleet.FolderDisk{{Space: fleet.DiskSpace{Free: 7, Total: 100}}}}})
	w.tag(idA, "lima")
	w.tag(idB, "lima")
	w.tag(idB, "mobile")
	return w
}

func TestAnInventoryHasEverythingOfARow(t *testing.T) {
	w := threeDevices(t)
	got := w.inventory("")
	if got.Total != 3 || got.Matched != 3 || !slices.Equal(labels(got), []string{"Nas", "laptop", "office"}) {
		t.Fatalf("got %d of %d: %v", got.Matched, got.Total, labels(got))
	}
	nas, laptop, office := got.Devices[0], got.Devices[1], got.Devices[2]
	if !maps.Equal(nas.Folders, api.FolderCounts{"all": 4, "upToDate": 1, "behind": 1, "stopped": 1, "unknown": 1}) ||
		nas.NeedBytes != 705 {
		t.Errorf("folders %+v, %d bytes", nas.Folders, nas.NeedBytes)
	}
	if !maps.Equal(laptop.Folders, api.FolderCounts{"all": 2, "unknown": 2}) {
		t.Errorf("folders of a device that is not online: %+v", laptop.Folders)
	}
	if nas.Version != "v1.9.0" || nas.OS != "linux" || nas.Arch != "arm64" || nas.FoundBy != "record" ||
		nas.Mode != "on" ||
		nas.Address != "10.0.0.7:8384" || nas.LastSeen == nil || nas.Since == nil ||
		!slices.Equal(nas.Tags, []string{"lima"}) {
		t.Errorf("got %+v", nas)
	}
	if !slices.Equal(nas.Waits, []string{"pendingDevice", "pendingFolder"}) || len(laptop.Waits) != 0 ||
		!slices.Equal(office.Waits, []string{"held"}) {
		t.Errorf("they wait for %v, %v, %v", nas.Waits, laptop.Waits, office.Waits)
	}
	if office.Since != nil || laptop.LastSeen != nil {
		t.Errorf("times that are not known are %v and %v", office.Since, laptop.LastSeen)
	}
	c := got.Counts
	if !maps.Equal(c.Connections, map[string]int{"online": 2, "unreachable": 1}) ||
		!maps.Equal(c.Tags, map[string]int{"lima": 2, "mobile": 1}) ||
		!maps.Equal(c.OS, map[string]int{"linux": 1, "windows": 1, "": 1}) ||
		!maps.Equal(c.Waiting, map[string]int{"any": 2, "none": 1, "held": 1, "pendingDevice": 1, "pendingFolder": 1}) {
		t.Errorf("counts %+v", c)
	}
}

// A release candidate made every release outdated.
func TestAnInventorySaysWhichVersionsAreOutdated(t *testing.T) {
	w := threeDevices(t)
	w.set(idC, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Version: &fleet.Version{Version: "v1.11.0-rc.1"}})
	got := w.inventory("?os=windows")
	want := api.OutdatedVersions{Newest: "v1.10.0", NewestCandidate: "v1.11.0-rc.1", Versions: []string{"v1.9.0"}}
	if !reflect.DeepEqual(got.Outdated, want) {
		t.Errorf("got %+v, want %+v", got.Outdated, want)
	}
	if got.Counts.Outdated != 0 {
		t.Errorf("%d of the devices with Windows are outdated", got.Counts.Outdated)
	}
	if got := w.inventory("?os=linux&outdated=true"); got.Counts.Outdated != 1 || got.Matched != 1 {
		t.Errorf("%d of the devices with Linux are outdated, %d match", got.Counts.Outdated, got.Matched)
	}
	overview := read[api.Overview](w.world, Prefix+"/overview?tag=mobile")
	if overview.Outdated != 0 || overview.NewestVersion != "v1.10.0" {
		t.Errorf("of the tag: %d, newest %q", overview.Outdated, overview.NewestVersion)
	}
	if overview = read[api.Overview](w.world, Prefix+"/overview?tag=lima"); overview.Outdated != 1 {
		t.Errorf("of the tag: %d", overview.Outdated)
	}
}

func TestAnInventoryIsFilteredSortedAndPaged(t *testing.T) {
	w := threeDevices(t)
	for query, want := range map[string][]string{
		"?version=%3C1.10": {"Nas"}, "?version=%3E=v1.10&version=v1.9.0": {"Nas", "laptop"}, "?version=%3E2": nil,
		"?version=%3C=1.9.0": {"Nas"}, "?version=%3E1.9.0": {"laptop"},
		"?stale=7d": nil, "?stale=30m": nil, "?diskBelow=10": {"office"}, "?diskBelow=5": nil,
		"?outdated=true": {"Nas"}, "?outdated=true&os=windows": nil, "?outdated=false": {"Nas", "laptop", "office"},
		"?sort=-diskFree": {"office", "Nas", "laptop"},
		"?q=LAP":          {"laptop"}, "?q=10.0.0": {"Nas"}, "?q=" + strings.ToLower(string(idC)): {"office"},
		"?tag=lima": {"Nas", "laptop"}, "?tag=lima&tag=mobile": {"laptop"}, "?tag=none": {},
		"?state=online": {"Nas", "office"}, "?state=online&state=held": {"office"},
		"?state=online&state=unreachable": {"Nas", "laptop", "office"}, "?state=inSync&state=held": {"Nas", "office"},
		"?version=v1.9.0&version=v1.10.0": {"Nas", "laptop"}, "?version=": {"office"}, "?os=windows": {"laptop"},
		"?version=1.9.0": {"Nas"}, "?version=1.10.0&version=v1.9.0": {"Nas", "laptop"}, "?version=1.9": {"Nas"},
		"?version=v1.1": {}, "?version=unknown-dev": {},
		"?version=%3C+v1.10": {"Nas"}, "?version=%3E%3D1.10": {"laptop"}, "?waiting=trouble": {},
		"?waiting=any": {"Nas", "office"}, "?waiting=none": {"laptop"}, "?waiting=held&waiting=pendingFolder": {"Nas",
			"office"},
		"?sort=-label": {"office", "laptop", "Nas"}, "?sort=version": {"Nas", "laptop", "office"},
		"?sort=-version": {"laptop", "Nas", "office"}, "?sort=since": {"laptop", "Nas", "office"},
		"?sort=-since": {"Nas", "laptop", "office"}, "?sort=-needBytes": {"Nas", "laptop", "office"},
		"?limit=2": {"Nas", "laptop"}, "?limit=2&offset=2": {"office"}, "?offset=9": {},
	} {
		if got := labels(w.inventory(query)); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{"?state=gone", "?sort=price", "?stale=soon", "?stale=-1h", "?diskBelow=0",
		"?offset=-1", "?limit=0", "?waiting=tea", "?tag=%00", "?os=%ff", "?os=windows95", "?version=%3Cbanana",
		"?version=%3D2", "?version=%3D%3C2", "?version=1.9.x", "?version=%3C1.9.x", "?version=banana", "?version=v",
		"?version=%3C", "?version=%3C2%3E1", "?version=%ff"} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/inventory" + query})
	}
}

// Of a mistyped word the answer said which words there are, and of a system nothing.
func TestAMistypedWordOfAFilterIsAnsweredWithTheNearest(t *testing.T) {
	w := threeDevices(t)
	for query, want := range map[string][2]string{
		"?os=windows95":       {"os is aix, android,", "Did you mean windows?"},
		"?state=ofline":       {"state is a connection (neverSeen, online,", "Did you mean online?"},
		"?folderState=stoped": {"it is one of upToDate, scanning,", "Did you mean stopped?"},
		"?waiting=hold":       {"waiting is one of any, none,", "Did you mean held?"},
	} {
		got := w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/inventory" + query})
		if !strings.Contains(got.Detail, want[0]) || got.Hint != want[1] {
			t.Errorf("%s: got %q, %q", query, got.Detail, got.Hint)
		}
	}
}

func TestThePagesOfAnInventoryLinkToEachOther(t *testing.T) {
	w := threeDevices(t)
	var all []string
	for path := Prefix + "/inventory?limit=2&sort=-label"; path != ""; {
		resp := w.do(call{method: http.MethodGet, path: path})
		var page api.Inventory
		if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
			t.Fatal(err)
		}
		all = append(all, labels(page)...)
		if page.Matched != 3 {
			t.Errorf("%s: %d matched", path, page.Matched)
		}
		link, _, found := strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
		if path = link; !found {
			path = ""
		}
	}
	if !slices.Equal(all, []string{"office", "laptop", "Nas"}) {
		t.Errorf("got %v", all)
	}
}

func TestCountsSayWhatAnotherChoiceInTheSameFilterGives(t *testing.T) {
	w := threeDevices(t)
	got := w.inventory("?os=linux&state=online")
	if got.Matched != 1 || !maps.Equal(got.Counts.OS, map[string]int{"linux": 1, "": 1}) ||
		!maps.Equal(got.Counts.Connections, map[string]int{"online": 1}) {
		t.Errorf("%d matched, counts %+v", got.Matched, got.Counts)
	}
}

func TestRowsAreMadeOnlyOfWhatChanged(t *testing.T) {
	w := threeDevices(t)
	first, _ := w.etag("", "")
	w.asked = 0
	if again, unchanged := w.etag("", first); !unchanged || again != first || w.asked != 0 {
		t.Errorf("with nothing changed: %s, %s; unchanged %t, %d states were asked for", first, again, unchanged, w.asked)
	}
	state := w.fakes.states[idB]
	state.Reason = "the cable is out"
	w.set(idB, state, *w.snapshots[idB])
	second, unchanged := w.etag("", first)
	if unchanged || w.asked != 1 || w.inventory("").Devices[1].Reason != state.Reason {
		t.Errorf("after a change of one device: unchanged %t, %d states were asked for", unchanged, w.asked)
	}
	w.changed(idB) // which is as it was
	if _, unchanged := w.etag("", second); !unchanged {
		t.Error("a mark alone made another ETag")
	}
	w.asked, w.common = 0, "the lock is lost"
	if w.etag("", second); w.asked != 3 {
		t.Errorf("after a change of what all depend on, %d states were asked for", w.asked)
	}
}

// Events carry rows: while a rollout goes through a fleet, each of its devices has a new one several times.
func TestTheRowOfOneDeviceDidCostAWalkThroughTheFleet(t *testing.T) {
	const devices, times = 4000, 50
	registry := &fleet.Registry{Mode: fleet.ModeOn, Devices: map[fleet.DeviceID]*fleet.Registered{}}
	for n := range devices {
		id := fleet.DeviceIDOf([32]byte{byte(n), byte(n >> 8)})
		registry.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id, Label: fmt.Sprint(n)}}
	}
	reason := ""
	o := viewOptions(
		func(context.Context, fleet.DeviceID) (fleet.State, error) { return fleet.State{Reason: reason}, nil },
		func(id fleet.DeviceID) *fleet.Snapshot { return &fleet.Snapshot{Device: id} })
	changed := map[fleet.DeviceID]bool{}
	o.Changed = func() map[fleet.DeviceID]bool { return changed }
	v := view.New(o)
	one := func(id fleet.DeviceID) {
		changed = map[fleet.DeviceID]bool{id: true}
		if row, err := v.Row(t.Context(), registry, id); err != nil || row.State.Reason != reason {
			t.Fatal(row, err)
		}
	}
	some := slices.Collect(maps.Keys(registry.Devices))[:times]
	one(some[0]) // makes those of all
	reason = "another one"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, id := range some {
		one(id)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / times; each > 8*devices {
		t.Errorf("the row of one of %d devices takes %d bytes, as a list of all would", devices, each)
	}
}

// An event carries the row of one device, at most once a second: the rows of all others that changed were made with it.
func TestTheRowOfOneDeviceMadeThoseOfAllThatChanged(t *testing.T) {
	w := threeDevices(t)
	w.etag("", "")
	w.asked = 0
	for _, id := range []fleet.DeviceID{idA, idB, idC} {
		state := w.fakes.states[id]
		state.Reason = "another one"
		w.set(id, state, *w.snapshots[id])
	}
	registry, err := w.store.Registry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if row, err := w.setup.Inventory.Row(t.Context(), registry, idB); err != nil || row.State.Reason != "another one" {
			t.Fatal(row, err)
		}
	}
	if w.asked != 1 {
		t.Errorf("for the row of one device %d states were asked for", w.asked)
	}
	for _, row := range w.inventory("").Devices {
		if row.Reason != "another one" {
			t.Errorf("then the row of %s is an old one", row.Label)
		}
	}
	if w.asked != 3 {
		t.Errorf("for one change of three devices %d states were asked for", w.asked)
	}
}

func TestADeviceThatIsHeardOfAllTheTimeChangesNoRow(t *testing.T) {
	w := threeDevices(t)
	etag, _ := w.etag("", "")
	state := w.fakes.states[idA]
	state.LastSeen = state.LastSeen.Add(time.Minute)
	w.set(idA, state, *w.snapshots[idA])
	if _, unchanged := w.etag("", etag); !unchanged {
		t.Error("an online device that was heard of again made another ETag")
	}
	state.Connection = fleet.Unreachable
	w.set(idA, state, *w.snapshots[idA])
	if got := w.inventory("").Devices[0].LastSeen; got == nil || !got.Equal(state.LastSeen) {
		t.Errorf("it was last seen %v, want %v", got, state.LastSeen)
	}
}

func TestAWriteIsInTheNextInventory(t *testing.T) {
	w := threeDevices(t)
	w.inventory("")
	w.tag(idC, "lima")
	if got := labels(w.inventory("?tag=lima")); len(got) != 3 {
		t.Errorf("after a tag was put: %v", got)
	}
	w.device(idC, "attic")
	if got := labels(w.inventory("")); !slices.Equal(got, []string{"Nas", "attic", "laptop"}) {
		t.Errorf("after a device was renamed: %v", got)
	}
	w.put(Prefix+"/tags/mobile/settings", `{"mode":"observe"}`)
	if got := w.inventory("").Devices[2].Mode; got != "observe" {
		t.Errorf("after the mode of a tag was set: %s", got)
	}
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/devices/" + string(idB)})
	if got := w.inventory(""); got.Total != 2 || got.Counts.Tags["mobile"] != 0 {
		t.Errorf("after a device was deleted: %d, tags %v", got.Total, got.Counts.Tags)
	}
}

func TestAnETagOfAForgottenScopeWasUsedAgain(t *testing.T) {
	w := newStocked(t)
	w.stand(idA, "one", fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
	first, _ := w.etag("", "")
	registry, err := w.api.Registry.Registry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const parts = 8
	for i := range parts {
		scope := fleet.ScopeOf([]fleet.Tag{fleet.Tag(fmt.Sprint("tag", i))})
		ctx := fleet.WithScope(t.Context(), scope)
		if _, err := w.setup.Inventory.Inventory(ctx, registry.Within(scope), view.Query{}); err != nil {
			t.Fatal(err)
		}
	}
	w.device(idA, "two")
	if second, unchanged := w.etag("", first); unchanged || second == first {
		t.Errorf("another label has the ETag %s of before", second)
	}
}

func TestAnInventoryIsOneJSONDocumentOfItsLength(t *testing.T) {
	w := threeDevices(t)
	for _, query := range []string{"", "?tag=none", "?limit=1", "?q=" + url.QueryEscape("é")} {
		resp := w.do(call{method: http.MethodGet, path: Prefix + "/inventory" + query})
		body := w.get(Prefix + "/inventory" + query)
		if !json.Valid([]byte(body)) || resp.Header.Get("Content-Length") != fmt.Sprint(len(body)+1) {
			t.Errorf("%s: %s of %s bytes", query, body, resp.Header.Get("Content-Length"))
		}
	}
}

// writes counts writes, and keeps what they wrote.
type writes struct {
	number int
	text   []byte
}

func (w *writes) Write(p []byte) (int, error) {
	w.number++
	w.text = append(w.text, p...)
	return len(p), nil
}

func TestAnInventoryThatIsReadAgainWasWrittenRowByRow(t *testing.T) {
	w := threeDevices(t)
	given := func(q view.Query) (*view.Document, writes) {
		t.Helper()
		registry, err := w.api.Registry.Registry(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		answer, err := w.setup.Inventory.Inventory(t.Context(), registry, q)
		if err != nil {
			t.Fatal(err)
		}
		var out writes
		if err := answer.Encode(&out); err != nil || int64(len(out.text)) != answer.Length {
			t.Fatalf("%d bytes instead of %d, %v", len(out.text), answer.Length, err)
		}
		return answer, out
	}
	q := view.Query{Limit: 2}
	first, rows := given(q)
	for range 2 {
		again, once := given(q)
		if once.number != 1 || string(once.text) != string(rows.text) {
			t.Errorf("read again, it has %d writes: %s instead of %s", once.number, once.text, rows.text)
		}
		if again.Revision != first.Revision || again.Next != first.Next || again.Next == 0 {
			t.Errorf("read again, it has ETag %s, next page at %d", again.Revision, again.Next)
		}
	}
	state := w.fakes.states[idA]
	state.Reason = "another one"
	w.set(idA, state, *w.snapshots[idA])
	changed, text := given(q)
	if changed.Revision == first.Revision || !strings.Contains(string(text.text), "another one") {
		t.Errorf("after a change of a row the answer of before is given: %s", text.text)
	}
}

func TestAnInventoryOfSomeDevicesHasThese(t *testing.T) {
	w := threeDevices(t)
	got := w.inventory("?device=" + string(idA) + "&device=" + string(idC))
	if got.Matched != 2 || got.Total != 3 || len(got.Devices) != 2 {
		t.Errorf("got %+v", got)
	}
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/inventory?device=nobody"})
}

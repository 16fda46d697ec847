package view

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"muster/internal/fleet"
)

// device is what a test says of one device.
type device struct {
	connection    fleet.Connection
	configuration fleet.Configuration
	folders       []fleet.FolderLabel
	states        map[string]fleet.FolderState // unknown without one
	disagrees     map[string]bool
}

func (d device) row() *Row {
	row := &Row{State: fleet.State{Connection: d.connection, Configuration: d.configuration}}
	s := &fleet.Snapshot{Connection: d.connection, Folders: d.folders}
	v := &View{Options: Options{FolderState: func(s *fleet.Snapshot, folder string) (fleet.FolderState, bool) {
		if state, known := d.states[folder]; known && s.Connection == fleet.Online {
			return state, d.disagrees[folder]
		}
		return fleet.FolderUnknown, d.disagrees[folder]
	}}}
	v.addSnapshot(row, s, nil)
	return row
}

// counting is totals of devices that a test puts and removes.
type counting struct {
	*totals
	rows map[string]*Row
}

func newCounting() *counting {
	revision := uint64(0)
	return &counting{newTotals(func() uint64 { revision++; return revision }), map[string]*Row{}}
}

func (c *counting) put(id string, d device) {
	row := d.row()
	c.replace(c.rows[id], row)
	c.rows[id] = row
}

func (c *counting) remove(id string) {
	c.replace(c.rows[id], nil)
	delete(c.rows, id)
}

func (c *counting) labels() []fleet.FolderLabel {
	all, _ := c.list()
	return all
}

func labels(pairs ...string) []fleet.FolderLabel {
	var all []fleet.FolderLabel
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, fleet.FolderLabel{Folder: pairs[i], Label: pairs[i+1]})
	}
	return all
}

func TestAFolderIsAsBadAsItsWorstDevice(t *testing.T) {
	o := newCounting()
	want := func(when string, want fleet.FolderCounts) {
		t.Helper()
		if got := o.counts().Folders; got != want {
			t.Errorf("%s: got %+v, want %+v", when, got, want)
		}
	}
	a := device{connection: fleet.Online, configuration: fleet.ConfigInSync, folders: labels("p", "Photos", "q", "")}
	b := device{connection: fleet.Online, configuration: fleet.ConfigHeld, folders: labels("p", "Photos")}
	o.put("A", a)
	o.put("B", b)
	want("before any summary", fleet.FolderCounts{fleet.FolderUnknown: 2})
	a.states = map[string]fleet.FolderState{"p": fleet.FolderUpToDate, "q": fleet.FolderUpToDate,
		"gone": fleet.FolderStopped}
	o.put("A", a)
	want("B unknown", fleet.FolderCounts{fleet.FolderUpToDate: 1, fleet.FolderUnknown: 1})
	b.states = map[string]fleet.FolderState{"p": fleet.FolderBehind}
	o.put("B", b)
	want("B behind", fleet.FolderCounts{fleet.FolderUpToDate: 1, fleet.FolderBehind: 1})
	b.states = map[string]fleet.FolderState{"p": fleet.FolderStopped}
	o.put("B", b)
	want("B stopped", fleet.FolderCounts{fleet.FolderUpToDate: 1, fleet.FolderStopped: 1})
	b.connection = fleet.Unreachable
	o.put("B", b)
	want("B is gone", fleet.FolderCounts{fleet.FolderUpToDate: 1, fleet.FolderUnknown: 1})
	b.connection = fleet.Online
	o.put("B", b)
	want("B is back", fleet.FolderCounts{fleet.FolderUpToDate: 1, fleet.FolderStopped: 1})
	b.folders = nil
	o.put("B", b)
	want("B has it no more", fleet.FolderCounts{fleet.FolderUpToDate: 2})
	o.remove("A")
	want("A is deleted", fleet.FolderCounts{})
	counts := o.counts()
	if counts.Devices != 1 || !maps.Equal(counts.Connections, map[fleet.Connection]int{fleet.Online: 1}) ||
		!maps.Equal(counts.Configurations, map[fleet.Configuration]int{fleet.ConfigHeld: 1}) {
		t.Errorf("got %+v", counts)
	}
}

// A folder that devices disagree about was counted as up to date, or as alone, and its own page said that they
// disagree.
func TestAFolderWasCountedAsUpToDateWhileItsDevicesDisagreed(t *testing.T) {
	o := newCounting()
	want := func(when string, state fleet.FolderState) {
		t.Helper()
		if got := o.counts().Folders; got.Of(state) != 1 || got.All() != 1 {
			t.Errorf("%s: got %+v, want %v", when, got, state)
		}
	}
	a := device{connection: fleet.Online, folders: labels("p", ""),
		states: map[string]fleet.FolderState{"p": fleet.FolderUpToDate}}
	b := a
	o.put("A", a)
	o.put("B", b)
	want("at first", fleet.FolderUpToDate)
	b.states = map[string]fleet.FolderState{"p": fleet.FolderDisagree}
	b.disagrees = map[string]bool{"p": true}
	o.put("B", b)
	want("B disagrees", fleet.FolderDisagree)
	b.states = map[string]fleet.FolderState{"p": fleet.FolderAlone}
	o.put("B", b)
	want("B is alone, too", fleet.FolderDisagree)
	a.states = map[string]fleet.FolderState{"p": fleet.FolderStopped}
	o.put("A", a)
	want("A is stopped", fleet.FolderStopped)
	o.remove("A")
	b.disagrees = nil
	o.put("B", b)
	want("B is alone", fleet.FolderAlone)
}

func TestAFolderIsCalledWhatMostDevicesCallIt(t *testing.T) {
	o := newCounting()
	put := func(id string, folders []fleet.FolderLabel) {
		o.put(id, device{connection: fleet.Online, configuration: fleet.ConfigInSync, folders: folders})
	}
	for i, label := range []string{"b", "a", "b", "c"} {
		put(fmt.Sprint(i), labels("p", label, "p", "twice"))
	}
	want := func(want string) {
		t.Helper()
		if got := o.labels(); len(got) != 1 || got[0].Label != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	want("b")
	put("0", labels("p", "c"))
	want("c")
	put("3", labels("p", "a"))
	want("a")
	o.remove("1")
	want("a") // as often as b and c, and the first
}

func TestTheListOfFoldersIsMadeAgainOnlyWhenItDiffers(t *testing.T) {
	o := newCounting()
	d := device{connection: fleet.Online, folders: labels("p", "Photos", "q", "")}
	o.put("A", d)
	_, first := o.list()
	d.states = map[string]fleet.FolderState{"p": fleet.FolderUpToDate}
	o.put("A", d)
	if _, now := o.list(); now != first {
		t.Error("another state of a folder made another list")
	}
	d.folders = labels("p", "Pictures")
	o.put("A", d)
	if all, now := o.list(); now == first || len(all) != 1 || all[0].Label != "Pictures" {
		t.Errorf("got %v", all)
	}
}

// One that is told everything at once agrees with one that followed it.
func TestItAgreesWithCountingAnew(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	followed, devices := newCounting(), map[string]*device{}
	for step := range 5000 {
		id := fmt.Sprint(r.IntN(8))
		is := devices[id]
		if is == nil {
			is = &device{configuration: fleet.ConfigInSync}
			devices[id] = is
		}
		switch r.IntN(5) {
		case 0:
			delete(devices, id)
			followed.remove(id)
			continue
		case 1:
			is.folders = nil
			for _, name := range []string{"p", "q", "r"} {
				if r.IntN(2) == 0 {
					is.folders = append(is.folders, fleet.FolderLabel{Folder: name, Label: fmt.Sprint(r.IntN(2))})
				}
			}
		case 2:
			is.states = map[string]fleet.FolderState{}
			for _, name := range []string{"p", "q", "r"} {
				is.states[name] = fleet.FolderStates()[r.IntN(fleet.FolderStateCount)]
			}
			is.disagrees = map[string]bool{"p": r.IntN(2) == 0, "q": r.IntN(2) == 0}
		default:
			is.connection = []fleet.Connection{fleet.Online, fleet.Unreachable}[r.IntN(2)]
		}
		followed.put(id, *is)
		if step%50 != 0 {
			continue
		}
		anew := newCounting()
		for id, is := range devices {
			anew.put(id, *is)
		}
		got, want := followed.counts(), anew.counts()
		if got.Devices != want.Devices || got.Folders != want.Folders || got.DevicesByFolders != want.DevicesByFolders ||
			!maps.Equal(got.Connections, want.Connections) ||
			!slices.Equal(followed.labels(), anew.labels()) {
			t.Fatalf("step %d: got %+v %v, want %+v %v", step, got, followed.labels(), want, anew.labels())
		}
	}
}

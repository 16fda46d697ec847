package view

import (
	"cmp"
	"maps"
	"slices"

	"muster/internal/fleet"
)

// totals has the numbers of the rows of one table. It is updated with each row that is replaced, so that reading it
// costs the same for ten devices and ten thousand. The table's mu guards it.
type totals struct {
	devices        int
	connections    map[fleet.Connection]int
	configurations map[fleet.Configuration]int
	waits          map[fleet.WaitCause]int
	folders        map[string]*folderTotal
	byFolders      fleet.FolderCounts  // number of devices by the worst state of their folders
	byState        fleet.FolderCounts  // number of folders by their state in the fleet
	sorted         []fleet.FolderLabel // list of folders; nil: not made yet. A slice that was returned never changes
	revision       uint64              // revision of sorted
	revisions      func() uint64       // returns a new revision
}

// folderTotal has the numbers of one folder on all its devices.
type folderTotal struct {
	labels      []labelCount // a list, because there is rarely more than one
	states      fleet.FolderCounts
	disagreeing int // number of devices that disagree about the folder
}

// labelCount is the number of devices that use a label for a folder.
type labelCount struct {
	label   string
	devices int
}

func newTotals(revisions func() uint64) *totals {
	return &totals{
		revisions:      revisions,
		connections:    map[fleet.Connection]int{},
		configurations: map[fleet.Configuration]int{},
		waits:          map[fleet.WaitCause]int{},
		folders:        map[string]*folderTotal{},
	}
}

// replace subtracts the row before and adds the row now. Either may be nil.
func (t *totals) replace(before, now *Row) {
	t.count(before, -1)
	t.count(now, 1)
	var was, is []folderRow
	if before != nil {
		was = before.folders
	}
	if now != nil {
		is = now.folders
	}
	for len(was) > 0 || len(is) > 0 { // Both lists are sorted by folder.
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Folder < is[0].Folder:
			t.leave(was[0])
			was = was[1:]
		case len(was) == 0 || is[0].Folder < was[0].Folder:
			t.join(is[0])
			is = is[1:]
		default:
			t.move(was[0], is[0])
			was, is = was[1:], is[1:]
		}
	}
}

func (t *totals) count(row *Row, by int) {
	if row == nil || row.unwatched {
		return
	}
	t.devices += by
	add(t.connections, row.State.Connection, by)
	add(t.configurations, row.State.Configuration, by)
	for _, cause := range row.Waits {
		add(t.waits, cause, by)
	}
	if row.Folders.All() > 0 {
		t.byFolders.Add(row.Folders.Worst(), by)
	}
}

func add[K comparable](counts map[K]int, key K, by int) {
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
}

// move updates the totals when a folder of a device changes its state or its label.
func (t *totals) move(from, to folderRow) {
	switch {
	case from == to:
	case from.Label != to.Label:
		t.join(to)
		t.leave(from)
	default:
		f := t.folders[from.Folder]
		t.byState[f.state()]--
		f.add(from, -1)
		f.add(to, 1)
		t.byState[f.state()]++
	}
}

func (t *totals) join(is folderRow) {
	f := t.folders[is.Folder]
	if f == nil {
		f = &folderTotal{}
		t.folders[is.Folder] = f
		t.sorted = nil
	} else {
		t.byState[f.state()]--
	}
	f.name(is.Label, 1)
	if len(f.labels) > 1 {
		t.sorted = nil
	}
	f.add(is, 1)
	t.byState[f.state()]++
}

func (t *totals) leave(was folderRow) {
	f := t.folders[was.Folder]
	t.byState[f.state()]--
	if len(f.labels) > 1 {
		t.sorted = nil
	}
	f.name(was.Label, -1)
	f.add(was, -1)
	if len(f.labels) == 0 {
		delete(t.folders, was.Folder)
		t.sorted = nil
		return
	}
	t.byState[f.state()]++
}

// add adds the folder of one device, or subtracts it when by is -1.
func (f *folderTotal) add(on folderRow, by int) {
	f.states.Add(on.state, by)
	if on.disagrees {
		f.disagreeing += by
	}
}

// state returns the state of the folder in the fleet.
func (f *folderTotal) state() fleet.FolderState { return stateInFleet(f.states, f.disagreeing > 0) }

// name adds by devices to the count of a label.
func (f *folderTotal) name(label string, by int) {
	i := slices.IndexFunc(f.labels, func(c labelCount) bool { return c.label == label })
	if i < 0 {
		f.labels = append(f.labels, labelCount{label, by})
		return
	}
	if f.labels[i].devices += by; f.labels[i].devices == 0 {
		f.labels = slices.Delete(f.labels, i, i+1)
	}
}

// label returns the label that most devices use, the first one in the alphabet among equals.
func (f *folderTotal) label() string {
	return slices.MinFunc(f.labels, func(a, b labelCount) int {
		return cmp.Or(-cmp.Compare(a.devices, b.devices), cmp.Compare(a.label, b.label))
	}).label
}

// counts returns the present numbers.
func (t *totals) counts() fleet.Counts {
	return fleet.Counts{Devices: t.devices, Connections: maps.Clone(t.connections),
		Configurations: maps.Clone(t.configurations), Folders: t.byState, DevicesByFolders: t.byFolders,
		Waits: maps.Clone(t.waits)}
}

// list returns one entry for each folder, sorted, and the revision of that list.
func (t *totals) list() ([]fleet.FolderLabel, uint64) {
	if t.sorted == nil {
		t.sorted = make([]fleet.FolderLabel, 0, len(t.folders))
		for folder, f := range t.folders {
			t.sorted = append(t.sorted, fleet.FolderLabel{Folder: folder, Label: f.label()})
		}
		slices.SortFunc(t.sorted, func(a, b fleet.FolderLabel) int { return cmp.Compare(a.Folder, b.Folder) })
		t.revision = t.revisions()
	}
	return t.sorted, t.revision
}

package health

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"muster/internal/fleet"
)

// Counts is the fleet in numbers.
type Counts struct {
	Devices        int
	Connections    map[fleet.Connection]int
	Configurations map[fleet.Configuration]int
	Folders        FolderCounts
}

// FolderCounts are folders by the worst that holds for any of their devices.
type FolderCounts struct {
	All, InSync, OutOfSync, WithErrors, Unknown int
}

// Rollup is the fleet in numbers, kept as it changes: reading it costs the same for ten devices and ten thousand. It
// may be used by several goroutines at once.
type Rollup struct {
	latest sync.Mutex // makes one step of asking and counting; comes before mu

	mu             sync.Mutex // guards the rest
	devices        map[fleet.DeviceID]*device
	connections    map[fleet.Connection]int
	configurations map[fleet.Configuration]int
	folders        map[string]*folder
	byHealth       [folderHealths]int
	sorted         []fleet.FolderLabel // of folders; nil when it has to be made again
}

type device struct {
	connection    fleet.Connection
	configuration fleet.Configuration
	folders       map[string]*share
}

// share is a folder on one device.
type share struct {
	label  string
	fares  folderHealth // by its summary; unknown without one
	counts folderHealth // what it counts as: unknown while the device is not online
}

type folder struct {
	labels []named // hardly ever more than one, so no map
	shares [folderHealths]int
}

// named is a label and how many devices use it.
type named struct {
	label string
	by    int
}

// name counts one more device, or one less, for a label.
func (f *folder) name(label string, by int) {
	i := slices.IndexFunc(f.labels, func(n named) bool { return n.label == label })
	if i < 0 {
		f.labels = append(f.labels, named{label, by})
		return
	}
	if f.labels[i].by += by; f.labels[i].by == 0 {
		f.labels = slices.Delete(f.labels, i, i+1)
	}
}

// folderHealth is how a folder fares; the larger one is worse.
type folderHealth int

const (
	inSync folderHealth = iota
	unknown
	outOfSync
	inError
	folderHealths = 4
)

// NewRollup is the roll-up of no devices.
func NewRollup() *Rollup {
	return &Rollup{
		devices: map[fleet.DeviceID]*device{}, connections: map[fleet.Connection]int{},
		configurations: map[fleet.Configuration]int{}, folders: map[string]*folder{},
	}
}

// Count counts how a device stands, and forgets one that is registered no more. Nothing changes where the registry
// cannot be read, and for a device that is not watched yet. now is asked in one step with the counting, so that the
// last of several callers has the latest.
func (r *Rollup) Count(id fleet.DeviceID, h *Health, now func(fleet.DeviceID) Facts) {
	r.latest.Lock()
	defer r.latest.Unlock()
	f := now(id)
	switch {
	case f.Registry == nil:
		return
	case f.Registry.Devices[id] == nil:
		r.Remove(id)
		return
	}
	if state, err := h.State(id, f); err == nil {
		r.Put(id, state.Connection, state.Configuration)
	}
}

// Put counts a registered device in a state; a new one is added.
func (r *Rollup) Put(id fleet.DeviceID, connection fleet.Connection, configuration fleet.Configuration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.devices[id]
	if d == nil {
		d = &device{}
		r.devices[id] = d
	} else {
		count(r.connections, d.connection, -1)
		count(r.configurations, d.configuration, -1)
	}
	count(r.connections, connection, 1)
	count(r.configurations, configuration, 1)
	moved := (d.connection == fleet.Online) != (connection == fleet.Online)
	d.connection, d.configuration = connection, configuration
	if moved {
		for name, s := range d.folders {
			r.judge(d, name, s)
		}
	}
}

func count[K comparable](counts map[K]int, key K, by int) {
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
}

// Remove forgets a device.
func (r *Rollup) Remove(id fleet.DeviceID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.devices[id]
	if d == nil {
		return
	}
	count(r.connections, d.connection, -1)
	count(r.configurations, d.configuration, -1)
	for name, s := range d.folders {
		r.leave(name, s)
	}
	delete(r.devices, id)
}

// SetFolders says which folders the current configuration of a device has. A device that was not Put is passed over:
// it is registered no more.
func (r *Rollup) SetFolders(id fleet.DeviceID, folders []fleet.FolderLabel) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.devices[id]
	if d == nil {
		return
	}
	now := make(map[string]*share, len(folders))
	for _, f := range folders {
		s := d.folders[f.Folder]
		switch {
		case now[f.Folder] != nil:
			continue // twice in one configuration
		case s == nil:
			s = &share{label: f.Label, fares: unknown, counts: unknown}
			r.join(f.Folder, s)
		case s.label != f.Label:
			r.leave(f.Folder, s)
			s.label = f.Label
			r.join(f.Folder, s)
		}
		now[f.Folder] = s
	}
	for name, s := range d.folders {
		if now[name] == nil {
			r.leave(name, s)
		}
	}
	d.folders = now
}

// Summarise counts the folders by their summaries. now is asked in one step with that, as in Count.
func (r *Rollup) Summarise(id fleet.DeviceID, now func(fleet.DeviceID) *fleet.Snapshot) {
	r.latest.Lock()
	defer r.latest.Unlock()
	if s := now(id); s != nil {
		r.SetSummaries(id, s.Summaries)
	}
}

// SetSummaries says how the folders of a device fare. Those that its configuration does not have are passed over.
func (r *Rollup) SetSummaries(id fleet.DeviceID, summaries map[string]fleet.FolderSummary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.devices[id]
	if d == nil {
		return
	}
	for name, s := range d.folders {
		summary, known := summaries[name]
		if s.fares = unknown; known {
			s.fares = healthOfFolder(summary)
		}
		r.judge(d, name, s)
	}
}

func healthOfFolder(f fleet.FolderSummary) folderHealth {
	switch {
	case f.InError():
		return inError
	case f.Lacks():
		return outOfSync
	}
	return inSync
}

// judge counts a share as what it is now. The caller holds mu.
func (r *Rollup) judge(d *device, name string, s *share) {
	counts := s.fares
	if d.connection != fleet.Online {
		counts = unknown // unknown is a state of its own, never shown as good
	}
	if counts == s.counts {
		return
	}
	r.leave(name, s)
	s.counts = counts
	r.join(name, s)
}

func (r *Rollup) join(name string, s *share) {
	f := r.folders[name]
	if f == nil {
		f = &folder{}
		r.folders[name] = f
		r.sorted = nil
	} else {
		r.byHealth[f.worst()]--
	}
	if f.name(s.label, 1); len(f.labels) > 1 {
		r.sorted = nil
	}
	f.shares[s.counts]++
	r.byHealth[f.worst()]++
}

func (r *Rollup) leave(name string, s *share) {
	f := r.folders[name]
	r.byHealth[f.worst()]--
	if len(f.labels) > 1 {
		r.sorted = nil
	}
	f.name(s.label, -1)
	f.shares[s.counts]--
	if len(f.labels) == 0 {
		delete(r.folders, name)
		r.sorted = nil
		return
	}
	r.byHealth[f.worst()]++
}

func (f *folder) worst() folderHealth {
	for h := inError; h > inSync; h-- {
		if f.shares[h] > 0 {
			return h
		}
	}
	return inSync
}

// label is the one that most devices use, of several the first.
func (f *folder) label() string {
	return slices.MinFunc(f.labels, func(a, b named) int {
		return cmp.Or(-cmp.Compare(a.by, b.by), cmp.Compare(a.label, b.label))
	}).label
}

// Folders has one entry per folder, sorted. It is shared: callers do not change it.
func (r *Rollup) Folders() []fleet.FolderLabel {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sorted == nil {
		r.sorted = make([]fleet.FolderLabel, 0, len(r.folders))
		for name, f := range r.folders {
			r.sorted = append(r.sorted, fleet.FolderLabel{Folder: name, Label: f.label()})
		}
		slices.SortFunc(r.sorted, func(a, b fleet.FolderLabel) int { return cmp.Compare(a.Folder, b.Folder) })
	}
	return r.sorted
}

// Counts is the fleet in numbers, now.
func (r *Rollup) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Counts{
		Devices: len(r.devices), Connections: maps.Clone(r.connections), Configurations: maps.Clone(r.configurations),
		Folders: FolderCounts{
			All: len(r.folders), InSync: r.byHealth[inSync], OutOfSync: r.byHealth[outOfSync],
			WithErrors: r.byHealth[inError], Unknown: r.byHealth[unknown],
		},
	}
}

// CountsOf are the counts of a part of the fleet, now.
func (r *Rollup) CountsOf(inside func(fleet.DeviceID) bool) Counts { return r.part(inside).Counts() }

// FoldersOf are the folders of a part of the fleet, sorted.
func (r *Rollup) FoldersOf(inside func(fleet.DeviceID) bool) []fleet.FolderLabel {
	return r.part(inside).Folders()
}

// part is a roll-up of some of the devices.
func (r *Rollup) part(inside func(fleet.DeviceID) bool) *Rollup {
	part := NewRollup()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, d := range r.devices {
		if !inside(id) {
			continue
		}
		part.devices[id] = d // only its shares are counted anew
		count(part.connections, d.connection, 1)
		count(part.configurations, d.configuration, 1)
		for name, s := range d.folders {
			part.join(name, s)
		}
	}
	return part
}

// Package overview keeps the roll-up of the fleet as it changes: how many devices are in which state, which folders there
// are and how they fare. Reading it costs the same for ten devices and ten thousand. It is told everything; it asks
// nobody and keeps nothing on disk.
package overview

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

// Overview is the roll-up. It may be used by several goroutines at once.
type Overview struct {
	mu             sync.Mutex // guards the rest
	devices        map[fleet.DeviceID]*device
	connections    map[fleet.Connection]int
	configurations map[fleet.Configuration]int
	folders        map[string]*folder
	byHealth       [healths]int
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
	said   health // by its summary; unknown without one
	counts health // what it counts as: unknown while the device is not online
}

type folder struct {
	labels []named // hardly ever more than one, so no map
	shares [healths]int
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

// health of a folder; the larger one is worse.
type health int

const (
	inSync health = iota
	unknown
	outOfSync
	inError
	healths = 4
)

// New is an overview of no devices.
func New() *Overview {
	return &Overview{
		devices: map[fleet.DeviceID]*device{}, connections: map[fleet.Connection]int{},
		configurations: map[fleet.Configuration]int{}, folders: map[string]*folder{},
	}
}

// Put says how a registered device stands; a new one is added.
func (o *Overview) Put(id fleet.DeviceID, connection fleet.Connection, configuration fleet.Configuration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.devices[id]
	if d == nil {
		d = &device{}
		o.devices[id] = d
	} else {
		count(o.connections, d.connection, -1)
		count(o.configurations, d.configuration, -1)
	}
	count(o.connections, connection, 1)
	count(o.configurations, configuration, 1)
	moved := (d.connection == fleet.Online) != (connection == fleet.Online)
	d.connection, d.configuration = connection, configuration
	if moved {
		for name, s := range d.folders {
			o.judge(d, name, s)
		}
	}
}

func count[K comparable](counts map[K]int, key K, by int) {
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
}

// Remove forgets a device.
func (o *Overview) Remove(id fleet.DeviceID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.devices[id]
	if d == nil {
		return
	}
	count(o.connections, d.connection, -1)
	count(o.configurations, d.configuration, -1)
	for name, s := range d.folders {
		o.leave(name, s)
	}
	delete(o.devices, id)
}

// SetFolders says which folders the current configuration of a device has. A device that was not Put is passed over: it
// is registered no more.
func (o *Overview) SetFolders(id fleet.DeviceID, folders []fleet.FolderLabel) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.devices[id]
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
			s = &share{label: f.Label, said: unknown, counts: unknown}
			o.join(f.Folder, s)
		case s.label != f.Label:
			o.leave(f.Folder, s)
			s.label = f.Label
			o.join(f.Folder, s)
		}
		now[f.Folder] = s
	}
	for name, s := range d.folders {
		if now[name] == nil {
			o.leave(name, s)
		}
	}
	d.folders = now
}

// SetSummaries says how the folders of a device fare. Those that its configuration does not have are passed over.
func (o *Overview) SetSummaries(id fleet.DeviceID, summaries map[string]fleet.FolderSummary) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.devices[id]
	if d == nil {
		return
	}
	for name, s := range d.folders {
		summary, said := summaries[name]
		if s.said = unknown; said {
			s.said = healthOf(summary)
		}
		o.judge(d, name, s)
	}
}

func healthOf(f fleet.FolderSummary) health {
	switch {
	case f.State == "error" || f.Error != "":
		return inError
	case f.NeedBytes > 0 || f.NeedFiles > 0 || f.NeedDeletes > 0 || f.NeedDirectories > 0 || f.NeedSymlinks > 0:
		return outOfSync
	}
	return inSync
}

// judge counts a share as what it is now. The caller holds mu.
func (o *Overview) judge(d *device, name string, s *share) {
	counts := s.said
	if d.connection != fleet.Online {
		counts = unknown // unknown is a state of its own, never shown as good
	}
	if counts == s.counts {
		return
	}
	o.leave(name, s)
	s.counts = counts
	o.join(name, s)
}

func (o *Overview) join(name string, s *share) {
	f := o.folders[name]
	if f == nil {
		f = &folder{}
		o.folders[name] = f
		o.sorted = nil
	} else {
		o.byHealth[f.worst()]--
	}
	if f.name(s.label, 1); len(f.labels) > 1 {
		o.sorted = nil
	}
	f.shares[s.counts]++
	o.byHealth[f.worst()]++
}

func (o *Overview) leave(name string, s *share) {
	f := o.folders[name]
	o.byHealth[f.worst()]--
	if len(f.labels) > 1 {
		o.sorted = nil
	}
	f.name(s.label, -1)
	f.shares[s.counts]--
	if len(f.labels) == 0 {
		delete(o.folders, name)
		o.sorted = nil
		return
	}
	o.byHealth[f.worst()]++
}

func (f *folder) worst() health {
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

// Folders has one entry per folder, sorted. It is shared: nobody may change it.
func (o *Overview) Folders() []fleet.FolderLabel {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sorted == nil {
		o.sorted = make([]fleet.FolderLabel, 0, len(o.folders))
		for name, f := range o.folders {
			o.sorted = append(o.sorted, fleet.FolderLabel{Folder: name, Label: f.label()})
		}
		slices.SortFunc(o.sorted, func(a, b fleet.FolderLabel) int { return cmp.Compare(a.Folder, b.Folder) })
	}
	return o.sorted
}

// Counts is the fleet in numbers, now.
func (o *Overview) Counts() Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Counts{
		Devices: len(o.devices), Connections: maps.Clone(o.connections), Configurations: maps.Clone(o.configurations),
		Folders: FolderCounts{
			All: len(o.folders), InSync: o.byHealth[inSync], OutOfSync: o.byHealth[outOfSync],
			WithErrors: o.byHealth[inError], Unknown: o.byHealth[unknown],
		},
	}
}

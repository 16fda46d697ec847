package health

import (
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// Devices that have all of a folder count the same files in it. Those that share a folder with each other, over others
// too, are one group. It disagrees once its online devices count differently and nothing has moved for a while, and
// until they count the same: who goes on with his work in a folder that disagrees does not mend it. Two groups may have
// a folder with the same ID and nothing to do with each other.

// folderIndex are the devices that have a folder.
type folderIndex struct{ books []*folderBook }

// shareGroup is the devices that share a folder with each other.
type shareGroup struct {
	folder   string
	tallies  []tallied // hardly ever more than one
	ignoring int       // How many devices ignore some of the files.
	moved    int64     // Unix milliseconds: When a device counted otherwise last, or a sequence moved
	since    int64     // Unix milliseconds: when it began to disagree; 0: it does not
	differed int64     // Unix milliseconds: when it first differed since the start, or since it disagreed; 0: not yet
}

// tally is what a device counts in a folder of which it says that nothing is missing.
type tally struct{ files, directories, symlinks, bytes int64 }

// tallied is a tally and the number of devices that have it.
type tallied struct {
	tally
	devices int
}

// bytesOfEntry is what daemons before 2.0 count for a directory or a symlink.
const bytesOfEntry = 128

// tallyOf returns what a device counts in a folder now. known is false when the device does not report it, or has a
// good reason to count differently: something is missing, or was changed in a receive-only folder.
func tallyOf(s *fleet.Snapshot, folder string) (t tally, known bool) {
	share, shared := s.Share(folder)
	summary := s.Summaries[folder]
	switch {
	case !shared, share.Paused, share.Type == fleet.ReceiveEncrypted, s.Version == nil, !s.IsCurrent(folder):
		return t, false
	case summary.State == "", summary.Unscanned(), summary.InError(), summary.Lacks(), summary.LocalChanges > 0:
		return t, false
	}
	t = tally{summary.LocalFiles, summary.LocalDirectories, summary.LocalSymlinks, summary.LocalBytes}
	if version := s.Version.Version; strings.HasPrefix(version, "v1.") || strings.HasPrefix(version, "v0.") {
		t.bytes -= bytesOfEntry * (t.directories + t.symlinks)
	}
	return t, true
}

// isIgnoring reports whether a device may ignore some of the files of a folder.
func isIgnoring(s *fleet.Snapshot, folder string) bool { return s.Summaries[folder].IgnorePatterns }

// count adds the tally of a device to the group, or subtracts it when by is -1.
func (g *shareGroup) count(s *fleet.Snapshot, by int) {
	if isIgnoring(s, g.folder) {
		g.ignoring += by
	}
	t, known := tallyOf(s, g.folder)
	if !known {
		return
	}
	at := slices.IndexFunc(g.tallies, func(one tallied) bool { return one.tally == t })
	if at < 0 {
		g.tallies = append(g.tallies, tallied{tally: t})
		at = len(g.tallies) - 1
	}
	if g.tallies[at].devices += by; g.tallies[at].devices == 0 {
		g.tallies = slices.Delete(g.tallies, at, at+1)
	}
}

func (g *shareGroup) differs() bool { return len(g.tallies) > 1 && g.ignoring == 0 }

// most returns the tally that most devices have. It returns false when two tallies are equally frequent.
func (g *shareGroup) most() (most tally, only bool) {
	devices := 0
	for _, one := range g.tallies {
		switch {
		case one.devices > devices:
			most, devices, only = one.tally, one.devices, true
		case one.devices == devices:
			only = false
		}
	}
	return most, only
}

// disagrees reports whether a device counts differently from most devices. When no tally is the most frequent, all
// devices disagree.
func (g *shareGroup) disagrees(s *fleet.Snapshot) bool {
	if g == nil || g.since == 0 {
		return false
	}
	is, known := tallyOf(s, g.folder)
	most, only := g.most()
	return known && (!only || is != most)
}

// comparison finds the groups that disagree. It costs what changed: a group is looked at when one of its devices
// changed, and the groups of a folder are found again once for all changes of a while.
type comparison struct {
	folders map[string]*folderIndex
	// The groups of the folders in regroup are found anew at regroupAt, which is zero where regroup is empty.
	regroup   map[string]bool
	regroupAt time.Time
	touched   map[*shareGroup]bool
	// The first of the differing groups disagrees at differAt, which is zero where none is about to.
	differing map[*shareGroup]bool
	differAt  time.Time
}

func newComparison() comparison {
	return comparison{folders: map[string]*folderIndex{}, regroup: map[string]bool{},
		touched: map[*shareGroup]bool{}, differing: map[*shareGroup]bool{}}
}

// add notes that a device has a folder; remove that it has it no more.
func (f *Folders) add(book *folderBook, folder string, now time.Time) {
	index := f.groups.folders[folder]
	if index == nil {
		index = &folderIndex{}
		f.groups.folders[folder] = index
	}
	index.books = append(index.books, book)
	f.regroupLater(folder, now)
}

func (f *Folders) remove(book *folderBook, folder string, now time.Time) {
	index := f.groups.folders[folder]
	if index.books = removeOne(index.books, book); len(index.books) == 0 {
		delete(f.groups.folders, folder)
	}
	f.regroupLater(folder, now)
}

func (f *Folders) regroupLater(folder string, now time.Time) {
	const longest = 10 * time.Second
	f.groups.regroup[folder] = true
	if f.groups.regroupAt.IsZero() {
		f.groups.regroupAt = now.Add(min(longest, f.windows.Disagree/10))
	}
}

// recount updates the tally of a device in a folder that it shares as before.
func (f *Folders) recount(g *shareGroup, before, s *fleet.Snapshot, now time.Time) {
	was, counted := tallyOf(before, g.folder)
	is, counts := tallyOf(s, g.folder)
	moved := before.Summaries[g.folder].Sequence != s.Summaries[g.folder].Sequence
	if counted == counts && was == is && !moved && isIgnoring(before, g.folder) == isIgnoring(s, g.folder) {
		return
	}
	g.count(before, -1)
	g.count(s, 1)
	g.moved = now.UnixMilli()
	f.groups.touched[g] = true
}

// compare finds the groups that begin or cease to disagree, and adds their devices.
func (f *Folders) compare(now time.Time, stale map[fleet.DeviceID]bool) {
	c := &f.groups
	if !c.regroupAt.IsZero() && !now.Before(c.regroupAt) {
		for folder := range c.regroup {
			f.regroup(folder, now)
		}
		clear(c.regroup)
		c.regroupAt = time.Time{}
	}
	for g := range c.touched {
		f.updateDisagreement(g, now, stale)
	}
	clear(c.touched)
	if c.differAt.IsZero() || now.Before(c.differAt) {
		return
	}
	c.differAt = time.Time{}
	for g := range c.differing {
		f.updateDisagreement(g, now, stale)
	}
}

// updateDisagreement determines whether a group disagrees now, and schedules when it will. It adds the devices of a
// group that begins or ceases to disagree, or goes on disagreeing, to stale.
func (f *Folders) updateDisagreement(g *shareGroup, now time.Time, stale map[fleet.DeviceID]bool) {
	c := &f.groups
	was := g.since
	if g.differs() && g.differed == 0 {
		g.differed = now.UnixMilli()
	}
	begins := time.UnixMilli(g.moved).Add(f.windows.Disagree)
	switch {
	case !g.differs():
		if g.since != 0 {
			g.differed = 0
		}
		g.since = 0
		delete(c.differing, g)
	case g.since != 0: // The group disagrees until its devices count the same.
		f.addMembers(g, stale)
		return
	case now.Before(begins):
		c.differing[g] = true
		if c.differAt.IsZero() || begins.Before(c.differAt) {
			c.differAt = begins
		}
	default:
		c.differing[g] = true
		g.since = now.UnixMilli()
	}
	if (was == 0) != (g.since == 0) {
		f.addMembers(g, stale)
	}
}

func (f *Folders) addMembers(g *shareGroup, to map[fleet.DeviceID]bool) {
	index := f.groups.folders[g.folder]
	if index == nil {
		return
	}
	for _, book := range index.books {
		if record := book.record(g.folder); record != nil && record.group == g {
			to[book.seen.Device] = true
		}
	}
}

// regroup determines which devices share a folder with each other. A group that disagreed still disagrees.
func (f *Folders) regroup(folder string, now time.Time) {
	index := f.groups.folders[folder]
	if index == nil {
		return
	}
	roots := index.whoShares(folder)
	groups := map[int]*shareGroup{}
	for i, book := range index.books {
		record := book.record(folder)
		if record == nil {
			continue
		}
		g := groups[roots.of(i)]
		if g == nil {
			g = &shareGroup{folder: folder}
			groups[roots.of(i)] = g
			f.groups.touched[g] = true
		}
		if old := record.group; old != nil {
			g.moved = max(g.moved, old.moved)
			g.since, g.differed = earliest(g.since, old.since), earliest(g.differed, old.differed)
			delete(f.groups.differing, old)
			delete(f.groups.touched, old)
		} else {
			g.moved = now.UnixMilli()
		}
		record.group = g
		g.count(book.seen, 1)
	}
	for _, g := range groups {
		if g.since != 0 {
			f.groups.differing[g] = true
		}
	}
}

// whoShares joins the devices that share the folder with each other. Its cost depends on the number of different sets
// of sharers, and mostly all devices have the same set.
func (x *folderIndex) whoShares(folder string) union {
	roots := newUnion(len(x.books))
	at := make(map[fleet.DeviceID]int, len(x.books))
	sharing := map[fleet.Peers][]int{} // the devices with the same sharers: they share it with each other
	sharers := make([]fleet.Peers, len(x.books))
	for i, book := range x.books {
		at[book.seen.Device] = i
		if share, shared := book.seen.Share(folder); shared {
			sharers[i] = share.With
			sharing[share.With] = append(sharing[share.With], i)
			roots.join(i, sharing[share.With][0])
		}
	}
	for with, members := range sharing {
		for peer := range with.All() {
			other, has := at[peer]
			if !has || roots.of(other) == roots.of(members[0]) {
				continue
			}
			if slices.ContainsFunc(members, func(i int) bool { return sharers[other].Has(x.books[i].seen.Device) }) {
				roots.join(other, members[0])
			}
		}
	}
	return roots
}

func earliest(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// union finds sets of numbers that belong together.
type union struct{ parents []int }

func newUnion(n int) union {
	u := union{make([]int, n)}
	for i := range u.parents {
		u.parents[i] = i
	}
	return u
}

func (u union) of(i int) int {
	for u.parents[i] != i {
		u.parents[i] = u.parents[u.parents[i]]
		i = u.parents[i]
	}
	return i
}

func (u union) join(i, j int) { u.parents[u.of(i)] = u.of(j) }

package health

import (
	"slices"
	"time"

	"muster/internal/fleet"
)

// IsUnclear reports whether a finding may hold although Troubles does not return it. A finding that began anew after a
// restart or an absence has not lasted long enough, or its facts were not reported again yet. Who was notified of it
// must not be told that it is over. A blank folder is the home of the daemon.
func (f *Folders) IsUnclear(id fleet.DeviceID, folder string, cause fleet.WaitCause, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	book := f.devices[id]
	if book == nil || f.off[cause] {
		return false
	}
	s, record := book.seen, book.record(folder)
	if record == nil && folder != "" {
		return false
	}
	if book.finds(record, cause) {
		return true
	}
	switch cause {
	case fleet.WaitDriveMissing, fleet.WaitDiskNearlyFull:
		return s.Connection != fleet.Online || s.Disks == nil && s.FoundBy == fleet.FoundByAgent
	case fleet.WaitAtRisk:
		return f.copies != nil && f.copies.MayBeShort(id, folder)
	case fleet.WaitConflicts:
		return s.Connection != fleet.Online || !s.ConflictsRead
	case fleet.WaitDisagree:
		return s.Connection != fleet.Online || f.mayDisagree(s, record, now)
	default:
		return false
	}
}

// finds reports whether a folder has a finding, or the home of the daemon if record is nil.
func (b *folderBook) finds(record *folderRecord, cause fleet.WaitCause) bool {
	if record == nil {
		return b.home != nil && b.home.cause == cause
	}
	return slices.ContainsFunc(record.besides(), func(is finding) bool { return is.cause == cause })
}

// mayDisagree reports whether a device may disagree although its group does not: the group is not known yet, its
// devices do not count differently for long enough, or a device to compare with is about to report. The caller holds
// mu.
func (f *Folders) mayDisagree(s *fleet.Snapshot, record *folderRecord, now time.Time) bool {
	if record == nil || record.group == nil {
		return record != nil
	}
	g := record.group
	is, known := tallyOf(s, g.folder)
	if !known {
		return false
	}
	if g.differs() {
		most, only := g.most()
		return (!only || is != most) && now.Before(f.disagreesBy(g))
	}
	counts := 0
	for _, one := range g.tallies {
		counts += one.devices
	}
	return slices.ContainsFunc(f.groups.folders[g.folder].books, func(other *folderBook) bool {
		return (counts == 1 || other.seen.Connection == fleet.Online) && f.isAboutToCount(other, s, g, now)
	})
}

// disagreesBy returns until when a group that differs may still begin to disagree. It never does while a sequence moves
// all the time, and who was notified is not to wait for that. The caller holds mu.
func (f *Folders) disagreesBy(g *shareGroup) time.Time {
	return time.UnixMilli(g.differed).Add(f.windows.Disagree + f.windows.Trouble)
}

// isAboutToCount reports whether the figures of a device are missing in the comparison of a group, but not for long
// enough to go on without them. Only online devices can disagree: when the others stay away, a disagreement ends, for
// who was notified of it as for who looks at what waits. s is of a device in the group. The caller holds mu.
func (f *Folders) isAboutToCount(other *folderBook, s *fleet.Snapshot, g *shareGroup, now time.Time) bool {
	its, record := other.seen, other.record(g.folder)
	if its.Device == s.Device || its.IsCurrent(g.folder) || now.Sub(its.Since) >= f.windows.Trouble {
		return false
	}
	share, _ := s.Share(g.folder)
	return record != nil && record.group == g || its.Shares == nil && share.With.Has(its.Device)
}

package health

import (
	"slices"

	"muster/internal/fleet"
)

// IsUnclear reports whether a finding may hold although Troubles does not return it. A finding that began anew after a
// restart or an absence has not lasted long enough, or its facts were not reported again yet. Who was notified of it
// must not be told that it is over. A blank folder is the home of the daemon.
func (f *Folders) IsUnclear(id fleet.DeviceID, folder string, cause fleet.WaitCause) bool {
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
	case fleet.WaitConflicts:
		return s.Connection != fleet.Online || !s.ConflictsRead
	case fleet.WaitDisagree:
		return s.Connection != fleet.Online || f.mayDisagree(s, record)
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
// devices do not count differently for long enough, or the devices to compare with are not known. The caller holds mu.
func (f *Folders) mayDisagree(s *fleet.Snapshot, record *folderRecord) bool {
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
		return !only || is != most
	}
	counts := 0
	for _, one := range g.tallies {
		counts += one.devices
	}
	return slices.ContainsFunc(f.groups.folders[g.folder].books, func(other *folderBook) bool {
		r, share := other.record(g.folder), other.seen
		if r == nil || r.group != g || share.Device == s.Device || share.IsCurrent(g.folder) {
			return false
		}
		return counts == 1 || share.Connection == fleet.Online
	})
}

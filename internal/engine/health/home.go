package health

import (
	"time"

	"muster/internal/fleet"
)

const nextOfHome = "Make room on it: without any, the daemon stops all its folders."

// judgeHome judges the disk of the daemon's home of a device that has no folder to tell of it. The caller holds mu.
func (f *Folders) judgeHome(book *folderBook, now time.Time) (changed bool) {
	before, s := book.home, book.seen
	book.home = nil
	if len(book.folders) > 0 || !f.findsHomeFull(s, now) {
		return before != nil
	}
	is := finding{cause: fleet.WaitDiskNearlyFull, since: now.UnixMilli()}
	if before != nil {
		is.since = before.since
	}
	is.trouble = f.lasts(is, now)
	book.home = &is
	book.dueAt(f.windows.disksUntil(s))
	if !is.trouble {
		book.dueAt(time.UnixMilli(is.since).Add(f.windows.Trouble))
	}
	return before == nil || *before != is
}

// homeStanding has the texts about the disk of the daemon's home of a device without folders. The caller holds mu.
func (f *Folders) homeStanding(s *fleet.Snapshot) (standing fleet.FolderStanding) {
	standing.Device = s.Device
	if book := f.devices[s.Device]; book != nil && book.home != nil && s.Disks != nil {
		standing.Besides = []fleet.FolderFinding{{Trouble: book.home.trouble, Reason: homeText(s.Disks, ""), Next: nextOfHome,
			FolderTrouble: fleet.FolderTrouble{Cause: book.home.cause, Since: time.UnixMilli(book.home.since)}}}
	}
	return standing
}

// findsHomeFull reports whether the disk of the daemon's home is nearly full, as far as that is known and wanted.
func (f *Folders) findsHomeFull(s *fleet.Snapshot, now time.Time) bool {
	return !f.off[fleet.WaitDiskNearlyFull] && f.windows.knowsDisks(s, now) && s.Disks.HomeNearlyFull()
}

// HomeText says in the state of a device without folders that the disk of its daemon's home is nearly full, because no
// folder tells of it. It is "" when there is nothing to say.
func (f *Folders) HomeText(s *fleet.Snapshot, now time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(s.Folders) > 0 || !f.findsHomeFull(s, now) {
		return ""
	}
	return homeText(s.Disks, "")
}

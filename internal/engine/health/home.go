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
	if len(book.folders) > 0 || f.off[fleet.WaitDiskNearlyFull] || !f.knowsDisks(s, now) || !s.Disks.HomeNearlyFull() {
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

// homeNotes are for the state of a device without folders: no folder tells of the disk of its daemon's home.
func homeNotes(s *fleet.Snapshot) (reason, next string) {
	if len(s.Folders) == 0 && s.FoundBy == fleet.FoundByAgent && s.Disks.HomeNearlyFull() {
		return homeText(s.Disks, ""), nextOfHome
	}
	return "", ""
}

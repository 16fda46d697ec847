package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// finding is a further problem of a folder on a device, besides its state. Each finding can become trouble of its own.
type finding struct {
	cause   fleet.WaitCause
	since   int64 // Unix milliseconds
	trouble bool
}

// findingStates are the states of folders whose only problem is a finding.
var findingStates = map[fleet.WaitCause]fleet.FolderState{
	fleet.WaitDriveMissing: fleet.FolderDriveMissing, fleet.WaitDiskNearlyFull: fleet.FolderDiskNearlyFull,
	fleet.WaitDisagree: fleet.FolderDisagree, fleet.WaitConflicts: fleet.FolderConflicts,
}

// shownState returns the state that is shown. A folder that lacks nothing is shown in the state of its worst finding,
// so "up to date" means that it has no finding but that too few other devices have its data.
func shownState(state fleet.FolderState, found []finding) (shown fleet.FolderState, byFinding bool) {
	if state != fleet.FolderUpToDate && state != fleet.FolderScanning {
		return state, false
	}
	for _, is := range found {
		if shown, has := findingStates[is.cause]; has {
			return shown, true
		}
	}
	return state, false
}

// findings returns the findings of a folder, the worst first. The caller holds mu.
func (f *Folders) findings(facts FolderFacts, r *folderRecord) (found []finding) {
	s := facts.Snapshot
	short, isShort := f.isShort(s.Device, r.folder)
	for _, one := range []struct {
		cause fleet.WaitCause
		holds bool
	}{
		{fleet.WaitDriveMissing, f.windows.knowsDisks(s, facts.Now) && s.Disks.Folder(r.folder).DriveMissing()},
		{fleet.WaitDiskNearlyFull, f.windows.knowsDisks(s, facts.Now) &&
			(s.Disks.Folder(r.folder).NearlyFull() || tellsOfHome(s, r.folder))},
		{fleet.WaitAtRisk, isShort},
		{fleet.WaitDisagree, r.group.disagrees(s)},
		{fleet.WaitConflicts, len(s.Conflicts[r.folder])+s.ConflictsLeftOut[r.folder] > 0},
	} {
		if !one.holds || f.off[one.cause] {
			continue
		}
		is := finding{cause: one.cause, since: facts.Now.UnixMilli()}
		for _, known := range r.besides() {
			if known.cause == one.cause {
				is.since = known.since
			}
		}
		is.trouble = f.lasts(is, facts.Now)
		if one.cause == fleet.WaitAtRisk { // The policy has a time of its own.
			is.since, is.trouble = short.Since.UnixMilli(), true
		}
		found = append(found, is)
	}
	return found
}

// lasts reports whether a finding has lasted long enough to be trouble.
func (f *Folders) lasts(is finding, now time.Time) bool {
	return now.Sub(time.UnixMilli(is.since)) >= f.windows.Trouble
}

// tellsOfHome reports whether a folder is the one that reports the nearly full disk of the daemon's home. Only the
// first folder of a device does, so that people are notified once.
func tellsOfHome(s *fleet.Snapshot, folder string) bool {
	return s.Disks.HomeNearlyFull() &&
		!slices.ContainsFunc(s.Folders, func(f fleet.FolderLabel) bool { return f.Folder < folder })
}

// knowsDisks reports whether the agent's last report about disks is still valid.
func (w Windows) knowsDisks(s *fleet.Snapshot, now time.Time) bool {
	until := w.disksUntil(s)
	return s.Disks != nil && (until.IsZero() || now.Before(until))
}

// disksUntil returns when the agent's last report about disks becomes too old. Zero means never: a connected agent
// reports changes.
func (w Windows) disksUntil(s *fleet.Snapshot) time.Time {
	byAgent := s.FoundBy == fleet.FoundByAgent
	if byAgent && s.Connection == fleet.Online {
		return time.Time{}
	}
	told := s.DisksAsOf()
	if byAgent && s.LastSeen.After(told) {
		told = s.LastSeen
	}
	return told.Add(w.Trouble)
}

// findingOf returns a finding with its texts. The caller holds mu.
func (f *Folders) findingOf(s *fleet.Snapshot, r *folderRecord, is finding) fleet.FolderFinding {
	found := fleet.FolderFinding{FolderTrouble: fleet.FolderTrouble{Folder: r.folder, Cause: is.cause,
		Since: time.UnixMilli(is.since)}, Trouble: is.trouble, Next: fleet.WaitTexts[is.cause].Next}
	switch is.cause {
	case fleet.WaitDriveMissing:
		found.Reason, found.Next = driveText(s.Disks.Folder(r.folder))
	case fleet.WaitDiskNearlyFull:
		found.Reason = diskText(s.Disks.Folder(r.folder))
		if tellsOfHome(s, r.folder) {
			found.Reason, found.Next = homeText(s.Disks, r.folder), nextOfHome
		}
	case fleet.WaitAtRisk:
		found.Reason = fleet.WaitTexts[is.cause].Reason
		if short, isShort := f.isShort(s.Device, r.folder); isShort {
			found.Reason = short.Reason()
		}
	case fleet.WaitConflicts:
		found.Reason = conflictText(s.ConflictsOn(r.folder))
	case fleet.WaitDisagree:
		found.Reason = f.disagreeText(s, r)
	default:
		found.Reason = fleet.WaitTexts[is.cause].Reason
	}
	found.Reason = fleet.Bounded(found.Reason)
	return found
}

func driveText(d fleet.FolderDisk) (reason, next string) {
	if d.Path == fleet.PresenceMissing {
		return "the path of the folder is not there any more, as the device's agent says", nextOfError[fleet.ErrorPathMissing]
	}
	return "the marker .stfolder is not in the folder any more, as the device's agent says",
		nextOfError[fleet.ErrorMarkerMissing]
}

func homeText(d *fleet.DiskFacts, folder string) string {
	text := fmt.Sprintf("the disk of the daemon's home, with its database, is nearly full: %s of %s are free, as the "+
		"device's agent says", fleet.ByteText(d.Home.Free), fleet.ByteText(d.Home.Total))
	if at := d.Folder(folder); at.NearlyFull() {
		text += "; and " + diskText(at)
	}
	return text
}

func diskText(d fleet.FolderDisk) string {
	disk, space := "the disk of the folder", d.Space
	if !space.NearlyFull() {
		disk, space = "the disk of the folder's versions", d.Versions
	}
	return fmt.Sprintf("%s is nearly full: %s of %s are free, as the device's agent says", disk,
		fleet.ByteText(space.Free), fleet.ByteText(space.Total))
}

func conflictText(c fleet.ConflictsOn) (text string) {
	switch {
	case c.Files == 0: // They are left out, or they went between two readings.
		text = "files of the folder are in conflict"
	case c.More:
		text = fmt.Sprintf("more than %s files are in conflict, the newest is %q", fleet.NumberText(c.Files),
			c.Newest.Path)
	case c.Files == 1:
		text = fmt.Sprintf("one file is in conflict: %q", c.Newest.Path)
	default:
		text = fmt.Sprintf("%s files are in conflict, the newest is %q", fleet.NumberText(c.Files), c.Newest.Path)
	}
	if c.Counted > 0 {
		text += fmt.Sprintf("; the daemon counted %s since its start", plural(c.Counted, "conflict"))
	}
	return text
}

// disagreeText says what the device counts, and what a disagreeing device counts.
func (f *Folders) disagreeText(s *fleet.Snapshot, r *folderRecord) string {
	mine, known := tallyOf(s, r.folder)
	if !known || r.group == nil {
		return fleet.WaitTexts[fleet.WaitDisagree].Reason
	}
	for _, book := range f.groups.folders[r.folder].books {
		other := book.record(r.folder)
		theirs, known := tallyOf(book.seen, r.folder)
		if other == nil || other.group != r.group || !known || theirs == mine {
			continue
		}
		return fmt.Sprintf("nothing is missing, and the devices count different files: %s here, and %s on %s",
			mine, theirs, book.seen.Device)
	}
	return fleet.WaitTexts[fleet.WaitDisagree].Reason
}

// String returns the tally as people read it.
func (t tally) String() string {
	parts := []string{plural(t.files, "file"), fleet.Counted(t.directories, "directory", "directories")}
	if t.symlinks > 0 {
		parts = append(parts, plural(t.symlinks, "symlink"))
	}
	return strings.Join(parts, ", ") + fmt.Sprintf(" (%s)", fleet.ByteText(t.bytes))
}

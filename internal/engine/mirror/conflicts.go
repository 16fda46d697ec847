package mirror

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// A daemon remembers the last 1,000 changes of files since its start. The watcher finds conflict files among these
// changes; it does not find older ones. It reads the changes together with the next status after first contact, and
// after the sequence of a folder has changed. While somebody views the folder it reads them at once. It does not ask
// an idle daemon.
const (
	maxConflicts     = 100      // conflict files that are listed for each folder
	maxConflictBytes = 16 << 10 // memory for the conflict files of one device
)

// readConflicts reads which conflict files appeared and disappeared since the last reading. If the daemon does not
// answer this, the watcher goes on following it.
func (w *watcher) readConflicts(ctx context.Context, d Daemon) error {
	changes, last, err := d.Conflicts(ctx, w.conflictsSince)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.conflictsDue = false
	if err != nil {
		w.log.Debug("conflicts were not read", logkey.Err(err))
		return nil
	}
	fromStart := w.conflictsSince == 0
	w.conflictsSince = last
	before := w.snapshot.Load()
	if len(changes) == 0 && before.ConflictsRead {
		return nil
	}
	conflicts, leftOut, again := afterChanges(before.Conflicts, before.ConflictsLeftOut, changes, fromStart)
	if again {
		w.conflictsSince, w.conflictsDue = 0, true
		return w.readConflicts(ctx, d)
	}
	w.update(func(s *Snapshot) Aspect {
		s.ConflictsRead = true
		s.Conflicts, s.ConflictsLeftOut = onlyThese(conflicts, s.Folders), onlyThese(leftOut, s.Folders)
		return FoldersChanged
	})
	return nil
}

// readConflictCounts reads how many conflicts the daemon has counted since its start. It is called after a reading of
// the status, so at most once a minute. Daemons before 2.0 have no such count, and older agents do not pass it on.
func (w *watcher) readConflictCounts(ctx context.Context, d Daemon) error {
	s := w.snapshot.Load()
	if s.Version == nil || !countsConflicts(s.Version.Version) {
		w.countsDue = false
		return nil
	}
	counts, err := d.ConflictCounts(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.countsDue = false
	if err != nil {
		w.log.Debug("how many conflicts were counted was not read", logkey.Err(err))
		return nil
	}
	maps.DeleteFunc(counts, func(_ string, count int64) bool { return count <= 0 })
	w.update(func(s *Snapshot) Aspect {
		counts = onlyThese(counts, s.Folders)
		if maps.Equal(counts, s.ConflictsCounted) {
			return 0
		}
		s.ConflictsCounted = counts
		return FoldersChanged
	})
	return nil
}

// countsConflicts reports whether a daemon of this version counts conflicts. Daemons do so since 2.0.
func countsConflicts(version string) bool {
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	number, err := strconv.Atoi(major)
	return err == nil && number >= 2
}

// afterChanges applies changes of conflict files to the known conflicts of each folder. It returns all, the conflicts
// by folder, newest first, and leftOut, by folder roughly how many more conflicts there are than are listed. fromStart
// says that changes has everything that the daemon remembers, so it includes conflicts that were left out before.
// again asks the caller to read all changes from the start: all listed conflicts of a folder are gone, so there may be
// room for those that were left out.
func afterChanges(known map[string][]fleet.Conflict, knownLeftOut map[string]int, changes []fleet.ConflictChange,
	fromStart bool) (all map[string][]fleet.Conflict, leftOut map[string]int, again bool) {
	all, leftOut = cloned(known), cloned(knownLeftOut)
	makesRoom := false
	for _, change := range changes {
		conflicts := slices.Clone(all[change.Folder])
		at := slices.IndexFunc(conflicts, func(c fleet.Conflict) bool { return c.Path == change.Path })
		switch {
		case change.Gone && at >= 0:
			makesRoom = true
			conflicts = slices.Delete(conflicts, at, at+1)
		case change.Gone:
			leftOut[change.Folder] = max(0, leftOut[change.Folder]-1)
		case at < 0:
			conflicts = slices.Insert(conflicts, 0, change.Conflict)
			if fromStart {
				leftOut[change.Folder] = max(0, leftOut[change.Folder]-1)
			}
		}
		all[change.Folder] = conflicts
	}
	for folder, conflicts := range all {
		again = again || !fromStart && len(conflicts) == 0 && len(known[folder]) > 0 && leftOut[folder] > 0
		if len(conflicts) == 0 {
			delete(all, folder)
			if len(known[folder]) > 0 {
				delete(leftOut, folder)
			}
			continue
		}
		conflicts = slices.SortedStableFunc(slices.Values(conflicts), func(a, b fleet.Conflict) int {
			return b.At.Compare(a.At)
		})
		kept := min(len(conflicts), maxConflicts)
		leftOut[folder] += len(conflicts) - kept
		all[folder] = conflicts[:kept]
	}
	for folder, n := range leftOut {
		again = again || !fromStart && makesRoom && n > 0 && len(all[folder]) == 0
	}
	bound(all, leftOut)
	maps.DeleteFunc(leftOut, func(_ string, n int) bool { return n == 0 })
	return all, leftOut, again
}

// bound removes conflicts until they fit into maxConflictBytes, and counts them in leftOut. It first reserves room for
// the newest conflict of each folder, then fills the rest. A folder whose newest conflict does not fit is left out
// entirely.
func bound(all map[string][]fleet.Conflict, leftOut map[string]int) {
	room, folders := maxConflictBytes, slices.Sorted(maps.Keys(all))
	for _, folder := range folders {
		if size := all[folder][0].Size(); size <= room {
			room -= size
		} else {
			leftOut[folder] += len(all[folder])
			delete(all, folder)
		}
	}
	for _, folder := range folders {
		conflicts, kept := all[folder], 1
		if len(conflicts) == 0 {
			continue
		}
		for ; kept < len(conflicts) && conflicts[kept].Size() <= room; kept++ {
			room -= conflicts[kept].Size()
		}
		leftOut[folder] += len(conflicts) - kept
		all[folder] = conflicts[:kept]
	}
}

// noteSequence makes the conflicts due to be read if the folder's sequence shows that its files changed.
func (w *watcher) noteSequence(before, after fleet.FolderSummary) {
	if before.Sequence != after.Sequence {
		w.conflictsDue, w.countsDue = true, true
	}
}

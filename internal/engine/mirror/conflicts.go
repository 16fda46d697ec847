package mirror

import (
	"context"
	"slices"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Conflicts are found by the changes of files that a daemon remembers. They are read with the next status after first
// contact, and after a folder's sequence moved, at once where somebody looks: a daemon at rest is not asked. What a
// daemon did before its start, or more than 1,000 changes ago, is not found.
const (
	maxConflicts     = 100      // of a folder
	maxConflictBytes = 16 << 10 // of one device, in memory
)

// readConflicts reads which files of conflicts came and went. A daemon that fails to answer is followed all the same.
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
	w.conflictsSince = last
	if len(changes) == 0 {
		return nil
	}
	w.update(func(s *Snapshot) Aspect {
		s.Conflicts = afterChanges(s.Conflicts, changes)
		s.Conflicts = onlyThese(s.Conflicts, s.Folders)
		return FoldersChanged
	})
	return nil
}

// afterChanges are the conflicts of each folder, the newest first, after files of conflicts came and went.
func afterChanges(known map[string][]fleet.Conflict, changes []fleet.ConflictChange) map[string][]fleet.Conflict {
	all, room := cloned(known), maxConflictBytes
	for _, change := range changes {
		conflicts := slices.Clone(all[change.Folder])
		at := slices.IndexFunc(conflicts, func(c fleet.Conflict) bool { return c.Path == change.Path })
		switch {
		case change.Gone && at >= 0:
			conflicts = slices.Delete(conflicts, at, at+1)
		case !change.Gone && at < 0:
			conflicts = slices.Insert(conflicts, 0, change.Conflict)
		}
		all[change.Folder] = conflicts[:min(len(conflicts), maxConflicts)]
	}
	for folder, conflicts := range all {
		for i, c := range conflicts {
			if room -= c.Size(); room < 0 {
				conflicts = conflicts[:i]
				break
			}
		}
		if all[folder] = conflicts; len(conflicts) == 0 {
			delete(all, folder)
		}
	}
	return all
}

// noteSequence notes that files of a folder changed, by its sequence before and after.
func (w *watcher) noteSequence(before, after fleet.FolderSummary) {
	w.conflictsDue = w.conflictsDue || before.Sequence != after.Sequence
}

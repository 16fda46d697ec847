package mirror

import (
	"context"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// While somebody looks at a folder, its figures are at most three seconds old: daemons tell them late when they have
// much to do. The watcher ends the poll that hangs, and then polls for a moment only, with a reading of the folder in
// between. All goes over the one kept connection, and as many people as may look at a folder cost as much as one. A
// daemon that is visited in turn is not asked.
const (
	lookFor       = 40 * time.Second // after the last call of Look: pages ask again every 30 s
	lookAge       = 2 * time.Second  // of figures, at which they are read again
	lookPause     = time.Second      // from figures to the next, at least; the shortest poll
	maxLooked     = 100              // folders of one device
	lookedASecond = 200              // readings of all daemons together, and polls that are ended
)

// Look says that somebody looks at folders of a device. It returns at once: the figures come as they always do.
func (m *Mirror) Look(id fleet.DeviceID, folders ...string) {
	if w := m.watcher(id); w != nil {
		w.look(folders)
	}
}

func (w *watcher) look(folders []string) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetLooks(now)
	began, s := len(w.looks) == 0, w.snapshot.Load()
	if began && !w.m.looking.Allow() {
		return
	}
	for _, folder := range folders {
		if _, known := w.looks[folder]; !known && len(w.looks) >= maxLooked || !hasFolder(s, folder) {
			continue
		}
		if w.looks == nil {
			w.looks = map[string]time.Time{}
		}
		w.looks[folder] = now.Add(lookFor)
	}
	if began && len(w.looks) > 0 && w.endPoll != nil {
		w.endPoll()
	}
}

// forgetLooks drops the folders at which nobody looks any more. The caller holds mu.
func (w *watcher) forgetLooks(now time.Time) {
	for folder, until := range w.looks {
		if now.After(until) {
			delete(w.looks, folder)
		}
	}
	if len(w.looks) == 0 {
		w.looks = nil
	}
}

// lookedAt are the folders of the device at which somebody looks.
func (w *watcher) lookedAt() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetLooks(time.Now())
	s := w.snapshot.Load()
	maps.DeleteFunc(w.looks, func(folder string, _ time.Time) bool { return !hasFolder(s, folder) })
	return slices.Sorted(maps.Keys(w.looks))
}

func hasFolder(s *Snapshot, folder string) bool {
	return slices.ContainsFunc(s.Folders, func(f fleet.FolderLabel) bool { return f.Folder == folder })
}

// readLookedAt reads the folders at which somebody looks, as far as their figures are old. wait is how long the next
// poll may last.
func (w *watcher) readLookedAt(ctx context.Context, d Daemon) (wait time.Duration, err error) {
	looked := w.lookedAt()
	if len(looked) == 0 {
		return pollWait, nil
	}
	s, now, oldest := w.snapshot.Load(), time.Now(), time.Duration(0)
	var due []string
	for _, folder := range looked {
		if age := now.Sub(s.Summaries[folder].UpdatedAt); age < lookPause {
			oldest = max(oldest, age)
		} else if w.m.looking.Allow() {
			due = append(due, folder)
		}
	}
	if err := w.readSummaries(ctx, d, due); err != nil {
		return 0, err
	}
	if w.conflictsDue {
		err = w.readConflicts(ctx, d)
	}
	return max(lookPause, (lookAge - oldest).Truncate(time.Second)), err
}

// pollable is a context for a poll, which ends when somebody begins to look at a folder of the device.
func (w *watcher) pollable(ctx context.Context, wait time.Duration) (poll context.Context, done func()) {
	poll, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.endPoll = cancel; len(w.looks) > 0 && wait > lookAge {
		cancel() // somebody began since the wait was settled
	}
	return poll, func() {
		w.mu.Lock()
		w.endPoll = nil
		w.mu.Unlock()
		cancel()
	}
}

package mirror

import (
	"context"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// While somebody views a folder in the console, its figures are at most three seconds old. Events alone are too late
// for that, because a busy daemon delays them. When the viewing starts, the watcher ends its present poll. From then
// on its polls are short, and between them it reads the folder's summary. All this uses the one reserved connection,
// and many viewers cost as much as one. The watcher does not do it for a daemon that is visited in turn.
const (
	// viewedFor is how long a folder counts as viewed after a call of View. Pages call it every 30 s.
	viewedFor       = 40 * time.Second
	viewedMaxAge    = 2 * time.Second // the age at which the figures of a viewed folder are read again
	viewedInterval  = time.Second     // the shortest time between two readings, and the shortest poll
	maxViewed       = 100             // viewed folders of one device
	viewedPerSecond = 200             // limit for additional readings and ended polls, of all daemons together
)

// View records that somebody views folders of a device. It returns at once; the new figures follow in the snapshot.
func (m *Mirror) View(id fleet.DeviceID, folders ...string) {
	if w := m.watcher(id); w != nil {
		w.view(folders)
	}
}

func (w *watcher) view(folders []string) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetViewed(now)
	began, s := len(w.viewedUntil) == 0, w.snapshot.Load()
	if began && !w.m.viewedReads.Allow() {
		return
	}
	for _, folder := range folders {
		if _, known := w.viewedUntil[folder]; !known && len(w.viewedUntil) >= maxViewed || !hasFolder(s, folder) {
			continue
		}
		if w.viewedUntil == nil {
			w.viewedUntil = map[string]time.Time{}
		}
		w.viewedUntil[folder] = now.Add(viewedFor)
	}
	if began && len(w.viewedUntil) > 0 && w.endPoll != nil {
		w.endPoll()
	}
}

// forgetViewed removes the folders that nobody views any more. The caller holds mu.
func (w *watcher) forgetViewed(now time.Time) {
	for folder, until := range w.viewedUntil {
		if now.After(until) {
			delete(w.viewedUntil, folder)
		}
	}
	if len(w.viewedUntil) == 0 {
		w.viewedUntil = nil
	}
}

// viewedFolders returns the viewed folders of the device, sorted.
func (w *watcher) viewedFolders() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetViewed(time.Now())
	s := w.snapshot.Load()
	maps.DeleteFunc(w.viewedUntil, func(folder string, _ time.Time) bool { return !hasFolder(s, folder) })
	return slices.Sorted(maps.Keys(w.viewedUntil))
}

func hasFolder(s *Snapshot, folder string) bool {
	return slices.ContainsFunc(s.Folders, func(f fleet.FolderLabel) bool { return f.Folder == folder })
}

// readViewedFolders reads the summaries of viewed folders that are at least viewedInterval old. wait is how long the
// next poll may last.
func (w *watcher) readViewedFolders(ctx context.Context, d Daemon) (wait time.Duration, err error) {
	viewed := w.viewedFolders()
	if len(viewed) == 0 {
		return pollWait, nil
	}
	s, now, oldest := w.snapshot.Load(), time.Now(), time.Duration(0)
	var due []string
	for _, folder := range viewed {
		if age := now.Sub(s.Summaries[folder].UpdatedAt); age < viewedInterval {
			oldest = max(oldest, age)
		} else if w.m.viewedReads.Allow() {
			due = append(due, folder)
		}
	}
	if err := w.readSummaries(ctx, d, due); err != nil {
		return 0, err
	}
	if w.conflictsDue {
		err = w.readConflicts(ctx, d)
	}
	return max(viewedInterval, (viewedMaxAge - oldest).Truncate(time.Second)), err
}

// pollable returns the context for a poll that lasts up to wait. The context ends early if somebody starts to view a
// folder of the device. The caller calls done after the poll.
func (w *watcher) pollable(ctx context.Context, wait time.Duration) (poll context.Context, done func()) {
	poll, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.endPoll = cancel; len(w.viewedUntil) > 0 && wait > viewedMaxAge {
		cancel() // Somebody began to view a folder after the caller had chosen wait.
	}
	return poll, func() {
		w.mu.Lock()
		w.endPoll = nil
		w.mu.Unlock()
		cancel()
	}
}

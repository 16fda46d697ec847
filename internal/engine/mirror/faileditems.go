package mirror

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	maxItemBytes = 64 << 10         // memory for the failed items of one device
	itemsAtOnce  = 100              // failed items that one request reads
	itemsEvery   = time.Minute      // the interval between two readings of a folder's failed items
	itemsViewed  = 10 * time.Second // the same interval while somebody views the folder
	maxItemReads = 10               // folders whose failed items are read between two polls
)

// readFailedItems reads the failed items, those that could not be synced, of folders that have some. It reads the
// items that are not known yet, because the event that names them may have happened before the watcher connected. For
// a folder that somebody views it reads them again every itemsViewed.
func (w *watcher) readFailedItems(ctx context.Context, d Daemon) error {
	s, now, reads := w.snapshot.Load(), time.Now(), 0
	if len(w.itemsAsked) > len(s.Summaries) {
		clear(w.itemsAsked) // some entries belong to folders that no longer exist
	}
	var viewed []string
	for folder, summary := range s.Summaries {
		if summary.Failed == 0 || summary.State == "" {
			delete(w.itemsAsked, folder)
			continue
		}
		if viewed == nil {
			viewed = w.viewedFolders()
		}
		every := itemsEvery
		switch isViewed := slices.Contains(viewed, folder); {
		case isViewed:
			every = itemsViewed
		case len(s.FailedItems[folder]) > 0:
			continue
		}
		if asked, once := w.itemsAsked[folder]; once && now.Sub(asked) < every || reads == maxItemReads {
			continue
		}
		if w.itemsAsked == nil {
			w.itemsAsked = map[string]time.Time{}
		}
		w.itemsAsked[folder] = now
		reads++
		items, _, err := d.FailedItems(ctx, folder, 1, itemsAtOnce)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // If the daemon cannot be followed any more, the next request shows it.
			w.log.Debug("failed items not read", slog.String(logkey.Folder, folder), logkey.Err(err))
			continue
		}
		w.update(func(s *Snapshot) Aspect {
			if s.Summaries[folder].Failed == 0 || slices.Equal(items, s.FailedItems[folder]) {
				return 0
			}
			setFailedItems(s, folder, items)
			return FoldersChanged
		})
	}
	return nil
}

// setFailedItems replaces the failed items of a folder. It cuts the list so that the items of all folders of the
// device take at most maxItemBytes.
func setFailedItems(s *Snapshot, folder string, items []fleet.FailedItem) {
	if len(items) == 0 && len(s.FailedItems[folder]) == 0 {
		return
	}
	all := cloned(s.FailedItems)
	delete(all, folder)
	room := maxItemBytes
	for _, of := range all {
		for _, item := range of {
			room -= item.Size()
		}
	}
	for i, item := range items {
		if room -= item.Size(); room < 0 {
			items = items[:i]
			break
		}
	}
	if len(items) > 0 {
		all[folder] = items
	}
	if s.FailedItems = all; len(all) == 0 {
		s.FailedItems = nil
	}
}

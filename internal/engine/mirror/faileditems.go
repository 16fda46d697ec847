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
	maxItemBytes = 64 << 10 // of the failed items of one device, in memory
	itemsAtOnce  = 100      // failed items of a folder that are read
	itemsEvery   = time.Minute
	itemsLooked  = 10 * time.Second // as itemsEvery, while somebody looks at the folder
	maxItemReads = 10               // folders that are asked for in a row
)

// readFailedItems asks for the items that could not be synced, where there are any and they are not known, or somebody
// looks at the folder: the event that names them may have come before the daemon was followed.
func (w *watcher) readFailedItems(ctx context.Context, d Daemon) error {
	s, now, reads := w.snapshot.Load(), time.Now(), 0
	if len(w.itemsAsked) > len(s.Summaries) {
		clear(w.itemsAsked) // of folders that are gone
	}
	var looked []string
	for folder, summary := range s.Summaries {
		if summary.Failed == 0 || summary.State == "" {
			delete(w.itemsAsked, folder)
			continue
		}
		if looked == nil {
			looked = w.lookedAt()
		}
		every := itemsEvery
		switch looks := slices.Contains(looked, folder); {
		case looks:
			every = itemsLooked
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
		if err != nil { // the next request shows whether the daemon can be followed
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

// setFailedItems notes the items of a folder that could not be synced, as far as there is room.
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

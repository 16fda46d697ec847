package mirror

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// readSummaries reads the summaries of folders one by one. If the daemon does not answer for one folder, the folder's
// last summary stays; if it does not answer for two in a row, readSummaries returns the error. A summary that cannot
// be true is dropped, so that the folder's state is unknown.
func (w *watcher) readSummaries(ctx context.Context, d Daemon, folders []string) error {
	defer w.forgetFolders()
	var read []fleet.FolderSummary
	failed := false
	for _, folder := range folders {
		w.summarised[folder] = w.snapshot.Load().IsPaused(folder)
		delete(w.rested, folder)
		summary, err := d.Summary(ctx, folder)
		switch code := fleet.CodeOf(err); {
		case err == nil:
			summary.Device, summary.Folder = w.device.ID, folder
			read, failed = append(read, summary), false
			delete(w.disbelieved, folder)
		case ctx.Err() != nil:
			return ctx.Err()
		case code == fleet.CodeNotFound: // The folder was removed just now: the event ConfigSaved will follow.
		case code == fleet.CodeUnbelievable:
			w.disbelieve(folder, fleet.Reason(err))
			w.update(func(s *Snapshot) Aspect { return dropSummary(s, folder) })
		case code == fleet.CodeUnavailable && !failed:
			failed = true
			w.log.Debug("folder summary not read", slog.String(logkey.Folder, folder), logkey.Err(err))
		default:
			return err
		}
	}
	w.keepSummaries(read)
	return nil
}

// keepSummaries puts summaries that were read into the snapshot, and into the outbox for the store.
func (w *watcher) keepSummaries(read []fleet.FolderSummary) {
	if len(read) == 0 {
		return
	}
	now := time.Now()
	w.update(func(s *Snapshot) Aspect {
		s.Summaries = cloned(s.Summaries)
		for i := range read {
			read[i].CreatedAt, read[i].UpdatedAt = now, now
			if known, ok := s.Summaries[read[i].Folder]; ok {
				read[i].CreatedAt = known.CreatedAt
				w.noteSequence(known, read[i])
			}
			s.Summaries[read[i].Folder] = read[i]
			if read[i].Failed == 0 {
				setFailedItems(s, read[i].Folder, nil)
			}
		}
		s.LastSeen = now
		return FoldersChanged
	})
	w.observe(fleet.Observation{Summaries: read, LastSeen: now}, false)
}

// applyFolderEvents updates the folders of the snapshot by events, in their order.
func (w *watcher) applyFolderEvents(events []fleet.DaemonEvent) {
	now := time.Now()
	var changedSummaries []fleet.FolderSummary
	w.update(func(s *Snapshot) (aspect Aspect) {
		changed := map[string]bool{}
		for _, e := range events {
			known, there := s.Summaries[e.Folder]
			if e.Folder == "" || !there {
				continue // A new folder gets its summary when the configuration is read.
			}
			w.noteScan(e)
			if e.Type == "FolderSummary" && e.Summary == nil {
				w.disbelieve(e.Folder, e.Error)
				delete(changed, e.Folder)
				aspect |= dropSummary(s, e.Folder)
				continue
			}
			next, is := afterEvent(known, e)
			if !is {
				continue
			}
			next.UpdatedAt = now
			w.noteSequence(known, next)
			if len(changed) == 0 {
				s.Summaries = cloned(s.Summaries)
			}
			s.Summaries[e.Folder] = next
			changed[e.Folder] = true
			switch {
			case e.Type == "FolderErrors":
				setFailedItems(s, e.Folder, e.Items)
			case next.Failed == 0:
				setFailedItems(s, e.Folder, nil)
			}
		}
		for folder := range changed {
			changedSummaries = append(changedSummaries, s.Summaries[folder])
			aspect |= FoldersChanged
		}
		return aspect
	})
	if len(changedSummaries) > 0 {
		w.observe(fleet.Observation{Summaries: changedSummaries, LastSeen: now}, false)
	}
}

// afterEvent returns the summary of a folder after an event. is reports whether the event changes summaries.
func afterEvent(known fleet.FolderSummary, e fleet.DaemonEvent) (next fleet.FolderSummary, is bool) {
	next = known
	switch e.Type {
	case "FolderSummary":
		next = *e.Summary
		next.Device, next.Folder, next.CreatedAt = known.Device, known.Folder, known.CreatedAt
	case "StateChanged":
		next.State, next.Error, next.StateChanged = e.State, e.Error, e.At
	case "FolderErrors":
		next.Failed = e.Failed
	default:
		return known, false
	}
	return next, true
}

// disbelieve records that the summary of a folder cannot be true. It logs only the first one in a row.
func (w *watcher) disbelieve(folder, reason string) {
	if !w.disbelieved[folder] {
		w.log.Warn("folder summary not believed", slog.String(logkey.Folder, folder), slog.String(logkey.Reason, reason))
	}
	w.disbelieved[folder] = true
}

// dropSummary removes the summary of a folder, which makes the folder's state unknown.
func dropSummary(s *Snapshot, folder string) Aspect {
	if _, known := s.Summaries[folder]; !known {
		return 0
	}
	s.Summaries = cloned(s.Summaries)
	delete(s.Summaries, folder)
	setFailedItems(s, folder, nil)
	return FoldersChanged
}

func cloned[T any](m map[string]T) map[string]T {
	if m == nil {
		return map[string]T{}
	}
	return maps.Clone(m)
}

// forgetFolders removes the watcher's notes about folders that the configuration no longer has.
func (w *watcher) forgetFolders() {
	folders := w.folders()
	if len(w.disbelieved) > len(folders) {
		clear(w.disbelieved)
	}
	if len(w.summarised) <= len(folders) {
		return
	}
	before := w.summarised
	w.summarised = make(map[string]bool, len(folders))
	for _, folder := range folders {
		if paused, known := before[folder]; known {
			w.summarised[folder] = paused
		}
	}
}

// folders returns the folder IDs of the current configuration.
func (w *watcher) folders() []string {
	var ids []string
	for _, f := range w.snapshot.Load().Folders {
		ids = append(ids, f.Folder)
	}
	return ids
}

// unreadFolders returns the folders without a summary from the present connection, at most maxUnreported: the daemon
// did not answer, or its answer could not be true. Events never fill such a gap, so these folders have to be read
// again.
func (w *watcher) unreadFolders() (ids []string) {
	s := w.snapshot.Load()
	for _, f := range s.Folders {
		if s.Connection == fleet.Online && !s.IsCurrent(f.Folder) && len(ids) < maxUnreported {
			ids = append(ids, f.Folder)
		}
	}
	return ids
}

// changedFolders returns the folders that have no summary, or that were paused or resumed since their summary was
// read. A paused folder makes no events.
func (w *watcher) changedFolders() []string {
	s := w.snapshot.Load()
	var ids []string
	for _, f := range s.Folders {
		if _, known := s.Summaries[f.Folder]; !known || s.IsPaused(f.Folder) != w.summarised[f.Folder] {
			ids = append(ids, f.Folder)
		}
	}
	return ids
}

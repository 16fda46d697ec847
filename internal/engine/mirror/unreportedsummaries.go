package mirror

import (
	"slices"
	"time"

	"muster/internal/fleet"
)

// A daemon reports the summary of a folder by an event when the folder's index has changed. Other fields of
// `/rest/db/status` change without an event, such as ignorePatterns after patterns were set (2.1.3, 1.19.2). Every
// such change ends with a scan, after which the folder becomes idle. So the watcher reads the summary of a folder that
// has become idle when no event reports it soon after.

// maxUnreported bounds how many summaries are read at a time, because each costs the daemon work.
const maxUnreported = 50

// noteScan adds a folder that became idle to rested, and removes a folder whose summary was reported.
func (w *watcher) noteScan(e fleet.DaemonEvent) {
	switch {
	case e.Type == "FolderSummary":
		delete(w.rested, e.Folder)
	case e.Type == "StateChanged" && (e.State == "idle" || e.State == "error"):
		if _, noted := w.rested[e.Folder]; !noted {
			w.rested[e.Folder] = time.Now()
		}
	}
}

// unreported returns the folders that became idle at least since ago and were not reported afterwards. next is the
// time until further folders may be due.
func (w *watcher) unreported(since time.Duration) (folders []string, next time.Duration) {
	next = pollWait
	for folder, at := range w.rested {
		if left := since - time.Since(at); left > 0 {
			next = min(next, left)
		} else {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	if len(folders) > maxUnreported {
		return folders[:maxUnreported], 0
	}
	return folders, next
}

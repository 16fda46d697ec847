package mirror

import (
	"slices"
	"time"

	"muster/internal/fleet"
)

// If the index of a folder has changed, a daemon reports the folder's summary by an event. Other fields of
// `/rest/db/status` change without an event, such as ignorePatterns after patterns were set (2.1.3, 1.19.2). Every
// such change ends with a scan, after which the folder becomes idle. So if a folder has become idle and no event
// reports its summary soon after, the watcher reads the summary.

// maxUnreported bounds how many summaries are read at a time, because each costs the daemon work.
const maxUnreported = 50

// noteScan notes in rested when a folder came to rest (idle or error), and removes a folder whose summary was
// reported.
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

// unreported returns folders that came to rest (idle or error) long enough ago, and whose summary no event has
// reported since: at most maxUnreported of them. since is the time that must have passed. next is how long the caller
// may wait before it asks again; 0 if there are more folders now.
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

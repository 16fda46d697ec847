package mirror

import (
	"slices"
	"time"

	"muster/internal/fleet"
)

// A daemon reports the summary of a folder by an event when the folder's index has changed. Other fields of
// `/rest/db/status` change without an event: that there are ignore patterns, after some were set (2.1.3, 1.19.2). Every
// such change ends with a scan, after which the folder comes to rest. So a folder that came to rest and is not reported
// soon after is asked for.

// maxUnreported bounds the folders that are asked for at a time: each costs the daemon work.
const maxUnreported = 50

// noteScan notes a folder that came to rest, and forgets a folder whose summary was reported.
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

// unreported are the folders that came to rest at least so long ago and were not reported since. next is the time until
// there will be more.
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

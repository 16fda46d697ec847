package mirror

import (
	"slices"
	"time"

	"muster/internal/fleet"
)

// A daemon tells the summary of a folder when its index has changed, and by no event what else `/rest/db/status`
// answers: after ignore patterns were set, that there are some (2.1.3, 1.19.2). Whatever changes it ends with the
// folder coming to rest, from a scan if nothing else. So a folder that came to rest and is not told of soon after is
// asked for.

// maxUntold is how many folders are asked for at a time: their daemon works for each.
const maxUntold = 50

// noteScan notes a folder that came to rest, and forgets one whose summary is told.
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

// untold are the folders that came to rest at least so long ago and were not told of since, and the time until there
// will be more.
func (w *watcher) untold(since time.Duration) (folders []string, next time.Duration) {
	next = pollWait
	for folder, at := range w.rested {
		if left := since - time.Since(at); left > 0 {
			next = min(next, left)
		} else {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	if len(folders) > maxUntold {
		return folders[:maxUntold], 0
	}
	return folders, next
}

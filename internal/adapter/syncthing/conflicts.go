package syncthing

import (
	"bytes"
	"context"
	"net/http"
	"strconv"

	"muster/internal/fleet"
)

// Conflicts reads from /rest/events/disk which conflict files appeared and disappeared after event number since. last
// is the number of the newest event. A daemon keeps the last 1,000 changes of files since its start.
func (c calls) Conflicts(ctx context.Context, since int64) (changes []fleet.ConflictChange, last int64, err error) {
	k := &call{method: http.MethodGet, path: "/rest/events/disk?timeout=0&since=" + strconv.FormatInt(since, 10),
		during: "ask which files changed", maxBytes: c.limits.EventsBytes, canWait: true}
	body, err := c.do(ctx, k)
	if err != nil {
		return nil, since, err
	}
	return parseConflicts(body, since, c.limits)
}

var conflictMark = []byte(".sync-conflict-")

func parseConflicts(body []byte, since int64, l *Limits) (changes []fleet.ConflictChange, last int64, err error) {
	const during = "ask which files changed"
	events, err := scanEvents(body)
	if err != nil {
		return nil, since, disbelieve(during, "it is not the JSON that a Syncthing daemon gives", err)
	}
	last = since
	for _, e := range events {
		if e.ID <= last {
			return nil, since, disbelieve(during, "the numbers of its events run backwards", nil)
		}
		if last = e.ID; !bytes.Contains(e.Data, conflictMark) {
			continue
		}
		var w struct {
			Folder string `json:"folder"`
			Path   string `json:"path"`
			Action string `json:"action"`
		}
		if err := decode(e.Data, &w, l, during); err != nil {
			return nil, since, err
		}
		if fleet.IsConflict(w.Path) && len(w.Path) <= maxItemPath {
			changes = append(changes, fleet.ConflictChange{Folder: w.Folder, Gone: w.Action == "deleted",
				Conflict: fleet.Conflict{Path: shortText(w.Path, maxItemPath), At: e.At}})
		}
	}
	return changes, last, nil
}

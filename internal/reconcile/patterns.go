package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"muster/internal/fleet"
)

// Bounds of what one question of a person reads of daemons: ignore patterns of folders that its templates name.
const (
	maxPatternsRead = 200
	patternsTime    = 20 * time.Second // of all readings together
	patternTime     = 5 * time.Second  // of one
)

// asking reads ignore patterns because a person asks what templates would do. It writes nothing down.
type asking struct {
	*Engine
	read  atomic.Int64 // folders
	spent atomic.Int64 // nanoseconds
}

// patterns are those of the folders that the device has, on top of those that are known. The job learns why others
// stay unknown.
func (a *asking) patterns(ctx context.Context, j *job, folders []string,
	known map[string][]string) map[string][]string {
	patterns := maps.Clone(known)
	if patterns == nil {
		patterns = map[string][]string{}
	}
	j.unread = map[string]string{}
	for _, folder := range j.foldersPresent(folders) {
		if _, read := known[folder]; read {
			continue
		}
		lines, why := a.one(ctx, j, folder)
		if why != "" {
			j.unread[folder] = why
			continue
		}
		patterns[folder] = lines
	}
	return patterns
}

// one reads the patterns of one folder, or says why not.
func (a *asking) one(ctx context.Context, j *job, folder string) (lines []string, why string) {
	switch {
	case j.mode == fleet.ModePaused:
		return nil, "the device is paused, so its daemon is not asked"
	case !j.known.Online:
		return nil, "the device is not online"
	case time.Duration(a.spent.Load()) >= patternsTime:
		return nil, fmt.Sprintf("the daemons that were asked before took %v", patternsTime)
	case a.read.Add(1) > maxPatternsRead:
		return nil, fmt.Sprintf("the patterns of %d folders were read already, more are not for one question",
			maxPatternsRead)
	}
	began := time.Now()
	defer func() { a.spent.Add(int64(time.Since(began))) }()
	ctx, cancel := context.WithTimeout(ctx, patternTime)
	defer cancel()
	lines, err := a.ignoresOf(ctx, j, folder)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Sprintf("the daemon did not answer within %v", patternTime)
	}
	if err != nil {
		return nil, fleet.Reason(err)
	}
	return lines, ""
}

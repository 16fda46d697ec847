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

// These limits are for the ignore patterns that are read from daemons to answer one question of a person.
const (
	maxPatternsRead = 200
	patternsTime    = 20 * time.Second // once the readings took so long together, no further one begins
	patternTime     = 5 * time.Second  // time limit of one reading
)

// asking reads ignore patterns for one question of a person about what templates would do. It stores nothing in the
// devices' histories.
type asking struct {
	*Engine
	read  atomic.Int64 // folders that were read
	spent atomic.Int64 // time that the readings took, in nanoseconds
}

// patterns returns known, the ignore patterns by folder, extended by those of the given folders that the device has.
// unread has, by folder, why its patterns could not be read.
func (a *asking) patterns(ctx context.Context, in input, folders []string,
	known map[string][]string) (_ map[string][]string, unread map[string]string) {
	patterns := maps.Clone(known)
	if patterns == nil {
		patterns = map[string][]string{}
	}
	unread = map[string]string{}
	for _, folder := range in.foldersPresent(folders) {
		if _, read := known[folder]; read {
			continue
		}
		lines, why := a.one(ctx, in, folder)
		if why != "" {
			unread[folder] = why
			continue
		}
		patterns[folder] = lines
	}
	return patterns, unread
}

// one reads the ignore patterns of one folder. why is the reason if they could not be read, else "".
func (a *asking) one(ctx context.Context, in input, folder string) (lines []string, why string) {
	switch {
	case in.mode == fleet.ModePaused:
		return nil, "the device is not watched (mode paused), so its daemon is not asked"
	case !in.known.Online:
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
	lines, err := a.o.Daemon.Ignores(ctx, in.id, folder)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Sprintf("the daemon did not answer within %v", patternTime)
	}
	if err != nil {
		return nil, fleet.Reason(err)
	}
	return lines, ""
}

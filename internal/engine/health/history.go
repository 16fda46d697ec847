package health

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// historyStep is the time between two points of the history.
const historyStep = time.Minute

// firstPointDelay is the time from the start to the first point: most daemons are not contacted earlier.
const firstPointDelay = 30 * time.Second

// Historian keeps the fleet and its folders in numbers, by minutes.
type Historian struct {
	Now func() fleet.HistoryPoint // returns the present numbers; Historian sets At
	Put func(context.Context, fleet.HistoryPoint) error
	Log *slog.Logger

	Folders *FolderHistorian
}

// Run makes a point when a minute begins, until ctx ends. A minute that cannot be kept is a gap.
func (h Historian) Run(ctx context.Context) error {
	wait := time.NewTimer(firstPointDelay + untilNext(time.Now().Add(firstPointDelay)))
	defer wait.Stop()
	failing := false
	for {
		select {
		case <-wait.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		now := time.Now()
		point := h.Now()
		point.At = now.Truncate(historyStep)
		err := errors.Join(h.Put(ctx, point), h.Folders.Record(ctx, now))
		if err != nil && !failing && ctx.Err() == nil {
			h.Log.Warn("the history has a gap", logkey.Component, "history", logkey.Err(err))
		}
		failing = err != nil
		wait.Reset(untilNext(time.Now()))
	}
}

// untilNext returns the time until the next minute begins, by the clock of now.
func untilNext(now time.Time) time.Duration {
	return now.Truncate(historyStep).Add(historyStep).Sub(now)
}

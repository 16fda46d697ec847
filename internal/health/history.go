package health

import (
	"context"
	"log/slog"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// historyStep is the time between two points of the history.
const historyStep = time.Minute

// settleTime is how long after the start the first point is made: most daemons are not contacted before.
const settleTime = 30 * time.Second

// Historian keeps the fleet in numbers, one point a minute.
type Historian struct {
	Now func() fleet.HistoryPoint // without At
	Put func(context.Context, fleet.HistoryPoint) error
	Log *slog.Logger
}

// Run makes a point when a minute begins, until ctx ends. A minute that cannot be kept is a gap.
func (h Historian) Run(ctx context.Context) error {
	wait := time.NewTimer(settleTime + untilNext(time.Now().Add(settleTime)))
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
		err := h.Put(ctx, point)
		if err != nil && !failing && ctx.Err() == nil {
			h.Log.Warn("the history has a gap", logkey.Component, "history", logkey.Err(err))
		}
		failing = err != nil
		wait.Reset(untilNext(time.Now()))
	}
}

// untilNext is the time until the next minute begins, by the clock of now.
func untilNext(now time.Time) time.Duration {
	return now.Truncate(historyStep).Add(historyStep).Sub(now)
}

// InNumbers is a point of the history, as of now. problems is how many people are told of.
func (h *Health) InNumbers(registry *fleet.Registry, facts func(fleet.DeviceID) Facts, problems int,
) fleet.HistoryPoint {
	p := fleet.HistoryPoint{Devices: int64(len(registry.Devices)), Problems: int64(problems)}
	for id := range registry.Devices {
		known := facts(id)
		state, err := h.State(id, known)
		if err != nil { // not watched yet, or deleted meanwhile
			continue
		}
		if state.Connection == fleet.Online {
			p.Online++
		}
		if state.Configuration == fleet.ConfigInSync {
			p.InSync++
		}
		if len(CausesOf(state, known.Snapshot)) > 0 {
			p.Waiting++
		}
		p.NeedBytes = fleet.AddBytes(p.NeedBytes, known.Snapshot.NeedBytes())
	}
	return p
}

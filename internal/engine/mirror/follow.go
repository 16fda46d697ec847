package mirror

import (
	"context"
	"errors"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

const (
	eventLimit  = 250                    // of one poll: with more than that waiting, reading the state again is cheaper
	gatherTime  = 500 * time.Millisecond // from an answer to the next poll: a change makes a handful of events
	summaryTime = 5 * time.Second        // from a scan's end to the event with the summary; about 2 s at an idle daemon
	gapCost     = 5                      // cost of reading everything again, counted in readings of a configuration
	bigDocument = 256 << 10              // bytes; larger configurations are parsed one at a time
	maxUnread   = 8 << 20                // bytes of large configurations that wait to be parsed
)

// follow makes first contact and lives on the event stream until something breaks. A daemon that turns out to have
// restarted is contacted anew at once.
func (w *watcher) follow(ctx context.Context, d Daemon) error {
	for {
		err := w.attend(ctx, d)
		if !errors.Is(err, errRestarted) {
			return err
		}
	}
}

func (w *watcher) attend(ctx context.Context, d Daemon) error {
	if !d.Keep() {
		if err := d.Visit(ctx); err != nil {
			return err
		}
	}
	since, err := w.firstContact(ctx, d)
	if err == nil && !d.Keep() {
		since, err = w.visitInTurn(ctx, d, since)
	}
	if err != nil {
		return err
	}
	return w.stream(ctx, d, since)
}

var errRestarted = errors.New("the daemon has restarted")

// firstContact reads everything once and gives the number of the last event before that. The status comes first
// because it proves who answers; nothing in it is told by events. The events are asked for before the rest is read:
// a daemon buffers them from the first request with the mask on, so that nothing falls in between.
func (w *watcher) firstContact(ctx context.Context, d Daemon) (int64, error) {
	if _, err := w.readStatus(ctx, d, nil); err != nil {
		return 0, err
	}
	since, err := w.prime(ctx, d)
	if err != nil {
		return 0, err
	}
	if err := w.readVersion(ctx, d); err != nil {
		return 0, err
	}
	if err := w.m.outbox.room(ctx); err != nil {
		return 0, err
	}
	if _, _, err := w.readConfig(ctx, d, true); err != nil {
		return 0, err
	}
	if err := w.readConnected(ctx, d); err != nil {
		return 0, err
	}
	w.update(w.connected)
	if err := w.readSummaries(ctx, d, w.folders()); err != nil {
		return 0, err
	}
	w.pendingDue, w.conflictsDue, w.countsDue, w.conflictsSince = false, true, true, 0
	return since, w.readPending(ctx, d)
}

// prime starts the daemon's buffer for our mask and gives the number of the newest event in it.
func (w *watcher) prime(ctx context.Context, d Daemon) (int64, error) {
	events, err := w.events(ctx, d, 0, 1, 0)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	return events[len(events)-1].ID, nil
}

// stream polls, and reads the status once a minute, in turn on the one connection.
func (w *watcher) stream(ctx context.Context, d Daemon, since int64) error {
	statusAt := time.Now()
	for {
		left := statusEvery - time.Since(statusAt)
		if left <= 0 {
			if err := w.readStatusAgain(ctx, d); err != nil {
				return err
			}
			statusAt, left = time.Now(), statusEvery
		}
		scanned, next := w.unreported(summaryTime)
		if err := w.readSummaries(ctx, d, scanned); err != nil {
			return err
		}
		looked, err := w.readLookedAt(ctx, d)
		if err == nil {
			err = w.readFailedItems(ctx, d)
		}
		if err != nil {
			return err
		}
		if err := w.pace.Wait(ctx); err != nil {
			return err
		}
		before := since
		if since, err = w.poll(ctx, d, since, min(pollWait, wholeSeconds(min(left, next, looked)))); err != nil {
			return err
		}
		if since != before {
			awaitMoreEvents(ctx)
		}
	}
}

// poll asks for the events after since, works them off, and gives the number of the last one. Where somebody begins to
// look at a folder meanwhile, it ends without events.
func (w *watcher) poll(ctx context.Context, d Daemon, since int64, wait time.Duration) (int64, error) {
	polling, done := w.pollable(ctx, wait)
	events, err := w.events(polling, d, since, eventLimit, wait)
	ended := polling.Err() != nil
	done()
	if err != nil && ended && ctx.Err() == nil {
		return since, nil
	}
	if err != nil {
		return 0, err
	}
	w.seen()
	return w.handleEvents(ctx, d, since, events)
}

// events polls. Over another connection than before, the daemon tells first whether it was started again.
func (w *watcher) events(ctx context.Context, d Daemon, since int64, limit int, wait time.Duration,
) ([]fleet.DaemonEvent, error) {
	events, err := d.Events(ctx, since, limit, wait)
	for range statusTries {
		if !errors.Is(err, fleet.ErrReconnected) {
			return events, err
		}
		if err := w.readStatusAgain(ctx, d); err != nil {
			return nil, err
		}
		events, err = d.Events(ctx, since, limit, wait)
	}
	return events, err
}

// statusTries is how often the status is read for one poll. What is read after a status may cost the connection too:
// an answer that is too large ends it. No reading is tried twice in a row, so a few are enough.
const statusTries = 3

// awaitMoreEvents waits a moment after an event for the others of the same change. An answer with one event costs both
// sides as much as an answer with all of them.
func awaitMoreEvents(ctx context.Context) {
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// wholeSeconds rounds up: daemons count in seconds.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// handleEvents works off one answer of the event stream and gives the number of its last event.
func (w *watcher) handleEvents(ctx context.Context, d Daemon, since int64, events []fleet.DaemonEvent) (int64, error) {
	gap, saved, newest, arrived := false, false, stconfig.TextSum{}, time.Now()
	for _, e := range events {
		if e.ID <= since {
			return 0, &fleet.Error{Code: fleet.CodeUnbelievable, During: "follow the events",
				Message: "the numbers of the daemon's events run backwards",
				Hint:    "Check that the address leads to one daemon only."}
		}
		gap = gap || e.ID != since+1
		if e.Type == "ConfigSaved" {
			saved, newest = true, e.Config
		}
		since = e.ID
	}
	w.applyFolderEvents(events)
	w.applyPeerEvents(events, gap)
	w.applyPendingEvents(events, gap)
	if !gap && !saved {
		return since, nil
	}
	if !gap && w.isRead(ctx, newest, arrived) {
		return since, w.readSummaries(ctx, d, w.changedFolders())
	}
	cost := 1
	if gap {
		cost = gapCost
	}
	if err := w.untilReread(ctx, cost); err != nil {
		return 0, err
	}
	if _, _, err := w.readConfig(ctx, d, true); err != nil {
		return 0, err
	}
	reread := w.folders()
	if !gap {
		reread = w.changedFolders()
	}
	return since, w.readSummaries(ctx, d, reread)
}

// untilReread waits until what the daemon announced may be read. It bounds the cost of a daemon that announces without
// end, and waits until what was read before is kept. Meanwhile the known configuration is marked as outdated.
func (w *watcher) untilReread(ctx context.Context, cost int) error {
	if w.reread.Tokens() < float64(cost) || w.m.outbox.full() {
		w.update(func(s *Snapshot) Aspect {
			s.Outdated = true
			return fleet.PlanChanged
		})
	}
	if err := w.reread.WaitN(ctx, cost); err != nil {
		return err
	}
	return w.m.outbox.room(ctx)
}

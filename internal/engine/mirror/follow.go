package mirror

import (
	"context"
	"errors"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

const (
	// eventLimit is the most events that one poll returns. If more have happened, reading the whole state again is
	// cheaper.
	eventLimit = 250
	// gatherTime is the pause after an answer with events before the next poll, because one change makes several events.
	gatherTime = 500 * time.Millisecond
	// summaryTime is how long the event FolderSummary may take after a scan has ended. An idle daemon takes about 2 s.
	summaryTime = 5 * time.Second
	gapCost     = 5         // cost of reading everything again, counted in readings of a configuration
	bigDocument = 256 << 10 // bytes; larger configurations are parsed one at a time
	maxUnread   = 8 << 20   // bytes of large configurations that wait to be parsed
)

// follow makes first contact and then follows the events until an error ends it. When the daemon has restarted, follow
// makes first contact again at once.
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
	since := int64(0)
	err := apart(func() (err error) {
		since, err = w.firstContact(ctx, d)
		return err
	})
	if err == nil && !d.Keep() {
		since, err = w.visitInTurn(ctx, d, since)
	}
	if err != nil {
		return err
	}
	return w.stream(ctx, d, since)
}

// apart does work in a goroutine of its own, and waits for its end. The work may need a large stack, as a TLS handshake
// and the parsing of a configuration do. The stack of a goroutine shrinks only while less than a quarter of it is used,
// and a waiting poll uses 5 KiB. So the goroutine that polls does no such work, and its stack stays at 8 KiB.
func apart(work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	return <-done
}

var errRestarted = errors.New("the daemon has restarted")

// firstContact reads everything once. It returns the number of the newest event at its beginning, so that no later
// event is missed. It reads the status first, which proves who answers; no event reports anything that is in the
// status. It asks for events before it reads the rest, because a daemon buffers events only after the first request
// with their mask.
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

// prime makes the daemon buffer the events of our mask. It returns the number of the newest event, or 0 without one.
func (w *watcher) prime(ctx context.Context, d Daemon) (int64, error) {
	events, err := w.events(ctx, d, 0, 1, 0)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	return events[len(events)-1].ID, nil
}

// stream polls for events and reads the status once a minute. It makes all requests one after the other over one
// connection.
func (w *watcher) stream(ctx context.Context, d Daemon, since int64) error {
	statusAt := time.Now()
	for {
		left := statusEvery - time.Since(statusAt)
		if left <= 0 {
			if err := apart(func() error { return w.readStatusAndFolders(ctx, d) }); err != nil {
				return err
			}
			statusAt, left = time.Now(), statusEvery
		}
		scanned, next := w.unreported(summaryTime)
		if len(scanned) > 0 {
			if err := apart(func() error { return w.readSummaries(ctx, d, scanned) }); err != nil {
				return err
			}
		}
		viewed, err := w.readViewedFolders(ctx, d)
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
		wait := wholeSeconds(min(left, next, viewed, w.untilRestartEnds()))
		if since, err = w.poll(ctx, d, since, min(pollWait, wait)); err != nil {
			return err
		}
		if since != before {
			awaitMoreEvents(ctx)
		}
	}
}

// poll asks for the events after since, handles them, and returns the number of the last one. If somebody starts to
// view a folder of the device, it ends early and returns since.
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
	w.noteAnswer()
	if len(events) == 0 {
		return since, nil
	}
	err = apart(func() (err error) {
		since, err = w.handleEvents(ctx, d, since, events)
		return err
	})
	return since, err
}

// events asks for events. On a new connection it first reads the status, to find out whether the daemon has restarted.
func (w *watcher) events(ctx context.Context, d Daemon, since int64, limit int, wait time.Duration,
) ([]fleet.DaemonEvent, error) {
	events, err := d.Events(ctx, since, limit, wait)
	for range statusTries {
		if !errors.Is(err, fleet.ErrReconnected) {
			return events, err
		}
		if err := apart(func() error { return w.readStatusAgain(ctx, d) }); err != nil {
			return nil, err
		}
		events, err = d.Events(ctx, since, limit, wait)
	}
	return events, err
}

// statusTries is how often one poll reads the status. The readings after a status may lose the connection again,
// because an answer that is too large ends it. None of these readings is repeated within a poll, so a few tries are
// enough.
const statusTries = 3

// awaitMoreEvents waits for gatherTime after an event, so that the next poll returns all further events of the same
// change at once. An answer with one event costs both sides as much as an answer with many.
func awaitMoreEvents(ctx context.Context) {
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// wholeSeconds rounds a time up to whole seconds: a request to a daemon says in seconds how long to wait.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// handleEvents applies one answer of the event stream and returns the number of its last event.
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

// untilReread waits until the configuration that the daemon announced may be read. It limits how often that is,
// because a daemon may announce changes without end; cost is how many readings this one counts as. It also waits while
// the outbox is full. If it has to wait, it marks the known configuration as outdated.
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

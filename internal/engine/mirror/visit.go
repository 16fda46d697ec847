package mirror

import (
	"context"
	"time"
)

// visitEvery is the time between two visits. It leaves 20 s of a minute for waiting until a connection is free.
const visitEvery = 40 * time.Second

// visitInTurn visits a daemon again and again, because there are not enough connections to follow it all the time.
// Each visit opens a connection, reads the status and the new events, and closes the connection. Once the daemon can
// be followed, visitInTurn returns the number of the last event. Daemons keep their last 1,000 events: if there were
// more between two visits, the numbers have a gap, and the watcher reads everything again.
func (w *watcher) visitInTurn(ctx context.Context, d Daemon, since int64) (int64, error) {
	w.m.visited.Add(1)
	defer w.m.visited.Add(-1)
	w.setVisited(true)
	defer w.setVisited(false)
	for {
		d.CloseIdle()
		if err := w.untilNextVisit(ctx); err != nil {
			return 0, err
		}
		if d.Keep() {
			return since, nil
		}
		var err error
		if since, err = w.visitOnce(ctx, d, since); err != nil {
			return 0, err
		}
	}
}

func (w *watcher) untilNextVisit(ctx context.Context) error {
	due := time.NewTimer(visitEvery)
	defer due.Stop()
	select {
	case <-due.C:
	case <-w.wake:
	case <-ctx.Done():
		return ctx.Err()
	}
	return w.m.connects.Wait(ctx)
}

func (w *watcher) visitOnce(ctx context.Context, d Daemon, since int64) (int64, error) {
	if err := d.Visit(ctx); err != nil {
		return 0, err
	}
	if err := w.readStatusAndFolders(ctx, d); err != nil {
		return 0, err
	}
	since, err := w.poll(ctx, d, since, 0)
	if err != nil {
		return 0, err
	}
	rested, _ := w.unreported(0)
	if err := w.readSummaries(ctx, d, rested); err != nil {
		return 0, err
	}
	return since, w.readFailedItems(ctx, d)
}

func (w *watcher) setVisited(visited bool) {
	w.update(func(s *Snapshot) Aspect {
		if s.Visited == visited {
			return 0
		}
		s.Visited = visited
		return ConnectionChanged
	})
}

// Visited returns how many daemons are visited in turn because there are not enough connections to follow them.
func (m *Mirror) Visited() int { return int(m.visited.Load()) }

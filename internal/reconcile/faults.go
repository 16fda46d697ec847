package reconcile

import (
	"context"
	"time"

	"muster/internal/fleet"
)

// FoldersSeen says that folders of a device changed their state.
func (e *Engine) FoldersSeen(id fleet.DeviceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.items[id]; m != nil && m.history.stops.WatchesFolders() {
		e.push(m)
	}
}

// judgeFolders blames writes for the errors that folders have now. What it finds is durable before it is reported.
func (e *Engine) judgeFolders(ctx context.Context, j *job) {
	if known := e.o.Daemon.Known(j.m.id); known.Online {
		j.m.history.stops.JudgeFolders(known.FolderErrors, known.FolderRuns, time.Now())
		e.keepStops(context.WithoutCancel(ctx), j)
	}
}

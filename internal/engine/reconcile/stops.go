package reconcile

import (
	"context"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Stops are stored, so that they outlast this process. Otherwise a dispute with a person who sets a key back again and
// again, or with a daemon that refuses a key, would begin anew with every start of Muster.

// StopStore keeps the stops of devices.
type StopStore interface {
	Stops(ctx context.Context) (map[fleet.DeviceID][]fleet.Stop, error)
	// PutStops replaces the stops of a device.
	PutStops(ctx context.Context, id fleet.DeviceID, stops []fleet.Stop) error
}

// loadStops loads the stops that earlier processes recorded.
func (e *Engine) loadStops(ctx context.Context) error {
	all, err := e.o.Store.Stops(ctx)
	if err != nil {
		return during("read stops", err)
	}
	for id, stops := range all {
		e.queue.load(id, func(h *history) { h.stops.Load(stops) })
	}
	return nil
}

// keepStops stores the stops of the device if they differ from those in the store. If that fails, the stops hold in
// this process, and the next pass tries again.
func (p *pass) keepStops(ctx context.Context, in input) {
	stops, changed := p.history.stops.Unstored(in.templates)
	if !changed || p.stillRegistered(ctx, in) != nil {
		return
	}
	if err := p.o.Store.PutStops(ctx, p.id, stops); err != nil {
		if fleet.CodeOf(err) != fleet.CodeNotFound {
			p.log.Warn("stops not kept", logkey.Device, p.id, logkey.Err(err))
		}
		return
	}
	p.history.stops.MarkStored(stops)
}

// FoldersSeen queues a device whose folders changed their state, if Muster watches folders of the device for errors
// after a write, or if the ignore patterns of such a folder are to be read again: a daemon scans a folder when its
// patterns change.
func (e *Engine) FoldersSeen(id fleet.DeviceID) {
	e.queue.addIf(id, func(h *history) bool {
		wait, hinted := h.hintIgnores(func() func(string) time.Time { return e.o.Daemon.Known(id).FolderChanged }, time.Now())
		if hinted && wait > 0 {
			time.AfterFunc(wait, func() { e.queue.addIf(id, func(*history) bool { return true }) })
		}
		return hinted && wait <= 0 || h.stops.WatchesFolders()
	})
}

// judgeFolders finds folders that went into error after Muster wrote to them, and stores the stops about them. It runs
// before the pass reports its findings.
func (p *pass) judgeFolders(ctx context.Context, in input) {
	if known := p.o.Daemon.Known(p.id); known.Online {
		p.history.stops.JudgeFolders(known.FolderErrors, known.FolderRuns, time.Now())
		p.keepStops(context.WithoutCancel(ctx), in)
	}
}

func (k Known) folderMayBreak(folder string) bool {
	return k.FolderMayBreak != nil && k.FolderMayBreak(folder)
}

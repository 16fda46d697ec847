package reconcile

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/plan"
)

// Stops survive a restart: who fights a person over a key, or a daemon that refuses it, must not begin anew with every
// process.

// StopStore keeps the stops of devices.
type StopStore interface {
	Stops(ctx context.Context) (map[fleet.DeviceID][]fleet.Stop, error)
	// PutStops replaces the stops of a device.
	PutStops(ctx context.Context, id fleet.DeviceID, stops []fleet.Stop) error
}

// loadStops takes over what another process stopped.
func (e *Engine) loadStops(ctx context.Context) error {
	all, err := e.o.Store.Stops(ctx)
	if err != nil {
		return during("read stops", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, stops := range all {
		e.item(id).history.stops.Load(stops)
	}
	return nil
}

// keepStops has the store keep the stops of a device, when they are others than it has. Where that fails they hold in
// this process all the same, and are kept with the next look.
func (e *Engine) keepStops(ctx context.Context, j *job) {
	stops, changed := j.m.history.stops.Unkept(j.templates)
	if !changed || e.stillRegistered(ctx, j) != nil {
		return
	}
	if err := e.o.Store.PutStops(ctx, j.m.id, stops); err != nil {
		if fleet.CodeOf(err) != fleet.CodeNotFound {
			e.log.Warn("stops not kept", logkey.Device, j.m.id, logkey.Err(err))
		}
		return
	}
	j.m.history.stops.Kept(stops)
}

// released begins a pass: the result of the one before counts no more.
func (m *history) released(j *job) {
	m.mu.Lock()
	known := m.print != fingerprint{}
	is := plan.Inputs{Templates: j.templates, Observed: j.digest, Moved: known && j.print.inputs != m.print.inputs,
		TemplatesMoved: known && j.print.templates != m.print.templates}
	m.observed, m.print = "", j.print
	m.mu.Unlock()
	m.stops.Release(is)
}

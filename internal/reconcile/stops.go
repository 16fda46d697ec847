package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"muster/internal/fleet"
	"muster/internal/logkey"
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
		m := e.item(id)
		m.history.mu.Lock()
		for _, s := range stops {
			m.history.stops[s.Key], m.history.kept[s.Key] = s, s
		}
		m.history.mu.Unlock()
	}
	return nil
}

// keepStops has the store keep the stops of a device, when they are others than it has. Where that fails they hold in
// this process all the same, and are kept with the next look.
func (e *Engine) keepStops(ctx context.Context, j *job) {
	stops, changed := j.m.history.unkept(j.templates)
	if !changed || e.stillRegistered(ctx, j) != nil {
		return
	}
	if err := e.o.Store.PutStops(ctx, j.m.id, slices.SortedFunc(maps.Values(stops), compareStops)); err != nil {
		if fleet.CodeOf(err) != fleet.CodeNotFound {
			e.log.Warn("stops not kept", logkey.Device, j.m.id, logkey.Err(err))
		}
		return
	}
	j.m.history.mu.Lock()
	defer j.m.history.mu.Unlock()
	j.m.history.kept = stops
}

func compareStops(a, b fleet.Stop) int {
	if a.Key < b.Key {
		return -1
	}
	return 1
}

// unkept are the stops, with the templates that they are about, and whether the store has others.
func (m *history) unkept(templates []fleet.Template) (stops map[string]fleet.Stop, changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	digest := ""
	for key, s := range m.stops {
		if s.Templates == "" {
			if digest == "" {
				digest = templatesDigest(templates)
			}
			s.Templates = digest
			m.stops[key] = s
		}
	}
	return maps.Clone(m.stops), !maps.Equal(m.stops, m.kept)
}

// templatesDigest tells the templates of a device from others, also those of another process.
func templatesDigest(templates []fleet.Template) string {
	h := sha256.New()
	for _, t := range templates {
		fmt.Fprintf(h, "%d %d %q %q %q\n", t.ID, t.Priority, t.Op, t.Key, t.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// stop stops a key. The caller holds mu.
func (m *history) stop(s fleet.Stop) { m.stops[s.Key] = s }

// released begins a pass: the result of the one before counts no more. It forgets the stops that no
// longer hold: the daemon's answers when its document changed by another hand, what alternated when anything that
// templates read changed, all of them when the templates changed.
func (m *history) released(j *job) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.print != fingerprint{}
	inputsMoved := known && j.print.inputs != m.print.inputs
	if inputsMoved {
		clear(m.sent)
		clear(m.unmoved)
	}
	if known && j.print.templates != m.print.templates {
		clear(m.drifts)
	}
	if len(m.stops) > 0 {
		m.releaseStops(templatesDigest(j.templates), j.digest, inputsMoved)
	}
	m.observed, m.print = "", j.print
}

func (m *history) releaseStops(templates, observed string, inputsMoved bool) {
	for key, s := range m.stops {
		over := s.Templates != "" && s.Templates != templates && s.Kind.StopsKey()
		switch s.Kind {
		case fleet.StopRejected, fleet.StopUnmoved:
			over = over || s.Observed != observed
		case fleet.StopUnstable:
			over = over || inputsMoved
		}
		if over {
			delete(m.stops, key)
			delete(m.unmoved, key)
		}
	}
}

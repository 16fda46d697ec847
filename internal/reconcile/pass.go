package reconcile

import (
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/plan"
)

// Pass is the result of the last finished pass over a device, for those who judge the device by it.
type Pass struct {
	Generation int64  // of the templates and tags that the device was planned from
	Observed   string // digest of the document that it was planned from; "" before the first pass
	Failed     string // why no plan can be made of the templates, for a person; "" when there is one
	Unsent     string // the first of the changes that are still to be sent; "" when there is none
	Waiting    []WaitingChange
}

// WaitingChange is a change that is not sent by itself: it is held, refused, or its key is stopped.
type WaitingChange struct {
	Wish    string // keyed digest of what it asks for, see plan.Wish
	Key     string
	Reason  string // for a person
	Stopped bool
}

// Same tells whether two passes had the same result.
func (p Pass) Same(o Pass) bool {
	return p.Generation == o.Generation && p.Observed == o.Observed && p.Failed == o.Failed && p.Unsent == o.Unsent &&
		slices.Equal(p.Waiting, o.Waiting)
}

// LastPass is the result of the last finished pass over a device. It asks no daemon.
func (e *Engine) LastPass(id fleet.DeviceID) Pass {
	e.mu.Lock()
	m := e.items[id]
	e.mu.Unlock()
	if m == nil {
		return Pass{}
	}
	m.history.mu.Lock()
	defer m.history.mu.Unlock()
	return m.history.pass
}

// passOf is the result of the job's plan.
func (e *Engine) passOf(j *job) Pass {
	p := Pass{Generation: j.view.registry.Generation, Observed: j.digest}
	for _, c := range j.plan.Changes {
		switch {
		case c.Sendable() && p.Unsent == "":
			p.Unsent = c.Key.String()
		case c.Class != plan.Skipped && !c.Sendable() && len(p.Waiting) < maxWaiting:
			p.Waiting = append(p.Waiting, WaitingChange{Wish: c.Wish().Keyed(e.o.DigestKey), Key: c.Key.String(),
				Reason:  shortened(c.Reason),
				Stopped: c.Stopped})
		}
	}
	return p
}

// passed keeps the result of a pass, and tells those who follow when it is another one.
func (e *Engine) passed(m *item, p Pass) {
	m.history.mu.Lock()
	same := m.history.pass.Same(p)
	m.history.pass = p
	m.history.mu.Unlock()
	if !same && e.o.Passed != nil {
		e.o.Passed(m.id)
	}
}

// passedAgain keeps that the last pass holds for what the device is planned from now: neither the templates that apply
// to it nor the document changed.
func (e *Engine) passedAgain(j *job) {
	m := j.m
	m.history.mu.Lock()
	p := m.history.pass
	m.history.mu.Unlock()
	if p.Observed == "" {
		return
	}
	p.Generation = j.view.registry.Generation
	e.passed(m, p)
}

// shortened bounds a text that is kept for each device, and into which a template could put anything.
func shortened(text string) string {
	const most = 2 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

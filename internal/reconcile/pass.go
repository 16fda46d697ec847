package reconcile

import "muster/internal/fleet"

// LastPass is the result of the last finished pass over a device. It asks no daemon.
func (e *Engine) LastPass(id fleet.DeviceID) fleet.Pass {
	e.mu.Lock()
	m := e.items[id]
	e.mu.Unlock()
	if m == nil {
		return fleet.Pass{}
	}
	m.history.mu.Lock()
	defer m.history.mu.Unlock()
	return m.history.pass
}

// passOf is the result of the job's plan.
func (e *Engine) passOf(j *job) fleet.Pass {
	return j.plan.Pass(j.view.registry.Generation, j.digest, e.o.DigestKey)
}

// passed keeps the result of a pass, and tells those who follow when it is another one.
func (e *Engine) passed(m *item, p fleet.Pass) {
	m.history.mu.Lock()
	same := m.history.pass.Same(p)
	m.history.pass = p
	m.history.mu.Unlock()
	if !same && e.o.Passed != nil {
		e.o.Passed(m.id)
	}
}

// planned ends a pass that made a plan: until something changes there is nothing to do.
func (e *Engine) planned(j *job) {
	j.m.history.done(j)
	e.passed(j.m, e.passOf(j))
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

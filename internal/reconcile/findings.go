package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
)

// report hands on what a pass found out about a device.
func (e *Engine) report(id fleet.DeviceID, f plan.Findings) {
	if e.o.Found != nil {
		e.o.Found(id, f)
	}
}

// conclude reports the plan that was made last.
func (e *Engine) conclude(j *job) {
	if j.lost {
		return
	}
	j.m.history.keepWaiting(j.plan, func(c plan.Change) string { return c.ConsentDigest(j.m.id, e.o.DigestKey) })
	e.rememberHeld(j)
	e.report(j.m.id, j.findings())
	if j.change == nil {
		e.passed(j.m, e.passOf(j))
	}
}

// keepWaiting notes what of a plan is not sent by itself. A consent to what is not planned any more is over: a consent
// to one change is none to the same change of another day.
func (m *history) keepWaiting(p plan.Plan, digestOf func(plan.Change) string) {
	m.answers.End(func(given fleet.Consent) bool {
		planned := given.Key == "" || slices.ContainsFunc(p.Changes, func(c plan.Change) bool {
			return c.Key.String() == given.Key && digestOf(c) == given.Change
		})
		return !planned || given.Over(time.Now())
	})
}

// findings are what the job found out.
func (j *job) findings() plan.Findings {
	f := plan.Findings{
		Plan: j.plan, Templates: len(j.templates), Online: j.known.Online, Mode: j.mode, Restart: j.restartNeeded(),
		Stopped: j.m.history.stops.Of(j.plan), Faults: j.m.history.stops.Unmended(j.plan),
	}
	if j.failed != nil && !errors.Is(j.failed, context.Canceled) {
		f.Failure = fleet.Reason(j.failed)
	}
	f.Unsaved, f.CannotSave = j.m.history.stops.Unsaved()
	for _, d := range j.result.Doubts {
		f.Doubts = append(f.Doubts, plan.Doubt{Template: d.Template.ID, Key: d.Key, Text: d.String()})
	}
	for _, c := range j.result.Conflicts {
		f.Conflicts = append(f.Conflicts, c.String())
	}
	return f
}

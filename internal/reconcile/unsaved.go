package reconcile

import (
	"context"
	"time"

	"muster/internal/plan"
)

// While it is not known what a daemon has on its disk, see plan.Stops, a plan with nothing left to send is a write that
// changes nothing. It goes the way of every other: intent, fresh read, write, read back, outcome.

// answered notes how the daemon answered a write of its configuration, or that it could not save ignore patterns.
func (e *Engine) answered(ctx context.Context, j *job, err error) {
	if j.m.history.stops.Answered(err, time.Now()) {
		e.keepStops(context.WithoutCancel(ctx), j)
	}
}

func (j *job) isUnsaved() bool {
	answer, _ := j.m.history.stops.Unsaved()
	return answer != nil
}

// maySave tells whether the daemon is to be asked now to save what it has.
func (j *job) maySave() bool { return j.isUnsaved() && j.blocked() == "" }

// makeWrites makes the writes of the plan. A plan without changes is sent where the daemon did not save what it has:
// that is one write, which changes nothing.
func (a *attempt) makeWrites() []plan.Write {
	if len(a.planned.Sendable()) == 0 {
		return []plan.Write{plan.Save()}
	}
	return plan.Writes(a.planned, a.j.observed())
}

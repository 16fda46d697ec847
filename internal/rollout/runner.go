package rollout

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/plan"
)

// Runner settles accepted changes and drives rollouts.
type Runner struct{ o Options }

// Rollouts are all, newest first, without members.
func (r *Runner) Rollouts(ctx context.Context) ([]fleet.Rollout, error) {
	return r.o.Store.Rollouts(ctx)
}

// Rollout is one with its members.
func (r *Runner) Rollout(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.o.Store.Rollout(ctx, id)
}

// Pause stops admission until somebody resumes the rollout.
func (r *Runner) Pause(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.Rollout(ctx, id)
}

// Resume goes on with a paused rollout, or with a halted one in spite of what halted it.
func (r *Runner) Resume(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.Rollout(ctx, id)
}

// Halt stops admission for good unless it is resumed.
func (r *Runner) Halt(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.Rollout(ctx, id)
}

// Undo makes a new generation with templates and tags as they were before, for the touched devices at once.
func (r *Runner) Undo(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.Rollout(ctx, id)
}

// Answer is a person's answer to held changes of the plan that they saw.
type Answer struct {
	Digest  string   // of the plan of one member
	Consent []string // keys of its held changes that may go out
	Keep    []string // keys of its changes that return to base and must not
}

// Answered is what came of an answer.
type Answered struct {
	Rollout fleet.Rollout
	Devices []fleet.DeviceID // that had the same held changes and were given the answer; later waves follow
}

// MemberPlan is the plan of the member whose plan has this digest; conflict when there is none. It is for deciding who
// may consent to it.
func (r *Runner) MemberPlan(ctx context.Context, id int64, digest string) (plan.Plan, error) {
	return plan.Plan{}, &fleet.Error{Code: fleet.CodeConflict, Message: "no member has that plan now"}
}

// Consent gives the answer to every member that has the same held changes, now or when it is admitted.
func (r *Runner) Consent(ctx context.Context, id int64, answer Answer) (Answered, error) {
	rollout, err := r.Rollout(ctx, id)
	return Answered{Rollout: rollout}, err
}

package rollout

import (
	"context"

	"muster/internal/fleet"
)

// step is what a person asks of a rollout.
type step func(fleet.Rollout) (fleet.Rollout, command, error)

// Pause stops admission until a person resumes the rollout.
func (r *Runner) Pause(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.act(ctx, id, "paused", func(l fleet.Rollout) (fleet.Rollout, command, error) {
		return pause(l, fleet.ActorOf(ctx))
	})
}

// Resume goes on with a paused rollout, or with a halted one in spite of what halted it.
func (r *Runner) Resume(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.act(ctx, id, "resumed", func(l fleet.Rollout) (fleet.Rollout, command, error) {
		return resume(l, fleet.ActorOf(ctx))
	})
}

// Halt stops admission; what was admitted stays so.
func (r *Runner) Halt(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.act(ctx, id, "halted", func(l fleet.Rollout) (fleet.Rollout, command, error) {
		return haltBy(l, fleet.ActorOf(ctx), r.now())
	})
}

// Approve lets a rollout over many devices begin.
func (r *Runner) Approve(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.act(ctx, id, "approved", func(l fleet.Rollout) (fleet.Rollout, command, error) {
		makers, err := r.o.Store.MadeBy(ctx, l.Carries)
		if err != nil {
			return l, command{}, err
		}
		return approve(l, fleet.ActorOf(ctx), makers, r.o.FourEyes, r.now())
	})
}

// SetWaves makes the waves anew that are not admitted yet.
func (r *Runner) SetWaves(ctx context.Context, id int64, waves []string) (fleet.Rollout, error) {
	return r.act(ctx, id, "given other waves", func(l fleet.Rollout) (fleet.Rollout, command, error) {
		return setWaves(l, waves)
	})
}

func (r *Runner) act(ctx context.Context, id int64, what string, do step) (fleet.Rollout, error) {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	if err := r.reload(ctx); err != nil {
		return fleet.Rollout{}, err
	}
	l := r.live[id]
	if l == nil {
		kept, err := r.o.Store.Rollout(ctx, id)
		if err == nil {
			err = impossible(kept, what)
		}
		return fleet.Rollout{}, err
	}
	next, c, err := do(l.Rollout)
	if err == nil && c.keep {
		err = r.commit(ctx, l, next, c)
	}
	if err != nil {
		return fleet.Rollout{}, err
	}
	r.Wake()
	return l.shown(), nil
}

// Waves are the devices in each wave of the rollout that a change of so many of a fleet's devices would be, if all can
// be reached. There are none where it would be admitted at once. access tells whether it is about how daemons are
// reached.
func (r *Runner) Waves(touched, devices int, access bool) []int {
	switch {
	case touched > atOnce || r.o.ApprovalThreshold.Exceeded(touched, devices):
		return splitWaves(r.o.Waves, touched, touched)
	case access && touched > 1:
		return splitWaves(accessWaves, touched, touched)
	}
	return nil
}

// NeedsApproval tells why an accepted change from one registry to another would wait for approval, "" when it would
// not.
func (r *Runner) NeedsApproval(ctx context.Context, now, then *fleet.Registry) string {
	if r.o.ApprovalThreshold == (Threshold{}) {
		return ""
	}
	touched, compared := 0, map[int64]*comparison{}
	for id := range then.Devices {
		if now.Devices[id] == nil || r.differs(ctx, id, now, then, compared) {
			touched++
		}
	}
	if !r.o.ApprovalThreshold.Exceeded(touched, len(then.Devices)) {
		return ""
	}
	return r.o.ApprovalThreshold.reason(touched)
}

package rollout

import (
	"context"

	"muster/internal/core/desired"
	"muster/internal/fleet"
)

// step is what a person asks a rollout to do.
type step func(fleet.Rollout) (fleet.Rollout, command, error)

// Pause stops the admission of further devices until a person resumes the rollout.
func (r *Runner) Pause(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.act(ctx, id, "paused", func(l fleet.Rollout) (fleet.Rollout, command, error) {
		return pause(l, fleet.ActorOf(ctx))
	})
}

// Resume continues a paused rollout, or a halted one in spite of the reason for the halt.
func (r *Runner) Resume(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.act(ctx, id, "resumed", func(l fleet.Rollout) (fleet.Rollout, command, error) {
		return resume(l, fleet.ActorOf(ctx))
	})
}

// Halt stops the admission of further devices. Admitted devices stay admitted.
func (r *Runner) Halt(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.act(ctx, id, "halted", func(l fleet.Rollout) (fleet.Rollout, command, error) {
		return haltBy(l, fleet.ActorOf(ctx), r.now())
	})
}

// Approve lets a rollout over many devices begin.
func (r *Runner) Approve(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.act(ctx, id, "approved", func(l fleet.Rollout) (fleet.Rollout, command, error) {
		next, c, err := approve(l, fleet.ActorOf(ctx), r.now())
		if err == nil && c.write && r.policy().FourEyes {
			err = r.fourEyes(ctx, l)
		}
		return next, c, err
	})
}

// SetWaves makes the waves anew that have not begun.
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
		stored, err := r.o.Store.Rollout(ctx, id)
		if err == nil {
			err = impossible(stored, what)
		}
		return fleet.Rollout{}, err
	}
	next, c, err := do(l.Rollout)
	if err == nil && c.write {
		err = r.commit(ctx, l, next, c)
	}
	if err != nil {
		return fleet.Rollout{}, err
	}
	r.Wake()
	return l.shown(), nil
}

// Waves returns the sizes of the waves in which a change from registry now to registry then would be rolled out if all
// devices can be reached, nil for a change that would be admitted at once.
func (r *Runner) Waves(ctx context.Context, now, then *fleet.Registry) []int {
	touched := r.givenOther(ctx, now, then)
	n := len(touched)
	switch {
	case r.wantsRollout(n, then):
		return splitWaves(r.policy().Waves, n, n)
	case n > 1 && r.foreseesAccess(ctx, now, then, touched):
		return splitWaves(accessWaves, n, n)
	}
	return nil
}

// NeedsApproval tells why a change from registry now to registry then would wait for approval, "" when it would not.
func (r *Runner) NeedsApproval(ctx context.Context, now, then *fleet.Registry) string {
	if r.policy().ApprovalThreshold == (fleet.Threshold{}) {
		return ""
	}
	touched := len(r.givenOther(ctx, now, then))
	if !r.policy().ApprovalThreshold.Exceeded(touched, len(then.Devices)) {
		return ""
	}
	return r.policy().approvalReason(touched)
}

// givenOther returns the devices whose configuration the templates make different in registry then than in registry
// now.
func (r *Runner) givenOther(ctx context.Context, now, then *fleet.Registry) (touched []fleet.DeviceID) {
	compared := map[int64]*desired.Comparison{}
	for id := range then.Devices {
		if now.Devices[id] == nil || r.differs(ctx, id, now, then, compared) {
			touched = append(touched, id)
		}
	}
	return touched
}

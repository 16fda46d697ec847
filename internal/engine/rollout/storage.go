package rollout

import (
	"context"
	"fmt"
	"slices"
	"time"

	"muster/internal/fleet"
)

// The Runner has in memory what the store has: a step is written first, and then adopted. After a write that failed
// it is not known whether the store has it, so everything is read again.

// load reads the Runner's state from the store. The caller holds deciding.
func (r *Runner) load(ctx context.Context) error {
	open, err := r.o.Store.OpenRollouts(ctx)
	if err != nil {
		return err
	}
	admission, err := r.o.Store.Admission(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.catalog = newCatalog(admission.Settled())
	r.live = map[int64]*live{}
	for _, rollout := range open {
		r.live[rollout.ID] = newLive(rollout, r.now())
		for _, m := range rollout.Members {
			r.DevicePut(m.Device)
		}
	}
	r.mu.Unlock()
	r.uncertain = false
	r.follow()
	return nil
}

// reload calls load when an earlier write failed, because the store may have that write all the same. It is called
// before every decision. The caller holds deciding.
func (r *Runner) reload(ctx context.Context) error {
	if !r.uncertain {
		return nil
	}
	ids := r.liveIDs()
	if err := r.load(ctx); err != nil {
		return fmt.Errorf("read rollouts after a write that failed: %w", err)
	}
	for id := range r.live {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		rollout, err := r.o.Store.Rollout(ctx, id)
		if err != nil {
			r.uncertain = true
			return err
		}
		r.changed(rollout)
	}
	return nil
}

// put writes a decision.
func (r *Runner) put(ctx context.Context, w fleet.RolloutWrite) (created []int64, err error) {
	created, err = r.o.Store.PutRollouts(ctx, w)
	r.uncertain = err != nil
	return created, err
}

// commit writes what a step changed, adopts it and tells others. The caller holds deciding.
func (r *Runner) commit(ctx context.Context, l *live, next fleet.Rollout, c command) error {
	kept := next
	if !c.members {
		kept.Members = nil
	}
	write := fleet.RolloutWrite{Rollouts: []fleet.Rollout{kept}, Wake: slices.Clone(c.admit)}
	for _, id := range c.admit {
		write.Release = append(write.Release, fleet.Hold{Device: id, Rollout: next.ID})
	}
	for _, m := range c.hold {
		write.Hold = append(write.Hold, fleet.Hold{Device: m.Device, Generation: m.From, Rollout: next.ID})
		write.Wake = append(write.Wake, m.Device)
	}
	r.stepHook(c.before...)
	if _, err := r.put(ctx, write); err != nil {
		return err
	}
	r.mu.Lock()
	l.replace(next, c, r.now())
	if next.Status.Over() {
		delete(r.live, next.ID)
	}
	r.mu.Unlock()
	r.follow()
	r.stepHook(c.after...)
	r.changed(next)
	return nil
}

// putDecision writes what a settlement or an undo decided, and follows the new rollouts. The caller holds deciding.
func (r *Runner) putDecision(ctx context.Context, write fleet.RolloutWrite, now time.Time) error {
	begins := slices.ContainsFunc(write.Rollouts, func(rollout fleet.Rollout) bool { return rollout.ID == 0 })
	if begins {
		r.stepHook(StepBeforeSettle)
	}
	created, err := r.put(ctx, write)
	if err != nil {
		return err
	}
	r.adopt(write.Rollouts, created, now)
	if begins {
		r.stepHook(StepAfterSettle)
	}
	return nil
}

// adopt puts the rollouts of a write that succeeded into memory. The caller holds deciding.
func (r *Runner) adopt(written []fleet.Rollout, created []int64, now time.Time) {
	r.mu.Lock()
	for i := range written {
		w := &written[i]
		if w.ID != 0 {
			delete(r.live, w.ID)
			continue
		}
		w.ID, created = created[0], created[1:]
		w.CreatedAt = now
		r.live[w.ID] = newLive(*w, now)
	}
	r.mu.Unlock()
	if len(written) > 0 {
		r.follow()
	}
	for _, w := range written {
		r.changed(w)
	}
}

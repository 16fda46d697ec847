package rollout

import (
	"context"
	"slices"
	"time"

	"muster/internal/fleet"
)

// An undo consents to the removal of the folders and devices that its rollout brought: whoever undoes wants them gone. It
// may be open for weeks, because a device is away; so it consents once for each device, never to what waited when it was
// given, and never where another change concerns the device since.

// noteWaiting notes for the members that a rollout reached what waits for a person there now.
func (r *Runner) noteWaiting(rollout *fleet.Rollout, skip func(fleet.DeviceID) bool) (noted bool) {
	rollout.Members = slices.Clone(rollout.Members)
	for i, m := range rollout.Members {
		if !rollout.Admitted(m) || skip(m.Device) {
			continue
		}
		for _, c := range r.o.Fleet.Waiting(m.Device) {
			if wish := r.sameWish(c); !slices.Contains(m.Held, wish) {
				m.Held, noted = append(slices.Clone(m.Held), wish), true
			}
		}
		rollout.Members[i] = m
	}
	return noted
}

// noteAllWaiting does so for a rollout that is about to be undone, and keeps it for those that it took over. Where it
// holds its members still, all that began to wait there since its start is its own: another change of one of them would
// have superseded it.
func (r *Runner) noteAllWaiting(ctx context.Context, l *live, next *fleet.Rollout) (noted bool, err error) {
	chain, err := r.tookOver(ctx, l)
	if err != nil {
		return false, err
	}
	own := func(id fleet.DeviceID) bool { return l.Status.Holds() && l.member[id] }
	var write fleet.RolloutWrite
	for _, old := range chain {
		if r.noteWaiting(&old, own) {
			write.Rollouts = append(write.Rollouts, old)
		}
	}
	if len(write.Rollouts) > 0 {
		if _, err := r.o.Store.PutRollouts(ctx, write); err != nil {
			return false, err
		}
	}
	return r.noteWaiting(next, own), nil
}

// beginUndo finds out, once, what has to be known for taking devices back. The caller holds acting.
func (r *Runner) beginUndo(ctx context.Context, l *live) error {
	if l.watch != nil {
		return nil
	}
	undone, err := r.o.Store.RegistryAt(ctx, l.UndoneBy)
	if err != nil {
		return err
	}
	watch, err := r.reached(ctx, l)
	if err != nil {
		return err
	}
	r.publish(func() { l.watch, l.undone, l.back = watch, undone, map[fleet.DeviceID]bool{} })
	return nil
}

// reached are the devices that a rollout to be undone reached, and those that the ones which it took over had reached.
func (r *Runner) reached(ctx context.Context, l *live) (map[fleet.DeviceID]fleet.RolloutMember, error) {
	chain, err := r.tookOver(ctx, l)
	if err != nil {
		return nil, err
	}
	slices.Reverse(chain) // the oldest first: what was so before it was so before all of them
	watch := map[fleet.DeviceID]fleet.RolloutMember{}
	for _, rollout := range append(chain, l.Rollout) {
		for _, m := range rollout.Members {
			if _, known := watch[m.Device]; !known && rollout.Admitted(m) {
				watch[m.Device] = m
			}
		}
	}
	return watch, nil
}

// tookOver are the superseded rollouts whose changes this one carries.
func (r *Runner) tookOver(ctx context.Context, l *live) ([]fleet.Rollout, error) {
	all, err := r.o.Store.Rollouts(ctx)
	if err != nil {
		return nil, err
	}
	var chain []fleet.Rollout
	for _, old := range all {
		foreign := slices.ContainsFunc(old.Carries, func(g int64) bool { return !slices.Contains(l.Carries, g) })
		if old.Status != fleet.RolloutSuperseded || foreign {
			continue
		}
		if old, err = r.o.Store.Rollout(ctx, old.ID); err != nil {
			return nil, err
		}
		chain = append(chain, old)
	}
	return chain, nil
}

// returning is how those stand who are to come back. Who was back once is: what comes later is not the undo's.
func (r *Runner) returning(ctx context.Context, l *live, pool *pool, now time.Time) map[fleet.DeviceID]fact {
	facts := make(map[fleet.DeviceID]fact, len(l.watch))
	for id, m := range l.watch {
		if l.back[id] {
			facts[id] = fact{kind: factGood}
			continue
		}
		if f := r.see(l, m, l.UndoneBy, pool, now); f.kind != factGone {
			facts[id] = f
			l.back[id] = f.kind == factGood
		}
	}
	return facts
}

// untouchedSince tells whether a device gets from a later generation, at which it is now, what it got from a past one.
func (r *Runner) untouchedSince(ctx context.Context, id fleet.DeviceID, past *fleet.Registry, generation int64) bool {
	if generation == past.Generation {
		return true
	}
	r.mu.RLock()
	now := r.settled
	if h, held := r.holds[id]; held {
		now = r.pasts[h.Generation]
	}
	r.mu.RUnlock()
	if now.Generation != generation || now.Devices[id] == nil {
		return false // not known now
	}
	if !slices.Equal(versionsIn(overlayOf(past, now, id), id), versionsIn(now, id)) {
		return false
	}
	var apply []fleet.Template
	around := false
	for _, t := range now.TemplatesOf(id) {
		apply = append(apply, t.Template)
		around = around || t.Reads.OrAll().ReadsTagsOfDevices()
	}
	return !around || !r.compare(fleet.Join(past, now), now).differs(ctx, id, apply)
}

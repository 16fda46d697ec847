package rollout

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"muster/internal/core/desired"
	"muster/internal/fleet"
)

const undoTries = 3 // tries of an undo while other changes are accepted

// Undo takes the changes of a rollout back in a new generation, like any other change. The rollout that brings the
// devices back has one wave and begins at once. In the same transaction Undo consents to those changes in
// approval.Shown whose devices that rollout brings back, and returns them as answered. When templates or tags were
// changed since approval.Generation, Undo returns precondition. With any error but one of the commit itself, nothing is
// undone: Undo reads nothing after the commit.
func (r *Runner) Undo(ctx context.Context, id int64, approval fleet.UndoApproval) (undone fleet.Rollout,
	answered []fleet.ShownChange, err error) {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	for range undoTries {
		undone, answered, err = r.undo(ctx, id, approval)
		if fleet.CodeOf(err) != fleet.CodePrecondition || approval.Generation != nil {
			break
		}
	}
	if err != nil {
		return fleet.Rollout{}, nil, err
	}
	r.Wake()
	return undone, answered, nil
}

// UndoEdit returns the edit of an undo, to foresee what it would do. It is incomplete: Undo adds the writes of the
// rollouts. UndoEdit returns the error of Undo where the rollout cannot be undone.
func (r *Runner) UndoEdit(ctx context.Context, id int64) (fleet.Edit, error) {
	rollout, err := r.o.Store.Rollout(ctx, id)
	if err == nil {
		err = mayUndo(rollout)
	}
	return fleet.Edit{Undo: &fleet.Undo{Rollout: rollout}}, err
}

// undo is one try of Undo. It returns precondition when another change was accepted meanwhile.
func (r *Runner) undo(ctx context.Context, id int64, approval fleet.UndoApproval) (ended fleet.Rollout,
	answered []fleet.ShownChange, err error) {
	if err := r.settle(ctx); err != nil {
		return ended, nil, err
	}
	edit, err := r.UndoEdit(ctx, id)
	if err != nil {
		return ended, nil, err
	}
	u, err := r.undoingOf(ctx, edit, approval)
	if err != nil {
		return ended, nil, err
	}
	now := r.now()
	u.consent(ctx, approval, now)
	ended = undone(u.rollout, fleet.ActorOf(ctx), u.registry.Generation, now)
	write := r.undoWrite(u, ended, now)
	r.stepHook(StepBeforeUndo)
	edit.Undo.Write = write
	done, err := r.o.Changes.Apply(ctx, edit, fleet.Basis{Generation: approval.Generation})
	if err != nil {
		r.uncertain = true
		return ended, nil, err
	}
	r.catalog = newCatalog(u.registry)
	r.adopt(write.Rollouts, done.Rollouts, now)
	r.stepHook(StepAfterUndo)
	return overRollout(ended), u.consented.Shown, nil
}

// undoingOf tries an undo without making it, and finds the devices that it touches.
func (r *Runner) undoingOf(ctx context.Context, edit fleet.Edit, approval fleet.UndoApproval) (*undoing, error) {
	tried, err := r.o.Changes.Apply(ctx, edit, fleet.Basis{Generation: approval.Generation, Trial: true})
	if err != nil {
		return nil, err
	}
	admission, err := r.o.Store.Admission(ctx)
	if err != nil {
		return nil, err
	}
	rollout := edit.Undo.Rollout
	change := fleet.GenerationChange{Number: tried.Then.Generation,
		Cause: cmp.Or(fleet.MessageOf(ctx), fleet.TitleOfUndo(rollout))}
	u := &undoing{settlement: newSettlement(tried.Then, admission, []fleet.GenerationChange{change}), rollout: rollout}
	r.findReached(ctx, u)
	return u, nil
}

// undoing is the settlement of the generation that takes a rollout back.
type undoing struct {
	*settlement
	rollout   fleet.Rollout
	back      map[fleet.DeviceID]int64 // devices that are brought back, with the generation to which they are admitted
	consented fleet.GroupConsent       // consent to the shown changes of devices that are brought back
}

// consent consents to the shown changes of the devices that are brought back.
func (u *undoing) consent(ctx context.Context, approval fleet.UndoApproval, now time.Time) {
	u.consented = fleet.GroupConsent{Answer: fleet.AnswerConsent, Removals: true, By: fleet.ActorOf(ctx), At: now,
		Keys: approval.Keys}
	for _, change := range approval.Shown {
		if _, back := u.back[change.Device]; back {
			u.consented.Shown = append(u.consented.Shown, change)
		}
	}
}

// findReached finds the devices that the undo touches. Devices that no other rollout holds are brought back at once.
// Devices that another rollout holds wait for the new rollout that takes over from it.
func (r *Runner) findReached(ctx context.Context, u *undoing) {
	compared := map[int64]*desired.Comparison{}
	u.back = map[fleet.DeviceID]int64{}
	settled := u.admission.Settled()
	for id := range u.registry.Devices {
		if r.differs(ctx, id, settled, u.registry, compared) {
			u.touched[id] = true
		}
	}
	r.supersedes(u.settlement, u.rollout.ID)
	for id := range u.registry.Devices {
		hold, held := u.admission.Hold(id)
		taken := slices.ContainsFunc(u.over, func(l *live) bool { return l.ID == hold.Rollout })
		if held && hold.Rollout != u.rollout.ID && !taken {
			continue // another rollout holds the device, and the undo does not touch it
		}
		differs := r.differs(ctx, id, u.admission.At(id), u.registry, compared)
		switch {
		case taken && differs:
			u.members[id], u.held[id] = hold.Generation, hold.Rollout
		case differs:
			u.back[id] = u.admission.At(id).Generation
		}
		if held && !(taken && differs) {
			u.release = append(u.release, hold)
		}
	}
}

// undoWrite returns the writes of rollouts that belong to an undo. ended is the rollout that is taken back.
func (r *Runner) undoWrite(u *undoing, ended fleet.Rollout, now time.Time) fleet.RolloutWrite {
	ended.Members = nil // They stay as they are stored.
	write := r.writeOf(u.settlement, len(u.members) > 0, now)
	if len(u.back) > 0 {
		back := r.backRollout(u, u.changes[0].Cause, now)
		write.Rollouts = slices.Insert(write.Rollouts, len(u.over), back)
	}
	if len(u.consented.Shown) > 0 {
		write.Consents = []fleet.GroupConsent{u.consented}
	}
	write.Rollouts = slices.Insert(write.Rollouts, 0, ended)
	woken := u.woken()
	for id := range u.back {
		woken[id] = true
	}
	write.Wake, write.Touched = slices.Collect(maps.Keys(woken)), slices.Collect(maps.Keys(woken))
	return write
}

// backRollout makes the rollout that brings devices back: one wave, of which all devices are admitted.
func (r *Runner) backRollout(u *undoing, cause string, now time.Time) fleet.Rollout {
	made := fleet.Rollout{
		Generation: u.registry.Generation, Carries: []int64{u.registry.Generation}, Cause: cause, Undoes: u.rollout.ID,
		Status: fleet.RolloutRunning, WavePlan: []string{rest}, Waves: []int{len(u.back)}, Wave: 1, StartedAt: now,
		WaveAt: now,
		Before: slices.Min(slices.Collect(maps.Values(u.back))),
		Reason: fmt.Sprintf("%s on the way back", devicesAre(len(u.back))),
		Next:   "It ends when every device that can be reached is back.",
	}
	for _, id := range slices.Sorted(maps.Keys(u.back)) {
		s := r.o.Fleet.Standing(id)
		made.Members = append(made.Members, fleet.RolloutMember{Device: id, Wave: 1, Was: s.Configuration,
			Errors: s.NotFine, Held: u.waited(id, s), From: u.back[id],
			Registered: u.registry.Devices[id].CreatedAt})
	}
	return made
}

// waited returns the changes that waited for a person on a device before the undo, by its last pass and by the start of
// the rollout.
func (u *undoing) waited(id fleet.DeviceID, s fleet.Standing) []string {
	held := heldOf(s)
	i := slices.IndexFunc(u.rollout.Members, func(m fleet.RolloutMember) bool { return m.Device == id })
	if i >= 0 {
		held = append(held, u.rollout.Members[i].Held...)
	}
	return held
}

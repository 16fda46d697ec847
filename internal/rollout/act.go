package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
)

// Rollouts are all, newest first, without members.
func (r *Runner) Rollouts(ctx context.Context) ([]fleet.Rollout, error) {
	kept, err := r.o.Store.Rollouts(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for i := range kept {
		if l := r.live[kept[i].ID]; l != nil {
			kept[i] = l.shown()
			kept[i].Members = nil
		}
	}
	return kept, nil
}

// Rollout is one with its members as they are seen now.
func (r *Runner) Rollout(ctx context.Context, id int64) (fleet.Rollout, error) {
	r.mu.RLock()
	l := r.live[id]
	if l != nil {
		defer r.mu.RUnlock()
		return l.shown(), nil
	}
	r.mu.RUnlock()
	kept, err := r.o.Store.Rollout(ctx, id)
	for i, m := range kept.Members {
		kept.Members[i].State = fleet.MemberGood
		switch {
		case m.Waived:
			kept.Members[i].State = fleet.MemberFailed
		case m.Wave == 0:
			kept.Members[i].State = fleet.MemberAbsent
		case !kept.Admitted(m):
			kept.Members[i].State = fleet.MemberLater
		case kept.Status == fleet.RolloutSuperseded:
			kept.Members[i].State = fleet.MemberAdmitted
		}
	}
	return kept, err
}

// shown is a copy for readers, with what is seen of the members. The caller holds Runner.mu.
func (l *live) shown() fleet.Rollout {
	shown := l.Rollout
	shown.Members = slices.Clone(shown.Members)
	l.mu.Lock()
	defer l.mu.Unlock()
	good, in, waiting, paused := 0, 0, "", 0
	for i := range shown.Members {
		m := &shown.Members[i]
		m.State, m.Reason = l.memberState(*m)
		if away := l.check(m.Device).away; away.unwatched && away.kind == factHeld {
			paused++
		}
		if m.Wave > 0 && m.Wave == shown.Wave {
			in++
			if m.State == fleet.MemberGood {
				good++
			}
		}
		if m.State == fleet.MemberHeld && waiting == "" {
			waiting = fmt.Sprintf("%s: %s", m.Device, m.Reason)
		}
	}
	if shown.Status == fleet.RolloutUndoing && l.watch != nil {
		back := 0
		for _, id := range slices.Sorted(maps.Keys(l.watch)) {
			switch f := l.check(id).stands(); {
			case f.kind == factGood:
				back++
			case f.kind == factHeld && waiting == "":
				waiting = fmt.Sprintf("%s: %s", id, f.saw)
			}
		}
		shown.Next = fmt.Sprintf("%d of %s that it reached are back.", back, devices(len(l.watch)))
		if waiting != "" {
			shown.Next += " It waits for a person: " + waiting
		}
	}
	if shown.Status == fleet.RolloutWaiting && paused > 0 {
		shown.Reason += fmt.Sprintf("; the mode of %s is paused", devices(paused))
	}
	if shown.Status == fleet.RolloutRunning {
		shown.Reason = fmt.Sprintf("wave %d of %d: %d of %s passed the gates", shown.Wave, len(shown.Waves), good, devices(in))
		if !l.steady.IsZero() {
			shown.Reason += ", soaking"
		}
		if waiting != "" {
			shown.Next = "It waits for a person: " + waiting
		}
	}
	return shown
}

func (l *live) memberState(m fleet.RolloutMember) (fleet.MemberState, string) {
	switch {
	case m.Waived:
		return fleet.MemberFailed, "resumed in spite of it"
	case m.Wave == 0:
		return fleet.MemberAbsent, "it could not be reached or written to when its turn came"
	case m.Wave > l.Wave:
		return fleet.MemberLater, ""
	case l.Halt != nil && l.Halt.Device == m.Device:
		return fleet.MemberFailed, l.Halt.Saw
	}
	f := l.check(m.Device).stands()
	switch f.kind {
	case factGood:
		return fleet.MemberGood, f.saw
	case factHeld:
		return fleet.MemberHeld, f.saw
	case factFailed:
		return fleet.MemberFailed, f.saw
	}
	return fleet.MemberAdmitted, f.saw
}

// Pause stops admission until somebody resumes the rollout.
func (r *Runner) Pause(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.act(ctx, id, func(s state) (state, command, error) { return s.pause(fleet.ActorOf(ctx)) })
}

// Resume goes on with a paused rollout, or with a halted one in spite of what halted it.
func (r *Runner) Resume(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.act(ctx, id, func(s state) (state, command, error) { return s.resume(fleet.ActorOf(ctx), time.Now()) })
}

// Halt stops admission; what was admitted stays so.
func (r *Runner) Halt(ctx context.Context, id int64) (fleet.Rollout, error) {
	return r.act(ctx, id, func(s state) (state, command, error) { return s.haltBy(fleet.ActorOf(ctx), time.Now()) })
}

func (r *Runner) act(ctx context.Context, id int64, do func(state) (state, command, error)) (fleet.Rollout, error) {
	r.acting.Lock()
	defer r.acting.Unlock()
	l, err := r.open(ctx, id)
	if err != nil {
		return fleet.Rollout{}, err
	}
	next, c, err := do(l.state)
	if err != nil {
		return fleet.Rollout{}, err
	}
	if c.persist {
		if err := r.commitNow(ctx, l, next, c); err != nil {
			return fleet.Rollout{}, err
		}
	}
	r.Wake()
	r.mu.RLock()
	defer r.mu.RUnlock()
	return l.shown(), nil
}

// open is a rollout that is not over. The caller holds acting.
func (r *Runner) open(ctx context.Context, id int64) (*live, error) {
	if l := r.live[id]; l != nil {
		return l, nil
	}
	kept, err := r.o.Store.Rollout(ctx, id)
	if err != nil {
		return nil, err
	}
	return nil, state{Rollout: kept}.impossible("changed any more")
}

func (r *Runner) commitNow(ctx context.Context, l *live, next state, c command) error {
	r.stepHook(c.steps...)
	kept := next.Rollout
	if !c.members {
		kept.Members = nil
	}
	if _, err := r.o.Store.PutRollouts(ctx, fleet.RolloutWrite{Rollouts: []fleet.Rollout{kept}}); err != nil {
		return err
	}
	r.publish(func() { l.state = next })
	r.stepHook(c.stepsEnd...)
	r.changed(next.Rollout)
	return nil
}

// Undo makes a new generation with templates and tags as they were before, and admits the devices that the rollout
// reached at once. One that succeeded can be undone while nothing that it changed was changed again.
func (r *Runner) Undo(ctx context.Context, id int64) (fleet.Rollout, error) {
	r.acting.Lock()
	defer r.acting.Unlock()
	l := r.live[id]
	if l == nil {
		kept, err := r.o.Store.Rollout(ctx, id)
		if err != nil {
			return fleet.Rollout{}, err
		}
		l = newLive(kept, time.Now())
	}
	next, err := l.undo(fleet.ActorOf(ctx), time.Now())
	if err != nil {
		return fleet.Rollout{}, err
	}
	noted, err := r.noteAllWaiting(ctx, l, &next.Rollout)
	if err != nil {
		return fleet.Rollout{}, err
	}
	kept := next.Rollout
	if !noted {
		kept.Members = nil
	}
	r.stepHook(StepBeforeUndo)
	generation, err := r.o.Store.UndoRollout(ctx, kept)
	if err != nil {
		return fleet.Rollout{}, err
	}
	r.stepHook(StepAfterUndo)
	next.UndoneBy, next.EndedAt = generation, time.Time{}
	r.publish(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.state, l.watch, l.checks = next, nil, map[fleet.DeviceID]*check{}
		r.live[id] = l
	})
	r.changed(next.Rollout)
	r.Wake()
	r.mu.RLock()
	defer r.mu.RUnlock()
	return l.shown(), nil
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
	Devices []fleet.DeviceID // that have the same held changes now, sorted; those of later waves follow
}

// MemberPlan is the plan of the admitted member whose plan has this digest; conflict when there is none any more. It is
// for deciding who may consent to it.
func (r *Runner) MemberPlan(ctx context.Context, id int64, digest string) (plan.Plan, error) {
	r.mu.RLock()
	l := r.live[id]
	r.mu.RUnlock()
	if l == nil {
		kept, err := r.o.Store.Rollout(ctx, id)
		if err != nil {
			return plan.Plan{}, err
		}
		return plan.Plan{}, state{Rollout: kept}.impossible("consented to any more")
	}
	for _, device := range l.holding(func(h heldPlan) bool { return h.digest == digest }) {
		made, err := r.o.Fleet.Plan(ctx, device)
		if err != nil {
			return plan.Plan{}, err
		}
		if made.Digest == digest {
			return made, nil
		}
	}
	return plan.Plan{}, &fleet.Error{Code: fleet.CodeConflict, Message: "no device of this rollout has that plan now",
		Hint: "Look at the plan of one of the devices that wait, then answer for that one."}
}

// holding are the devices whose held changes are wanted, sorted.
func (l *live) holding(wanted func(heldPlan) bool) []fleet.DeviceID {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []fleet.DeviceID
	for id, c := range l.checks {
		if len(c.held.same) > 0 && wanted(c.held) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found
}

// Consent gives the answer to every member that has the same held changes, now or when it is admitted.
func (r *Runner) Consent(ctx context.Context, id int64, answer Answer) (Answered, error) {
	seen, err := r.MemberPlan(ctx, id, answer.Digest)
	if err != nil {
		return Answered{}, err
	}
	given, err := r.consents(ctx, seen, answer)
	if err != nil {
		return Answered{}, err
	}
	r.acting.Lock()
	defer r.acting.Unlock()
	l, err := r.open(ctx, id)
	if err != nil {
		return Answered{}, err
	}
	next := l.state
	next.Consents = append(slices.Clone(next.Consents), given...)
	if err := r.commitNow(ctx, l, next, command{}); err != nil {
		return Answered{}, err
	}
	var same []fleet.DeviceID
	for _, device := range l.holding(func(h heldPlan) bool {
		return slices.ContainsFunc(given, func(c fleet.RolloutConsent) bool { return h.same[c.Key] == c.Digest })
	}) {
		same = append(same, device)
		l.answered(device)
	}
	r.Wake()
	r.mu.RLock()
	defer r.mu.RUnlock()
	return Answered{Rollout: l.shown(), Devices: same}, nil
}

// consents checks that what a person answers is in the plan that they saw.
func (r *Runner) consents(ctx context.Context, seen plan.Plan, answer Answer) ([]fleet.RolloutConsent, error) {
	var given []fleet.RolloutConsent
	for _, list := range []struct {
		field string
		keys  []string
		keep  bool
	}{{"consent", answer.Consent, false}, {"keep", answer.Keep, true}} {
		for _, key := range list.keys {
			i := slices.IndexFunc(seen.Changes, func(c plan.Change) bool { return c.Class == plan.Held && c.Key.String() == key })
			if i < 0 || list.keep && !seen.Changes[i].Returns {
				return nil, fleet.Invalidf(list.field, "nothing at %q waits for that answer", key)
			}
			given = append(given, fleet.RolloutConsent{Key: key, Digest: r.sameChange(seen.Changes[i]), Keep: list.keep, By: fleet.ActorOf(ctx)})
		}
	}
	if len(given) == 0 {
		return nil, fleet.Invalidf("consent", "name the keys of the held changes that may go out, or that are to be kept as they are")
	}
	return given, nil
}

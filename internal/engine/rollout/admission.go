package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"muster/internal/core/desired"
	"muster/internal/fleet"
)

const atOnce = 10 // devices that are admitted to a change at once

// settlement is what the Runner decides about the generations since the last settlement: who is admitted at once, and
// what becomes a rollout.
type settlement struct {
	registry  *fleet.Registry // the present registry
	admission *fleet.Admission
	changes   []fleet.GenerationChange

	touched map[fleet.DeviceID]bool           // devices that any of the changes touches
	big     map[fleet.DeviceID]bool           // devices touched by changes that want a rollout
	few     map[int64]map[fleet.DeviceID]bool // devices touched by other changes, by generation
	ofBig   []fleet.GenerationChange          // changes that want a rollout
	access  bool                              // A change in ofBig is about how daemons are reached.

	over    []*live                  // rollouts that the changes supersede
	members map[fleet.DeviceID]int64 // members of the new rollout, with the generation to which they are admitted
	held    map[fleet.DeviceID]int64 // members that a superseded rollout holds, with its ID
	release []fleet.Hold             // holds of superseded rollouts, for devices that have nothing to wait for
}

func newSettlement(registry *fleet.Registry, admission *fleet.Admission,
	changes []fleet.GenerationChange) *settlement {
	return &settlement{
		registry: registry, admission: admission, changes: changes,
		touched: map[fleet.DeviceID]bool{}, big: map[fleet.DeviceID]bool{}, few: map[int64]map[fleet.DeviceID]bool{},
		members: map[fleet.DeviceID]int64{}, held: map[fleet.DeviceID]int64{},
	}
}

// settle decides about all generations that were committed since the last settlement. The caller holds deciding.
func (r *Runner) settle(ctx context.Context) error {
	if err := r.reload(ctx); err != nil {
		return err
	}
	registry, err := r.o.Store.Registry(ctx)
	if err != nil {
		return err
	}
	admission, err := r.o.Store.Admission(ctx)
	if err != nil || registry.Generation <= admission.Settled().Generation {
		return err
	}
	changes, err := r.o.Store.GenerationChanges(ctx, admission.Settled().Generation)
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(c fleet.GenerationChange) bool { return c.Number > registry.Generation })
	s := newSettlement(registry, admission, changes)
	r.sortChanges(ctx, s)
	r.takeOver(ctx, s)
	return r.conclude(ctx, s)
}

// sortChanges separates changes for few devices from those that want a rollout.
func (r *Runner) sortChanges(ctx context.Context, s *settlement) {
	r.catalog.registered(s.registry)
	var retags []fleet.GenerationChange // changes of tags or vars
	for _, c := range s.changes {
		before := r.catalog.apply(c)
		maps.DeleteFunc(before, func(id fleet.DeviceID, _ []fleet.Template) bool { return s.registry.Devices[id] == nil })
		touched := map[fleet.DeviceID]bool{}
		for id := range before {
			touched[id] = true
		}
		if len(c.DeviceTags)+len(c.Vars) > 0 {
			retags = append(retags, c)
		}
		access := r.changesAccess(ctx, s.registry, before)
		maps.Copy(s.touched, touched)
		if access || r.wantsRollout(len(touched), s.registry) {
			maps.Copy(s.big, touched)
			s.ofBig, s.access = append(s.ofBig, c), s.access || access
		} else {
			s.few[c.Number] = touched
		}
	}
	if len(retags) == 0 {
		return
	}
	touched := r.touchedThroughFleet(ctx, s)
	maps.Copy(s.touched, touched)
	if access := r.readersChangeAccess(ctx, s.registry, touched); access || r.wantsRollout(len(touched), s.registry) {
		maps.Copy(s.big, touched)
		s.ofBig, s.access = append(s.ofBig, retags...), s.access || access
	} else if len(touched) > 0 {
		last := retags[len(retags)-1].Number
		few := maps.Clone(touched)
		maps.Copy(few, s.few[last])
		s.few[last] = few
	}
}

func (r *Runner) wantsRollout(n int, registry *fleet.Registry) bool {
	return n > atOnce || r.policy().ApprovalThreshold.Exceeded(n, len(registry.Devices))
}

// touchedThroughFleet returns the devices on which a program that reads tags or vars now gives another value.
// Devices that the changes touch directly are not among them.
func (r *Runner) touchedThroughFleet(ctx context.Context, s *settlement) map[fleet.DeviceID]bool {
	reading := map[fleet.DeviceID]bool{}
	for tag, templates := range r.catalog.carrying {
		for id := range templates {
			if desired.ReadsFleet(r.catalog.templates[id]) {
				maps.Copy(reading, r.catalog.devices[tag])
			}
		}
	}
	touched := map[fleet.DeviceID]bool{}
	if len(reading) == 0 {
		return touched
	}
	compared := r.compare(ctx, fleet.Join(s.admission.Settled(), s.registry), s.registry)
	for id := range reading {
		if s.registry.Devices[id] != nil && !s.touched[id] && compared.Differs(id, r.catalog.of(id)) {
			touched[id] = true
		}
	}
	return touched
}

// supersedes adds to s.over each rollout with a member that the changes touch. It leaves out the rollout whose ID is
// but.
func (r *Runner) supersedes(s *settlement, but int64) {
	for _, id := range r.liveIDs() {
		l := r.live[id]
		if l.ID != but && slices.ContainsFunc(l.Members, func(m fleet.RolloutMember) bool { return s.touched[m.Device] }) {
			s.over = append(s.over, l)
		}
	}
}

// takeOver finds the rollouts that the changes supersede, and the members of the new rollout: the devices touched by
// changes that want a rollout, and the devices that still wait for something in a superseded rollout.
func (r *Runner) takeOver(ctx context.Context, s *settlement) {
	r.supersedes(s, 0)
	compared := map[int64]*desired.Comparison{}
	for id, h := range s.admission.Holds() {
		if !slices.ContainsFunc(s.over, func(l *live) bool { return l.ID == h.Rollout }) {
			continue
		}
		if s.registry.Devices[id] != nil && r.differs(ctx, id, s.admission.At(id), s.registry, compared) {
			s.members[id], s.held[id] = h.Generation, h.Rollout
		} else {
			s.release = append(s.release, h)
		}
	}
	for id := range s.big {
		if _, held := s.admission.Hold(id); !held {
			s.members[id] = s.admission.Settled().Generation
		}
	}
}

// differs reports whether a device gets another configuration from registry next than from past, the registry of the
// generation to which it is admitted.
func (r *Runner) differs(ctx context.Context, id fleet.DeviceID, past, next *fleet.Registry,
	compared map[int64]*desired.Comparison) bool {
	apply := next.TemplatesOf(id)
	if !desired.SameTemplates(fleet.JoinOne(past, next, id).TemplatesOf(id), apply) {
		return true
	}
	if !slices.ContainsFunc(apply, desired.ReadsFleet) {
		return false
	}
	if compared[past.Generation] == nil {
		compared[past.Generation] = r.compare(ctx, fleet.Join(past, next), next)
	}
	return compared[past.Generation].Differs(id, apply)
}

// conclude writes the settlement's decisions. The store tells the engines which devices are now planned from another
// generation.
func (r *Runner) conclude(ctx context.Context, s *settlement) error {
	n := len(s.members)
	becomes := n > 0 && (len(s.held) > 0 || r.wantsRollout(n, s.registry) || s.access && n > 1)
	now, woken := r.now(), s.woken()
	write := r.writeOf(s, becomes, now)
	for _, h := range write.Hold {
		delete(woken, h.Device)
	}
	write.Touched, write.Wake = slices.Collect(maps.Keys(s.touched)), slices.Collect(maps.Keys(woken))
	return r.putDecision(ctx, write, now)
}

// writeOf returns the write of a settlement: it ends the superseded rollouts. When a new rollout begins, it also
// holds devices for that.
func (r *Runner) writeOf(s *settlement, begins bool, now time.Time) fleet.RolloutWrite {
	write := fleet.RolloutWrite{Settled: s.registry, Release: s.release}
	last := s.changes[len(s.changes)-1]
	for _, l := range s.over {
		ended := supersede(l.Rollout, last.Number, last.Cause, now)
		ended.Members = nil
		write.Rollouts = append(write.Rollouts, ended)
	}
	if !begins {
		return write
	}
	write.Rollouts = append(write.Rollouts, r.newRollout(s))
	for id, generation := range s.members {
		write.Hold = append(write.Hold, fleet.Hold{Device: id, Generation: generation})
	}
	return write
}

// woken returns the devices that the changes touch, or that a superseded rollout does not hold any more.
func (s *settlement) woken() map[fleet.DeviceID]bool {
	woken := maps.Clone(s.touched)
	for _, h := range s.release {
		woken[h.Device] = true
	}
	return woken
}

// newRollout makes the rollout for the members of a settlement. It is paused, for a person to resume, when it takes
// over from a rollout that a person paused or a gate halted and that has members left which the changes do not
// touch.
func (r *Runner) newRollout(s *settlement) fleet.Rollout {
	carries, cause := s.carried()
	made := fleet.Rollout{Generation: s.registry.Generation, Carries: carries, Cause: cause, WavePlan: r.policy().Waves}
	made.Before = slices.Min(slices.Collect(maps.Values(s.members)))
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		made.Members = append(made.Members, fleet.RolloutMember{Device: id, Was: fleet.ConfigUnknown, From: s.members[id],
			Registered: s.registry.Devices[id].CreatedAt})
	}
	if s.access && len(s.members) <= atOnce {
		made.WavePlan = accessWaves
	}
	if n := len(s.members); r.policy().ApprovalThreshold.Exceeded(n, len(s.registry.Devices)) {
		made.Approval = &fleet.Approval{Reason: r.policy().approvalReason(n)}
	}
	made = wait(made)
	for _, l := range s.over {
		if stopped := l.Status == fleet.RolloutPaused || l.Status == fleet.RolloutHalted; stopped && s.isLeft(l.ID) {
			made.Status = fleet.RolloutPaused
			made.Reason = fmt.Sprintf("it takes over what is left of rollout %d, which was %s: %s", l.ID, l.Status, l.Reason)
			made.Next = "Resume it, undo it, or mend the template."
		}
	}
	return made
}

// isLeft reports whether the new rollout has devices of a superseded one that the changes do not touch.
func (s *settlement) isLeft(rollout int64) bool {
	for id, by := range s.held {
		if by == rollout && !s.touched[id] {
			return true
		}
	}
	return false
}

// carried returns the generations whose changes the new rollout brings to its members, and the cause of the last such
// change.
func (s *settlement) carried() (carries []int64, cause string) {
	all := map[int64]bool{}
	for _, c := range s.ofBig {
		all[c.Number], cause = true, c.Cause
	}
	for _, c := range s.changes {
		for id := range s.few[c.Number] {
			if _, waits := s.members[id]; waits || s.wasMember(id) {
				all[c.Number] = true
				if cause == "" {
					cause = c.Cause
				}
				break
			}
		}
	}
	for _, l := range s.over {
		if l.Undoes == 0 { // what an undo took back stays taken back
			for _, g := range l.Carries {
				all[g] = true
			}
		}
	}
	if cause == "" {
		cause = s.changes[len(s.changes)-1].Cause
	}
	return slices.Sorted(maps.Keys(all)), cause
}

// wasMember reports whether a device belongs to a superseded rollout.
func (s *settlement) wasMember(id fleet.DeviceID) bool {
	return slices.ContainsFunc(s.over, func(l *live) bool { return l.has(id) })
}

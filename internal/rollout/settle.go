package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

const atOnce = 10 // devices that are admitted to a change at once

// settlement is what is decided about the generations since the last one: who is admitted at once, and what becomes a
// rollout.
type settlement struct {
	registry  *fleet.Registry // as of now
	admission *fleet.Admission
	changes   []fleet.GenerationChange

	touched map[fleet.DeviceID]bool           // by any of the changes
	big     map[fleet.DeviceID]bool           // by those that want a rollout
	few     map[int64]map[fleet.DeviceID]bool // by the others, by generation
	ofBig   []fleet.GenerationChange
	access  bool // one of the big ones changes how daemons are reached

	over    []*live                  // superseded
	members map[fleet.DeviceID]int64 // of the new rollout, with the generation that they are admitted to
	held    map[fleet.DeviceID]int64 // those of them that a superseded rollout holds, with that rollout
	release []fleet.Hold             // of a superseded rollout, for devices that have nothing to wait for
}

func newSettlement(registry *fleet.Registry, admission *fleet.Admission,
	changes []fleet.GenerationChange) *settlement {
	return &settlement{
		registry: registry, admission: admission, changes: changes,
		touched: map[fleet.DeviceID]bool{}, big: map[fleet.DeviceID]bool{}, few: map[int64]map[fleet.DeviceID]bool{},
		members: map[fleet.DeviceID]int64{}, held: map[fleet.DeviceID]int64{},
	}
}

// settle decides about every generation that was committed since. The caller holds deciding.
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

// sortChanges tells changes for few devices from those that want a rollout.
func (r *Runner) sortChanges(ctx context.Context, s *settlement) {
	r.catalog.registered(s.registry)
	var retags []fleet.GenerationChange // and those of vars
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
	return n > atOnce || r.o.ApprovalThreshold.Exceeded(n, len(registry.Devices))
}

// touchedThroughFleet are the devices whose programs read the tags of the fleet and give something else now.
func (r *Runner) touchedThroughFleet(ctx context.Context, s *settlement) map[fleet.DeviceID]bool {
	reading := map[fleet.DeviceID]bool{}
	for tag, templates := range r.catalog.carrying {
		for id := range templates {
			if readsFleet(r.catalog.templates[id]) {
				maps.Copy(reading, r.catalog.devices[tag])
			}
		}
	}
	touched := map[fleet.DeviceID]bool{}
	if len(reading) == 0 {
		return touched
	}
	compared := r.compare(fleet.Join(s.admission.Settled(), s.registry), s.registry)
	for id := range reading {
		if s.registry.Devices[id] != nil && !s.touched[id] && compared.differs(ctx, id, r.catalog.of(id)) {
			touched[id] = true
		}
	}
	return touched
}

// supersedes finds the rollouts that the changes concern, but for one.
func (r *Runner) supersedes(s *settlement, but int64) {
	for _, id := range r.liveIDs() {
		l := r.live[id]
		if l.ID != but && slices.ContainsFunc(l.Members, func(m fleet.RolloutMember) bool { return s.touched[m.Device] }) {
			s.over = append(s.over, l)
		}
	}
}

// takeOver finds the rollouts that the changes supersede, and the members of the new one: the devices that are touched
// by what wants a rollout, and those that still wait for something in a superseded one.
func (r *Runner) takeOver(ctx context.Context, s *settlement) {
	r.supersedes(s, 0)
	compared := map[int64]*comparison{}
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

// differs tells whether a device gets something else from a registry than from the one that it is admitted to.
func (r *Runner) differs(ctx context.Context, id fleet.DeviceID, past, next *fleet.Registry,
	compared map[int64]*comparison) bool {
	apply := next.TemplatesOf(id)
	if !sameTemplates(fleet.JoinOne(past, next, id).TemplatesOf(id), apply) {
		return true
	}
	if !slices.ContainsFunc(apply, readsFleet) {
		return false
	}
	if compared[past.Generation] == nil {
		compared[past.Generation] = r.compare(fleet.Join(past, next), next)
	}
	return compared[past.Generation].differs(ctx, id, apply)
}

// conclude keeps what was decided. The store tells the engines which devices are planned from another generation.
func (r *Runner) conclude(ctx context.Context, s *settlement) error {
	n := len(s.members)
	becomes := n > 0 && (len(s.held) > 0 || r.wantsRollout(n, s.registry) || s.access && n > 1)
	now, woken := r.now(), s.woken()
	write := r.writeOf(s, becomes, now)
	for _, h := range write.Hold {
		delete(woken, h.Device)
	}
	write.Touched, write.Wake = slices.Collect(maps.Keys(s.touched)), slices.Collect(maps.Keys(woken))
	return r.keep(ctx, write, now)
}

// writeOf is what is to be kept of a settlement: rollouts that it supersedes end, and where a new one begins, devices
// are held for it.
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

// woken are the devices that the changes touch, or that a superseded rollout holds no more.
func (s *settlement) woken() map[fleet.DeviceID]bool {
	woken := maps.Clone(s.touched)
	for _, h := range s.release {
		woken[h.Device] = true
	}
	return woken
}

// newRollout is the one for the members of a settlement. It does not start by itself where it takes over a rollout
// that a person paused or a gate halted, and members still wait that the changes do not touch.
func (r *Runner) newRollout(s *settlement) fleet.Rollout {
	carries, cause := s.carried()
	made := fleet.Rollout{Generation: s.registry.Generation, Carries: carries, Cause: cause, WavePlan: r.o.Waves}
	made.Before = slices.Min(slices.Collect(maps.Values(s.members)))
	for _, id := range slices.Sorted(maps.Keys(s.members)) {
		made.Members = append(made.Members, fleet.RolloutMember{Device: id, Was: fleet.ConfigUnknown, From: s.members[id],
			Registered: s.registry.Devices[id].CreatedAt})
	}
	if s.access && len(s.members) <= atOnce {
		made.WavePlan = accessWaves
	}
	if n := len(s.members); r.o.ApprovalThreshold.Exceeded(n, len(s.registry.Devices)) {
		made.Approval = &fleet.Approval{Reason: r.o.ApprovalThreshold.reason(n)}
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

// isLeft tells whether the new rollout has devices of a superseded one that the changes do not touch.
func (s *settlement) isLeft(rollout int64) bool {
	for id, by := range s.held {
		if by == rollout && !s.touched[id] {
			return true
		}
	}
	return false
}

// carried are the generations whose changes a new rollout brings, and the cause of the last one.
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
		if l.Undoes == 0 { // what was taken back stays so
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

// wasMember tells whether a device belongs to a superseded rollout.
func (s *settlement) wasMember(id fleet.DeviceID) bool {
	return slices.ContainsFunc(s.over, func(l *live) bool { return l.has(id) })
}

package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// settlement is what is decided about the generations since the last one: who is admitted at once, and what becomes a
// rollout.
type settlement struct {
	registry *fleet.Registry // as of now
	changes  []fleet.GenerationChange

	small map[fleet.DeviceID]bool // touched by changes that are for few devices
	big   map[fleet.DeviceID]bool // touched by others
	ofBig []fleet.GenerationChange
	ofFew map[int64]map[fleet.DeviceID]bool // by generation
	moves bool                              // one of the big ones may move how daemons are reached
	undo  []*live                           // rollouts that one of the changes takes back

	affected map[fleet.DeviceID]int64 // the generation that they are at; they wait, or are few
	over     []*live                  // superseded
	carried  bool                     // a device waits for a superseded rollout, and no change touches it
	release  []fleet.DeviceID
	limited  overLimit
}

// overLimit is what has to be known of superseded rollouts beyond the blast limit, so that their devices stay held.
type overLimit struct {
	why    string                      // "" when none of their devices waits any more
	before int64                       // where the oldest of them began
	held   map[fleet.DeviceID][]string // what waited on their members before them
	ahead  map[fleet.DeviceID]bool     // members that they had admitted
}

// settle decides about every generation that was committed since. The caller holds acting.
func (r *Runner) settle(ctx context.Context) error {
	registry, err := r.o.Store.Registry(ctx)
	if err != nil || registry.Generation <= r.settled.Generation {
		return err
	}
	changes, err := r.o.Store.GenerationChanges(ctx, r.settled.Generation)
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(c fleet.GenerationChange) bool { return c.Number > registry.Generation })
	s := &settlement{registry: registry, changes: changes, small: map[fleet.DeviceID]bool{}, big: map[fleet.DeviceID]bool{},
		ofFew: map[int64]map[fleet.DeviceID]bool{}, affected: map[fleet.DeviceID]int64{}, limited: overLimit{held: map[fleet.DeviceID][]string{}, ahead: map[fleet.DeviceID]bool{}}}
	r.sort(ctx, s)
	r.collide(ctx, s)
	if err := r.conclude(ctx, s); err != nil {
		r.world = newWorld(r.settled) // as it was
		return err
	}
	return nil
}

// sort tells changes for few devices from those for many.
func (r *Runner) sort(ctx context.Context, s *settlement) {
	r.world.registered(s.registry)
	retags := false
	for _, c := range s.changes {
		access := r.movesAccess(c)
		touched := r.world.apply(c)
		maps.DeleteFunc(touched, func(id fleet.DeviceID, _ bool) bool { return s.registry.Devices[id] == nil })
		retags = retags || len(c.DeviceTags) > 0
		access = access || r.movesAccess(c)
		switch undone := r.undoneBy(c.Number); {
		case undone != nil:
			s.undo = append(s.undo, undone)
			maps.Copy(s.small, touched)
		case r.isBig(len(touched), access, s.registry):
			s.add(touched, c)
			s.moves = s.moves || access
		default:
			s.ofFew[c.Number] = touched
			maps.Copy(s.small, touched)
		}
	}
	if retags {
		r.lookAround(ctx, s)
	}
}

func (s *settlement) add(touched map[fleet.DeviceID]bool, c fleet.GenerationChange) {
	maps.Copy(s.big, touched)
	s.ofBig = append(s.ofBig, c)
}

// isBig tells whether a change wants a rollout. One that moves how daemons are reached goes to one device first, however
// few they are: there is no way back into a daemon whose API is out of reach.
func (r *Runner) isBig(n int, access bool, registry *fleet.Registry) bool {
	return n > atOnce || r.o.BlastLimit.Exceeded(n, len(registry.Devices)) || access && n > 1
}

func (r *Runner) undoneBy(generation int64) *live {
	for _, l := range r.live {
		if l.UndoneBy == generation {
			return l
		}
	}
	return nil
}

// movesAccess tells whether a template that a change is about may say how a daemon's API is reached.
func (r *Runner) movesAccess(c fleet.GenerationChange) bool {
	ids := map[int64]bool{}
	for _, t := range c.TemplateTags {
		ids[t.Template] = true
	}
	for _, t := range c.Templates {
		ids[t.Template.ID] = true
	}
	for id := range ids {
		if t, ok := r.world.templates[id]; ok && saysAccess(t) {
			return true
		}
	}
	return false
}

func saysAccess(t fleet.Template) bool {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return false
	}
	if !key.IsRoot() && !strings.EqualFold(key.At(0).Name, "gui") && key.At(0).Name != "*" {
		return false
	}
	said := strings.ToLower(t.Key + " " + t.Text)
	for _, name := range []string{"address", "usetls", "apikey"} {
		if strings.Contains(said, name) {
			return true
		}
	}
	return false
}

// lookAround finds the devices whose programs look at the tags of the fleet and say something else now.
func (r *Runner) lookAround(ctx context.Context, s *settlement) {
	looking := map[fleet.DeviceID]bool{}
	for tag, templates := range r.world.carrying {
		for id := range templates {
			if r.world.templates[id].Reads.OrAll().ReadsTagsOfDevices() {
				maps.Copy(looking, r.world.devices[tag])
			}
		}
	}
	if len(looking) == 0 {
		return
	}
	compared := r.compare(fleet.Join(r.settled, s.registry), s.registry)
	touched := map[fleet.DeviceID]bool{}
	for id := range looking {
		if s.registry.Devices[id] != nil && !s.small[id] && !s.big[id] && compared.differs(ctx, id, r.world.of(id)) {
			touched[id] = true
		}
	}
	if len(touched) == 0 {
		return
	}
	if len(s.undo) > 0 || !r.isBig(len(touched), false, s.registry) {
		maps.Copy(s.small, touched)
		return
	}
	maps.Copy(s.big, touched)
	for _, c := range s.changes {
		if len(c.DeviceTags) > 0 {
			s.ofBig = append(s.ofBig, c)
		}
	}
}

func (s *settlement) touches(id fleet.DeviceID) bool { return s.small[id] || s.big[id] }

// collide finds the rollouts that the changes supersede, and what is left of them.
func (r *Runner) collide(ctx context.Context, s *settlement) {
	for _, id := range r.liveIDs() {
		l := r.live[id]
		if l.Status.Holds() && slices.ContainsFunc(l.Members, func(m fleet.RolloutMember) bool { return s.touches(m.Device) }) {
			s.over = append(s.over, l)
		}
	}
	compared := map[int64]*comparison{}
	for id, h := range r.holds {
		superseded := slices.ContainsFunc(s.over, func(l *live) bool { return l.ID == h.Rollout })
		undone := slices.ContainsFunc(s.undo, func(l *live) bool { return l.ID == h.Rollout })
		since := h.Generation
		if superseded && r.live[h.Rollout].ahead(h) {
			since = r.live[h.Rollout].Before
		}
		if undone || superseded && !r.waits(ctx, s, id, since, compared) {
			s.release = append(s.release, id)
		} else if superseded {
			s.affected[id] = h.Generation
			s.carried = s.carried || !s.touches(id)
		}
	}
	for id := range s.big {
		if _, held := r.holds[id]; !held {
			s.affected[id] = r.settled.Generation
		}
	}
	for _, l := range s.over {
		if l.Blast != "" {
			r.stayHeld(ctx, s, l, compared)
		}
	}
}

// stayHeld has the devices of a superseded rollout beyond the blast limit wait on: consent to it was not given. Those
// that it had admitted stay at the generation that they are at, which is ahead of where it began, and are remembered: HoldAll
// is about them. Who is only touched by the new change may be at that generation as well.
func (r *Runner) stayHeld(ctx context.Context, s *settlement, l *live, compared map[int64]*comparison) {
	for _, m := range l.Members {
		_, waits := s.affected[m.Device]
		hold, held := r.holds[m.Device]
		if !held {
			waits = l.unanswered(m) && r.waits(ctx, s, m.Device, l.Before, compared)
		}
		if !waits {
			continue
		}
		s.limited.ahead[m.Device] = !held || l.ahead(hold)
		if _, there := s.affected[m.Device]; !there {
			s.affected[m.Device] = r.settled.Generation
			s.carried = s.carried || !s.touches(m.Device)
		}
		if s.limited.held[m.Device] = m.Held; s.limited.why == "" {
			s.limited.why, s.limited.before = l.Blast, l.Before
		}
		s.limited.before = min(s.limited.before, l.Before)
	}
}

// waits tells whether a device has something to get from the newest generation that it did not get from a past one.
func (r *Runner) waits(ctx context.Context, s *settlement, id fleet.DeviceID, generation int64, compared map[int64]*comparison) bool {
	past := r.pasts[generation]
	if s.registry.Devices[id] == nil {
		return false
	}
	if past == nil {
		return true // nobody is held there any more: it is not known
	}
	if !slices.Equal(versionsIn(overlayOf(past, s.registry, id), id), r.world.versions(id)) {
		return true
	}
	if compared[generation] == nil {
		compared[generation] = r.compare(fleet.Join(past, s.registry), s.registry)
	}
	return compared[generation].differs(ctx, id, r.world.of(id))
}

// overlayOf is overlay for one device.
func overlayOf(past, current *fleet.Registry, id fleet.DeviceID) *fleet.Registry {
	one := *current
	one.Devices = map[fleet.DeviceID]*fleet.Registered{id: current.Devices[id]}
	return fleet.Join(past, &one)
}

// conclude keeps what was decided, makes it known, and has the admitted devices looked at.
func (r *Runner) conclude(ctx context.Context, s *settlement) error {
	n := len(s.affected)
	exceeded := r.o.BlastLimit.Exceeded(n, len(s.registry.Devices))
	becomes := n > 0 && (s.carried || s.limited.why != "" || n > atOnce || exceeded || s.moves && n > 1)
	write := fleet.RolloutWrite{Settled: s.registry, Release: s.release}
	now := time.Now()
	last := s.changes[len(s.changes)-1]
	for _, l := range s.over {
		ended := l.supersede(last.Number, last.Cause, now).Rollout
		ended.Members = nil
		write.Rollouts = append(write.Rollouts, ended)
	}
	var begun fleet.Rollout
	if becomes {
		begun = s.rollout(exceeded, r.o.BlastLimit)
		write.Rollouts = append(write.Rollouts, begun)
		for id, generation := range s.affected {
			write.Hold = append(write.Hold, fleet.Hold{Device: id, Generation: generation})
		}
	} else {
		write.Release = append(write.Release, slices.Collect(maps.Keys(s.affected))...)
	}
	if err := r.keepSettlement(ctx, write, &begun); err != nil {
		return err
	}
	r.adopt(s, write, begun, now)
	for _, rollout := range write.Rollouts {
		if rollout.ID != 0 {
			r.changed(rollout)
		}
	}
	if becomes {
		r.changed(begun)
	}
	woken := maps.Clone(s.small)
	if !becomes {
		for id := range s.affected {
			woken[id] = true
		}
	}
	for id := range woken {
		if _, held := r.holds[id]; held {
			delete(woken, id)
		}
	}
	if len(woken) > 0 {
		r.o.Fleet.Wake(slices.Collect(maps.Keys(woken)))
	}
	return nil
}

// keepSettlement writes what was decided. Devices are planned by it as soon as the store has it.
func (r *Runner) keepSettlement(ctx context.Context, write fleet.RolloutWrite, begun *fleet.Rollout) (err error) {
	if begun.Generation > 0 {
		r.stepHook(StepBeforeSettle)
	}
	begun.ID, err = r.o.Store.PutRollouts(ctx, write)
	if err != nil {
		return fmt.Errorf("keep rollout: %w", err)
	}
	if begun.Generation > 0 {
		r.stepHook(StepAfterSettle)
	}
	return nil
}

// adopt makes known what was kept.
func (r *Runner) adopt(s *settlement, write fleet.RolloutWrite, begun fleet.Rollout, now time.Time) {
	r.publish(func() {
		before := r.settled
		r.settled = s.registry
		for _, id := range write.Release {
			delete(r.holds, id)
		}
		for _, h := range write.Hold {
			h.Rollout = begun.ID
			r.holds[h.Device] = h
			if h.Generation == before.Generation {
				r.pasts[h.Generation] = before
			}
		}
		for _, l := range s.over {
			delete(r.live, l.ID)
		}
		if begun.ID != 0 {
			begun.CreatedAt = now
			r.live[begun.ID] = newLive(begun, now)
			r.live[begun.ID].admittedBefore = s.limited.ahead
		}
	})
}

// rollout is a new one for the affected devices. It does not start by itself where it takes over what a person paused or
// a gate halted, and the change is not about that.
func (s *settlement) rollout(exceeded bool, limit Limit) fleet.Rollout {
	made := fleet.Rollout{Generation: s.registry.Generation, Status: fleet.RolloutWaiting, Reason: waitingReason, Next: waitingNext}
	carries := map[int64]bool{}
	for _, c := range s.ofBig {
		carries[c.Number] = true
		made.Cause = c.Cause
	}
	for _, c := range s.changes {
		for id := range s.ofFew[c.Number] {
			if _, waits := s.affected[id]; waits || s.member(id) {
				carries[c.Number] = true
				if made.Cause == "" {
					made.Cause = c.Cause
				}
				break
			}
		}
	}
	for _, l := range s.over {
		for _, g := range l.Carries {
			carries[g] = true
		}
		if !s.carried {
			continue
		}
		switch l.Status {
		case fleet.RolloutPaused:
			made.Status = fleet.RolloutPaused
			made.Reason = fmt.Sprintf("it takes over what is left of rollout %d, which was paused", l.ID)
		case fleet.RolloutHalted:
			made.Status = fleet.RolloutPaused
			made.Reason = fmt.Sprintf("it takes over what is left of rollout %d, which was halted: %s", l.ID, l.Reason)
		}
	}
	if made.Status == fleet.RolloutPaused {
		made.Next = "Resume it, undo it, or mend the template."
	}
	made.Carries = slices.Sorted(maps.Keys(carries))
	made.Before = slices.Min(slices.Collect(maps.Values(s.affected)))
	for _, id := range slices.Sorted(maps.Keys(s.affected)) {
		made.Members = append(made.Members, fleet.RolloutMember{Device: id, Was: fleet.ConfigUnknown, Held: s.limited.held[id]})
	}
	if s.limited.why != "" {
		made.Blast, made.Before = s.limited.why, min(made.Before, s.limited.before)
	}
	if exceeded {
		made.Blast = beyondLimit(len(s.affected), limit)
	}
	return made
}

func beyondLimit(n int, limit Limit) string {
	return fmt.Sprintf("this change touches %s, more than the limit of %v (--blast-limit)", devices(n), limit)
}

// member tells whether a device belongs to a superseded rollout.
func (s *settlement) member(id fleet.DeviceID) bool {
	return slices.ContainsFunc(s.over, func(l *live) bool { return l.member[id] })
}

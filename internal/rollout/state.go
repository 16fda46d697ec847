package rollout

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// state is one rollout with what is remembered of it between two looks. Every step takes one and gives the next with
// what is to be done about it; nothing here knows a clock or a daemon.
type state struct {
	fleet.Rollout
	trouble map[fleet.DeviceID]trouble // of admitted members that are not where they should be
	steady  time.Time                  // since when all of them are; zero: they are not
	most    int                        // of them were good at the same time; while more become so, nobody is late
}

// trouble is what keeps a member from being good, and since when its patience runs.
type trouble struct {
	fact  fact
	since time.Time
}

// factKind is how a member was seen.
type factKind uint8

const (
	factGood    factKind = iota // it answers, its plan is empty, no folder is newly in error
	factPending                 // something is still to be sent, or to be read
	factHeld                    // it waits for a person
	factAway                    // it does not answer
	factFailed                  // a gate is not passed
	factGone                    // it is registered no more
	factUnseen                  // nobody looked at it yet
)

type fact struct {
	kind    factKind
	touched bool       // something was sent to it, or may have been
	gate    fleet.Gate // of factFailed
	saw     string     // for a person

	unwatched bool // because its mode says so, or Muster has only begun to watch it
}

var unseen = fact{kind: factUnseen, saw: "it was not looked at yet"}

// command is what follows from a step.
type command struct {
	admit    []fleet.DeviceID // end their hold
	hold     []fleet.DeviceID // hold them at the generation before
	members  bool             // the members changed
	persist  bool             // anything changed that must survive
	steps    []string         // named before it is kept
	stepsEnd []string         // and after
}

func (c *command) keep(before, after string) {
	c.persist = true
	if before != "" {
		c.steps = append(c.steps, before)
	}
	if after != "" {
		c.stepsEnd = append(c.stepsEnd, after)
	}
}

// rules are what can be set about rollouts.
type rules struct {
	soak, patience time.Duration
}

// candidate is a device that a change affects, as it is when its rollout starts.
type candidate struct {
	device  fleet.DeviceID
	ready   bool // it can be reached, and Muster may write to it
	healthy bool // nothing is wrong with it
	was     fleet.Configuration
	errors  []string
	held    []string // what waited for a person already
}

// start freezes the members: one device first, a healthy one if there is any, then a tenth of all, then the rest. Those
// that already are in trouble come early in the second wave: the change may be what mends them. A rollout that has to
// start anew keeps the waves that it had.
func (s state) start(candidates []candidate, now time.Time) (state, command) {
	var c command
	var healthy, unwell, absent []fleet.RolloutMember
	for _, d := range candidates {
		m := fleet.RolloutMember{Device: d.device, Was: d.was, Errors: d.errors, Held: d.held}
		switch {
		case !d.ready:
			absent = append(absent, m)
		case d.healthy:
			healthy = append(healthy, m)
		default:
			unwell = append(unwell, m)
		}
	}
	n := len(healthy) + len(unwell)
	if n == 0 {
		return s, c
	}
	first := min(1, len(healthy))
	members := slices.Concat(healthy[:first], unwell, healthy[first:])
	i := 0
	for wave, size := range wavesOf(n) {
		for range size {
			members[i].Wave = s.Wave + wave + 1
			i++
		}
	}
	s.Waves = append(slices.Clone(s.Waves[:s.Wave]), wavesOf(n)...)
	had := slices.DeleteFunc(slices.Clone(s.Members), func(m fleet.RolloutMember) bool { return m.Wave == 0 || m.Wave > s.Wave })
	s.Members = slices.Concat(had, members, absent)
	if s.StartedAt.IsZero() {
		s.StartedAt = now
	}
	s.Status = fleet.RolloutRunning
	c.members = true
	c.keep(StepBeforeStart, "")
	return s.nextWave(now, c)
}

// wavesOf splits n devices into one, a tenth, and the rest.
func wavesOf(n int) []int {
	tenth := min((n+9)/10, n-1)
	waves := []int{1}
	for _, size := range []int{tenth, n - 1 - tenth} {
		if size > 0 {
			waves = append(waves, size)
		}
	}
	return waves
}

func (s state) nextWave(now time.Time, c command) (state, command) {
	s.Wave++
	s.WaveAt, s.steady, s.most = now, time.Time{}, 0
	for _, m := range s.Members {
		if m.Wave == s.Wave {
			c.admit = append(c.admit, m.Device)
		}
	}
	s.Reason = fmt.Sprintf("wave %d of %d: %s", s.Wave, len(s.Waves), devices(len(c.admit)))
	s.Next = "The next wave follows when all gates are passed."
	c.keep(fmt.Sprint(StepBeforeAdmit, s.Wave), fmt.Sprint(StepAfterAdmit, s.Wave))
	return s, c
}

func devices(n int) string {
	if n == 1 {
		return "1 device"
	}
	return fmt.Sprintf("%d devices", n)
}

// admitted are the members whose gates count.
func (s state) admitted() []fleet.RolloutMember {
	var admitted []fleet.RolloutMember
	for _, m := range s.Members {
		if m.Wave > 0 && m.Wave <= s.Wave && !m.Waived {
			admitted = append(admitted, m)
		}
	}
	return admitted
}

// look takes what was seen of the admitted members, and goes on, halts or waits. Facts that are not there stay unknown:
// nobody looked at those members yet. Patience is with one device: it begins when somebody has looked at it, and begins
// anew while others get where they should, because all wait for the same workers. Who is not watched is never late.
func (s state) look(facts map[fleet.DeviceID]fact, r rules, now time.Time) (state, command) {
	var c command
	if s.Status != fleet.RolloutRunning && s.Status != fleet.RolloutPaused {
		return s, c
	}
	was := s.trouble
	s.trouble = map[fleet.DeviceID]trouble{}
	gone := map[fleet.DeviceID]bool{}
	admitted, forward := s.admitted(), false
	if good := countGood(admitted, facts); good > s.most || watchedAgain(was, facts) {
		s.most, forward = good, true
	}
	for _, m := range admitted {
		f, seen := facts[m.Device]
		if !seen {
			f = unseen
		}
		t := trouble{fact: f, since: now}
		if before, ok := was[m.Device]; ok && before.fact.kind == f.kind && !(forward && f.kind == factPending) {
			t.since = before.since
		}
		late := now.Sub(t.since) > r.patience
		switch {
		case f.kind == factGood:
			continue
		case f.kind == factFailed && m.Wave > 1 && m.Was == fleet.ConfigFailed && f.gate == fleet.GatePlan:
			continue // as it was before
		case f.kind == factFailed:
			return s.halt(fleet.RolloutHalt{By: muster, Gate: f.gate, Device: m.Device, Saw: f.saw, At: now})
		case f.kind == factGone:
			gone[m.Device] = true
		case f.kind == factAway && !f.touched:
			gone[m.Device] = s.Status == fleet.RolloutRunning // a paused one admits nobody in its place
		case f.kind == factAway && late:
			return s.halt(fleet.RolloutHalt{By: muster, Gate: fleet.GateAPI, Device: m.Device, At: now,
				Saw: fmt.Sprintf("it was written to and has not answered for %v: %s", r.patience, f.saw)})
		case f.kind == factPending && late:
			return s.halt(fleet.RolloutHalt{By: muster, Gate: fleet.GatePlan, Device: m.Device, At: now,
				Saw: fmt.Sprintf("its plan is not empty after %v: %s", r.patience, f.saw)})
		}
		if !gone[m.Device] {
			s.trouble[m.Device] = t
		}
	}
	if s, c = s.putBack(gone, c); s.Status == fleet.RolloutWaiting {
		return s, c
	}
	if len(s.trouble) > 0 {
		s.steady = time.Time{}
		return s, c
	}
	if s.steady.IsZero() {
		s.steady = now
	}
	if s.Status == fleet.RolloutPaused || now.Sub(s.steady) < r.soak {
		return s, c
	}
	if s.Wave < len(s.Waves) {
		return s.nextWave(now, c)
	}
	return s.succeed(now, c)
}

func countGood(members []fleet.RolloutMember, facts map[fleet.DeviceID]fact) (good int) {
	for _, m := range members {
		if f, seen := facts[m.Device]; seen && f.kind == factGood {
			good++
		}
	}
	return good
}

// watchedAgain tells whether somebody is watched who was not. After a pause all have to be seen anew, however many were
// good before it.
func watchedAgain(was map[fleet.DeviceID]trouble, facts map[fleet.DeviceID]fact) bool {
	for id, t := range was {
		if f, seen := facts[id]; seen && t.fact.unwatched && !f.unwatched {
			return true
		}
	}
	return false
}

const muster = "muster"

// putBack takes members out that went away before anything was sent to them. A wave that is empty then would prove
// nothing: the rollout starts anew with those that are left.
func (s state) putBack(gone map[fleet.DeviceID]bool, c command) (state, command) {
	if !slices.Contains(slices.Collect(maps.Values(gone)), true) {
		return s, c
	}
	s.Members, s.Waves, s.most = slices.Clone(s.Members), slices.Clone(s.Waves), 0
	for i := range s.Members {
		if m := &s.Members[i]; gone[m.Device] {
			s.Waves[m.Wave-1]--
			m.Wave = 0
			c.hold = append(c.hold, m.Device)
		}
	}
	c.members = true
	c.keep("", "")
	if s.Waves[s.Wave-1] > 0 {
		return s, c
	}
	s.Wave--
	s.Waves = s.Waves[:s.Wave+1] // the next one is empty: it is to be made
	for i := range s.Members {
		if s.Members[i].Wave > s.Wave {
			s.Members[i].Wave = 0
		}
	}
	s.Reason, s.Next = "whoever had its turn went away before it was written to", "It starts anew when one of its devices can be reached."
	s.steady = time.Time{}
	if s.Status == fleet.RolloutRunning {
		s.Status = fleet.RolloutWaiting
	}
	return s, c
}

func (s state) halt(h fleet.RolloutHalt) (state, command) {
	var c command
	s.Status, s.Halt = fleet.RolloutHalted, &h
	if h.Gate == "" {
		s.Reason = fmt.Sprintf("halted by %s", h.By)
	} else {
		s.Reason = fmt.Sprintf("%s did not pass the gate %q: %s", h.Device, h.Gate, h.Saw)
	}
	s.Next = "Undo it (that makes templates and tags what they were before, and takes it back where it was sent), mend or delete the template, or resume it in spite of this."
	c.keep(StepBeforeHalt, StepAfterHalt)
	return s, c
}

// succeed releases whoever was in no wave: they are admitted as soon as they are seen again.
func (s state) succeed(now time.Time, c command) (state, command) {
	s.Status, s.EndedAt, s.trouble = fleet.RolloutSucceeded, now, nil
	done, absent := 0, 0
	for _, m := range s.Members {
		if m.Wave > 0 {
			done++
		} else {
			absent++
			c.admit = append(c.admit, m.Device)
		}
	}
	s.Reason, s.Next = fmt.Sprintf("%s passed all gates", devices(done)), ""
	if absent > 0 {
		s.Next = fmt.Sprintf("%s could not be reached or written to: what is theirs follows when they are seen again.", devices(absent))
	}
	c.keep(StepBeforeEnd, StepAfterEnd)
	return s, c
}

// pause, resume, haltBy and undo are a person's. The error says why it is not possible now.

func (s state) pause(who string) (state, command, error) {
	var c command
	if s.Status == fleet.RolloutPaused {
		return s, c, nil
	}
	if s.Status != fleet.RolloutRunning && s.Status != fleet.RolloutWaiting {
		return s, c, s.impossible("paused")
	}
	s.Status = fleet.RolloutPaused
	s.Reason, s.Next = "paused by "+who, "No further wave is admitted until it is resumed."
	c.keep("", "")
	return s, c, nil
}

func (s state) resume(who string, now time.Time) (state, command, error) {
	var c command
	switch s.Status {
	case fleet.RolloutRunning, fleet.RolloutWaiting:
		return s, c, nil
	case fleet.RolloutHalted:
		s.Members = slices.Clone(s.Members)
		for i, m := range s.Members {
			if s.Halt != nil && m.Device == s.Halt.Device {
				s.Members[i].Waived = true
			}
		}
		s.Halt, c.members = nil, true
	case fleet.RolloutPaused:
	default:
		return s, c, s.impossible("resumed")
	}
	s.Status, s.trouble, s.steady, s.most = fleet.RolloutRunning, nil, time.Time{}, 0
	s.Reason, s.Next = fmt.Sprintf("wave %d of %d, resumed by %s", s.Wave, len(s.Waves), who), "The next wave follows when all gates are passed."
	if s.unmade() {
		s.Status = fleet.RolloutWaiting
		s.Reason, s.Next = waitingReason, waitingNext
	}
	c.keep("", "")
	return s, c, nil
}

// unmade tells whether the next wave is still to be made of whoever can be reached.
func (s state) unmade() bool {
	return len(s.Waves) == 0 || s.Wave < len(s.Waves) && s.Waves[s.Wave] == 0
}

const (
	waitingReason = "it waits until one of its devices can be reached and written to"
	waitingNext   = "It starts by itself."
)

func (s state) haltBy(who string, now time.Time) (state, command, error) {
	if s.Status == fleet.RolloutHalted {
		return s, command{}, nil
	}
	if !s.Status.Holds() {
		return s, command{}, s.impossible("halted")
	}
	s, c := s.halt(fleet.RolloutHalt{By: who, Saw: "a person halted it", At: now})
	return s, c, nil
}

// undo is what is kept along with the new generation.
func (s state) undo(who string, now time.Time) (state, error) {
	if !s.Status.Holds() && s.Status != fleet.RolloutSucceeded {
		return s, s.impossible("undone")
	}
	s.Status, s.Halt, s.trouble = fleet.RolloutUndoing, nil, nil
	s.Reason = fmt.Sprintf("undone by %s: templates and tags are as before generation %d", who, s.Carries[0])
	s.Next = "The devices that it reached are brought back now."
	return s, nil
}

// ended ends an undone rollout when everybody is back. Whoever is away is waited for: nobody is held up by that.
func (s state) ended(facts map[fleet.DeviceID]fact, now time.Time) (state, command) {
	var c command
	good, failed := 0, []fleet.DeviceID(nil)
	for id, f := range facts {
		switch f.kind {
		case factUnseen, factPending, factHeld, factAway:
			return s, c
		case factFailed:
			failed = append(failed, id)
		case factGood:
			good++
		}
	}
	slices.Sort(failed)
	s.Status, s.EndedAt = fleet.RolloutUndone, now
	s.Reason, s.Next = fmt.Sprintf("undone: %s back", devicesAre(good)), ""
	if len(failed) > 0 {
		s.Next = fmt.Sprintf("%s failed: %s.", failed[0], facts[failed[0]].saw)
	}
	c.keep(StepBeforeEnd, StepAfterEnd)
	return s, c
}

func devicesAre(n int) string {
	if n == 1 {
		return "1 device is"
	}
	return fmt.Sprintf("%d devices are", n)
}

// supersede ends a rollout because of another change.
func (s state) supersede(generation int64, cause string, now time.Time) state {
	s.Status, s.EndedAt, s.SupersededBy, s.trouble = fleet.RolloutSuperseded, now, generation, nil
	s.Reason, s.Next = fmt.Sprintf("another change concerns its devices: %s (generation %d)", cause, generation), ""
	return s
}

func (s state) impossible(what string) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("rollout %d is %s: it cannot be %s", s.ID, s.Status, what)}
}

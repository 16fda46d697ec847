package rollout

import (
	"fmt"
	"slices"
	"time"

	"muster/internal/fleet"
)

// A step takes a rollout with its tally and gives the rollout as it is next, with what is to be done about it. Nothing
// in this file knows a clock, a store or a daemon.

const muster = "muster"

// rules are what can be set about rollouts.
type rules struct {
	soakTime, progressDeadline time.Duration
}

// command is what follows from a step. Where nothing is to be kept, nothing happened.
type command struct {
	keep    bool
	members bool                  // the members changed
	admit   []fleet.DeviceID      // end their hold
	hold    []fleet.RolloutMember // hold them again at the generation that they came from
	before  []string              // steps that are named before it is kept
	after   []string              // and after
}

// candidate is a member that is not admitted yet, as it stands when its rollout starts.
type candidate struct {
	member  fleet.RolloutMember
	ready   bool // it can be reached, and Muster may write to it
	healthy bool // nothing is wrong with it
}

// start makes the waves and admits the first one: healthy devices come first. Those that already are in trouble come
// early in the second wave: the change may be what mends them. A rollout that starts anew keeps the waves that it had.
func start(r fleet.Rollout, candidates []candidate, now time.Time) (fleet.Rollout, command) {
	var healthy, unwell, absent []fleet.RolloutMember
	for _, c := range candidates {
		m := c.member
		m.Wave = 0
		switch {
		case !c.ready:
			absent = append(absent, m)
		case c.healthy:
			healthy = append(healthy, m)
		default:
			unwell = append(unwell, m)
		}
	}
	n := len(healthy) + len(unwell)
	if n == 0 {
		return r, command{}
	}
	plan := r.WavePlan
	if len(plan) == 0 { // of a rollout that an earlier version began
		plan = DefaultWaves
	}
	sizes := splitWaves(plan, n, n)
	first := min(sizes[0], len(healthy))
	members := slices.Concat(healthy[:first], unwell, healthy[first:])
	fill(members, sizes, r.Wave)
	r.Waves = append(slices.Clone(r.Waves[:r.Wave]), sizes...)
	had := slices.DeleteFunc(slices.Clone(r.Members), func(m fleet.RolloutMember) bool {
		return m.Wave == 0 ||
			m.Wave > r.Wave
	})
	r.Members = slices.Concat(had, members, absent)
	if r.StartedAt.IsZero() {
		r.StartedAt = now
	}
	r.Status = fleet.RolloutRunning
	r, c := nextWave(r, now)
	c.members, c.before = true, append([]string{StepBeforeStart}, c.before...)
	return r, c
}

// fill puts members into the waves after some wave.
func fill(members []fleet.RolloutMember, sizes []int, after int) {
	i := 0
	for wave, size := range sizes {
		for range size {
			members[i].Wave = after + wave + 1
			i++
		}
	}
}

func nextWave(r fleet.Rollout, now time.Time) (fleet.Rollout, command) {
	c := command{keep: true}
	r.Wave++
	r.WaveAt = now
	for _, m := range r.Members {
		if m.Wave == r.Wave {
			c.admit = append(c.admit, m.Device)
		}
	}
	r.Reason = fmt.Sprintf("wave %d of %d: %s", r.Wave, len(r.Waves), devices(len(c.admit)))
	r.Next = nextAfterGates
	c.before, c.after = []string{fmt.Sprint(StepBeforeAdmit, r.Wave)}, []string{fmt.Sprint(StepAfterAdmit, r.Wave)}
	return r, c
}

const nextAfterGates = "The next wave follows when all gates are passed."

func devices(n int) string {
	if n == 1 {
		return "1 device"
	}
	return fmt.Sprintf("%d devices", n)
}

// advance goes on, halts or waits, by how the admitted members of a running or paused rollout stand.
func advance(r fleet.Rollout, t *tally, rules rules, now time.Time) (fleet.Rollout, command) {
	switch {
	case r.Undoes != 0:
		return advanceUndo(r, t, rules, now)
	case r.Status != fleet.RolloutRunning && r.Status != fleet.RolloutPaused:
		return r, command{}
	}
	if id, f, found := t.first(r.Members, factFailed); found {
		return halt(r, fleet.RolloutHalt{By: muster, Gate: f.gate, Device: id, Saw: f.reason, At: now})
	}
	if r, c := putBack(r, t); c.keep {
		return r, c
	}
	if t.clockRuns() && now.Sub(t.progressAt) >= rules.progressDeadline {
		return halt(r, late(r, t, rules, now))
	}
	if t.goodSince.IsZero() || r.Status == fleet.RolloutPaused || now.Sub(t.goodSince) < rules.soakTime {
		return r, command{}
	}
	if r.Wave < len(r.Waves) {
		return nextWave(r, now)
	}
	return succeed(r, now)
}

// due is when advance has to be asked again although no member changes; zero: never.
func due(r fleet.Rollout, t *tally, rules rules) time.Time {
	switch {
	case r.Status != fleet.RolloutRunning && r.Status != fleet.RolloutPaused:
		return time.Time{}
	case t.clockRuns():
		return t.progressAt.Add(rules.progressDeadline)
	case !t.goodSince.IsZero() && r.Status == fleet.RolloutRunning && r.Undoes == 0:
		return t.goodSince.Add(rules.soakTime)
	}
	return time.Time{}
}

// late names the member that made no progress.
func late(r fleet.Rollout, t *tally, rules rules, now time.Time) fleet.RolloutHalt {
	if id, f, found := t.first(r.Members, factAway); found {
		return fleet.RolloutHalt{By: muster, Gate: fleet.GateAPI, Device: id, At: now,
			Saw: fmt.Sprintf("it was written to and has not answered for %v: %s", rules.progressDeadline, f.reason)}
	}
	id, f, _ := t.first(r.Members, factPending)
	return fleet.RolloutHalt{By: muster, Gate: fleet.GatePlan, Device: id, At: now,
		Saw: fmt.Sprintf("it made no progress for %v: %s", rules.progressDeadline, f.reason)}
}

func halt(r fleet.Rollout, h fleet.RolloutHalt) (fleet.Rollout, command) {
	r.Status, r.Halt = fleet.RolloutHalted, &h
	if h.Gate == "" {
		r.Reason = fmt.Sprintf("halted by %s", h.By)
	} else {
		r.Reason = fmt.Sprintf("%s did not pass the gate %q: %s", h.Device, h.Gate, h.Saw)
	}
	r.Next = fmt.Sprintf("Undo it: `muster rollout undo %d` makes templates and tags what they were before, and takes "+
		"it back where it was sent. Or mend or delete the template. Or go on in spite of this: "+
		"`muster rollout resume %d`.", r.ID, r.ID)
	if r.Undoes != 0 {
		r.Next = fmt.Sprintf("Its devices are all admitted, so the others go on. It ends when this device is back, or "+
			"without it: `muster rollout resume %d`.", r.ID)
	}
	return r, command{keep: true, before: []string{StepBeforeHalt}, after: []string{StepAfterHalt}}
}

// succeed releases the devices that are in no wave: they are admitted as soon as they are seen again.
func succeed(r fleet.Rollout, now time.Time) (fleet.Rollout, command) {
	c := command{keep: true, before: []string{StepBeforeEnd}, after: []string{StepAfterEnd}}
	r.Status, r.Halt, r.EndedAt = fleet.RolloutSucceeded, nil, now
	passed, waived, absent := 0, 0, 0
	for _, m := range r.Members {
		switch {
		case m.Wave == 0:
			absent++
			c.admit = append(c.admit, m.Device)
		case m.Waived:
			waived++
		default:
			passed++
		}
	}
	r.Reason, r.Next = fmt.Sprintf("%s passed all gates", devices(passed)), ""
	if len(r.Members) == 0 {
		r.Reason = "none of its devices is registered any more"
	}
	if waived > 0 {
		r.Reason += fmt.Sprintf("; it was resumed in spite of %s", devices(waived))
	}
	if absent > 0 {
		r.Next = fmt.Sprintf("%s could not be reached or written to: what is theirs follows when they are seen again.",
			devices(absent))
	}
	return r, c
}

func devicesAre(n int) string {
	if n == 1 {
		return "1 device is"
	}
	return fmt.Sprintf("%d devices are", n)
}

package rollout

import (
	"fmt"
	"slices"
	"time"

	"muster/internal/fleet"
)

// A step is a function that takes a rollout and its progress. It gives the rollout's next state, and what is to be
// done about it. The functions in this file know neither clock, store nor daemon.

const muster = "muster"

// rules are the settings of rollouts.
type rules struct {
	soakTime, progressDeadline time.Duration
}

// command is what follows from a step. When its write is false, the step changed nothing.
type command struct {
	write   bool
	members bool                  // The step changed members.
	admit   []fleet.DeviceID      // devices whose holds end
	hold    []fleet.RolloutMember // members that are held again, at the generation from which they came
	before  []string              // names for Options.Step, before the state is written
	after   []string              // names for Options.Step, after it
}

// candidate is a member that is not admitted yet, with how it stands when its rollout starts.
type candidate struct {
	member  fleet.RolloutMember
	ready   bool // The member can be reached, and Muster may write to it.
	healthy bool // The member is ready, and nothing is wrong with it.
}

// start makes the waves and admits the first one. Healthy devices come first. Devices that already are in trouble
// come early in the second wave, because the change may be what mends them. A rollout that starts anew keeps the
// waves that it had.
func start(r fleet.Rollout, candidates []candidate, now time.Time) (fleet.Rollout, command) {
	var healthy, unwell []fleet.RolloutMember
	absent := slices.DeleteFunc(slices.Clone(r.Members), func(m fleet.RolloutMember) bool { return !m.Left() })
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
	sizes := splitWaves(r.WavePlan, n, n)
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

// fill assigns members to waves of these sizes, beginning with the wave after `after`.
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
	c := command{write: true}
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

func devices(n int) string { return fleet.Counted(n, "device", "devices") }

// advance decides whether a running or paused rollout goes on, halts or waits, by how its admitted members stand.
func advance(r fleet.Rollout, t *progress, rules rules, now time.Time) (fleet.Rollout, command) {
	switch {
	case r.Undoes != 0:
		return advanceUndo(r, t, rules, now)
	case r.Status != fleet.RolloutRunning && r.Status != fleet.RolloutPaused:
		return r, command{}
	}
	if id, f, found := t.first(r.Members, factFailed); found {
		return halt(r, fleet.RolloutHalt{By: muster, Gate: f.gate, Device: id, Saw: f.reason, At: now})
	}
	if r, c := putBack(r, t); c.write {
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

// due returns when advance has to be called again even if no member changes; zero: never.
func due(r fleet.Rollout, t *progress, rules rules) time.Time {
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

// late returns the halt of a rollout in which a member makes no progress, and names that member.
func late(r fleet.Rollout, t *progress, rules rules, now time.Time) fleet.RolloutHalt {
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
	r.Next = fmt.Sprintf("`muster rollout undo %d` makes templates and tags what they were before, and takes it back "+
		"where it was sent. Or mend or delete the template. `muster rollout resume %d` goes on in spite of this.",
		r.ID, r.ID)
	if r.Undoes != 0 {
		r.Next = fmt.Sprintf("Its devices are all admitted, so the others go on. It ends when this device is back. "+
			"`muster rollout resume %d` ends it without the device.", r.ID)
	}
	return r, command{write: true, before: []string{StepBeforeHalt}, after: []string{StepAfterHalt}}
}

// succeed ends a rollout. Devices that are in no wave are not held any more: they are admitted when they are seen
// again.
func succeed(r fleet.Rollout, now time.Time) (fleet.Rollout, command) {
	c := command{write: true, before: []string{StepBeforeEnd}, after: []string{StepAfterEnd}}
	r.Status, r.Halt, r.EndedAt = fleet.RolloutSucceeded, nil, now
	passed, waived, absent, left := 0, 0, 0, 0
	for _, m := range r.Members {
		switch {
		case m.Left():
			left++
			c.admit = append(c.admit, m.Device)
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
	if left > 0 {
		r.Reason += fmt.Sprintf("; %s revoked", devicesAre(left))
	}
	if absent > 0 {
		r.Next = fmt.Sprintf("%s could not be reached or written to: what is theirs follows when they are seen again.",
			devices(absent))
	}
	return r, c
}

func devicesAre(n int) string { return fleet.Counted(n, "device is", "devices are") }

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"muster/internal/fleet"
)

// Steps that people ask for. The error tells why a step is not possible now. A step that was done already changes
// nothing.

func pause(r fleet.Rollout, who string) (fleet.Rollout, command, error) {
	err := steerable(r, "paused")
	if err != nil || r.Status == fleet.RolloutPaused {
		return r, command{}, err
	}
	if r.Status == fleet.RolloutHalted {
		return r, command{}, impossible(r, "paused")
	}
	r.Status = fleet.RolloutPaused
	r.Reason, r.Next = "paused by "+who, fmt.Sprintf(
		"No further wave is admitted. `muster rollout resume %d` goes on.",
		r.ID,
	)
	return r, command{write: true}, nil
}

func resume(r fleet.Rollout, who string) (fleet.Rollout, command, error) {
	c := command{write: true}
	switch r.Status {
	case fleet.RolloutRunning, fleet.RolloutWaiting:
		return r, command{}, nil
	case fleet.RolloutHalted:
		r.Members = slices.Clone(r.Members)
		for i, m := range r.Members {
			if r.Halt != nil && m.Device == r.Halt.Device {
				r.Members[i].Waived = true
			}
		}
		r.Halt, c.members = nil, true
	case fleet.RolloutPaused:
	default:
		return r, command{}, impossible(r, "resumed")
	}
	if unmade(r) {
		return wait(r), c, nil
	}
	r.Status = fleet.RolloutRunning
	r.Reason, r.Next = fmt.Sprintf("wave %d of %d, resumed by %s", r.Wave, len(r.Waves), who), nextAfterGates
	return r, c, nil
}

// unmade reports whether the next wave is still to be made from the devices that can be reached.
func unmade(r fleet.Rollout) bool {
	return len(r.Waves) == 0 || r.Wave < len(r.Waves) && r.Waves[r.Wave] == 0
}

// wait sets the reason for which a rollout that has not started waits.
func wait(r fleet.Rollout) fleet.Rollout {
	r.Status = fleet.RolloutWaiting
	r.Reason, r.Next = "it waits until one of its devices can be reached and written to", "Nothing: Muster starts it then."
	if r.Unapproved() {
		r.Reason = "it waits for approval: " + r.Approval.Reason
		r.Next = "An admin approves it, or it is undone: `muster waiting` has the commands."
	}
	return r
}

func haltBy(r fleet.Rollout, who string, now time.Time) (fleet.Rollout, command, error) {
	err := steerable(r, "halted")
	if err != nil || r.Status == fleet.RolloutHalted {
		return r, command{}, err
	}
	r, c := halt(r, fleet.RolloutHalt{By: who, Saw: "a person halted it", At: now})
	return r, c, nil
}

// approve lets the first wave begin.
func approve(r fleet.Rollout, who string, now time.Time) (fleet.Rollout, command, error) {
	switch {
	case r.Status.Over():
		return r, command{}, impossible(r, "approved")
	case r.Approval == nil:
		return r, command{}, &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("rollout %d needs no approval", r.ID)}
	case r.Approval.By != "":
		return r, command{}, nil
	}
	given := *r.Approval
	given.By, given.At = who, now
	r.Approval = &given
	if r.Status == fleet.RolloutWaiting {
		r = wait(r)
	}
	return r, command{write: true}, nil
}

// setWaves makes the waves anew that have not begun.
func setWaves(r fleet.Rollout, waves []string) (fleet.Rollout, command, error) {
	if err := cmp.Or(steerable(r, "given other waves"), fleet.CheckWaves(waves)); err != nil {
		return r, command{}, err
	}
	r.WavePlan = waves
	c := command{write: true}
	if unmade(r) {
		return r, c, nil
	}
	admitted, later, absent := byWave(r)
	sizes := splitWaves(waves, len(later), len(admitted)+len(later))
	fill(later, sizes, r.Wave)
	r.Members = slices.Concat(admitted, later, absent)
	r.Waves = append(slices.Clone(r.Waves[:r.Wave]), sizes...)
	c.members = true
	return r, c, nil
}

// byWave separates the admitted members from those of later waves and those in no wave.
func byWave(r fleet.Rollout) (admitted, later, absent []fleet.RolloutMember) {
	for _, m := range r.Members {
		switch {
		case m.Wave == 0:
			absent = append(absent, m)
		case m.Wave <= r.Wave:
			admitted = append(admitted, m)
		default:
			later = append(later, m)
		}
	}
	return admitted, later, absent
}

// mayUndo returns why a rollout cannot be undone; nil when it can.
func mayUndo(r fleet.Rollout) error {
	switch {
	case r.Undoes != 0:
		return &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("rollout %d takes back rollout %d: it cannot be undone", r.ID, r.Undoes),
			Hint:    "Save the templates and tags again as you want them."}
	case !r.CanBeUndone():
		return impossible(r, "undone")
	}
	return nil
}

// undone returns a rollout after its changes were taken back.
func undone(r fleet.Rollout, who string, generation int64, now time.Time) fleet.Rollout {
	r.Status, r.Halt, r.UndoneBy, r.EndedAt = fleet.RolloutUndone, nil, generation, now
	r.Reason = fmt.Sprintf("undone by %s: templates and tags are as before generation %d", who, r.Carries[0])
	r.Next = "Another rollout brings the devices back that it reached."
	return r
}

// supersede ends a rollout because of another change.
func supersede(r fleet.Rollout, generation int64, cause string, now time.Time) fleet.Rollout {
	r.Status, r.EndedAt, r.SupersededBy = fleet.RolloutSuperseded, now, generation
	r.Reason, r.Next = fmt.Sprintf("another change concerns its devices: %s (generation %d)", cause, generation), ""
	return r
}

func impossible(r fleet.Rollout, what string) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("rollout %d is %s: it cannot be %s", r.ID,
		r.Status, what)}
}

// steerable returns why the waves of a rollout cannot be steered any more: it is over, or has admitted all devices.
// It returns nil where they can. what names the step that the person asked for.
func steerable(r fleet.Rollout, what string) error {
	switch {
	case r.Status.Over():
		return impossible(r, what)
	case r.Undoes == 0:
		return nil
	}
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: fmt.Sprintf("rollout %d takes back rollout %d, and all its devices are admitted already: it cannot be %s",
			r.ID, r.Undoes, what),
		Hint: "Stop Muster for these devices (`muster stop`), or save the templates and tags as you want them."}
}

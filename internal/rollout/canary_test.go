package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/internal/plan"
)

// refusing are devices on which no answer can be applied.
type refusing struct {
	onlineFleet
	err error
}

func (f refusing) Apply(context.Context, fleet.DeviceID, string, []string, []string) error {
	return f.err
}

// A rollout quoted the cause of the error that kept a member's plan, or an answer to it, from being made.
func TestACauseIsInNoRollout(t *testing.T) {
	const canary, message = "canary-in-a-cause", "what a person may read"
	for _, code := range []fleet.Code{fleet.CodeInvalid, fleet.CodeUnbelievable, fleet.CodeUnavailable, fleet.CodeRejected} {
		err := &fleet.Error{Code: code, Message: message, Err: errors.New(canary)}
		r := New(Options{Fleet: refusing{err: err}, DigestKey: []byte("k")})
		member := fleet.RolloutMember{Device: deviceN(1), Wave: 1}
		l := newLive(fleet.Rollout{Members: []fleet.RolloutMember{member}}, t0)
		made := plan.Plan{Device: member.Device, Observed: "seen", Changes: []plan.Change{waits(t, "folders.old")}}
		waiting, _ := r.judge(member, made, 0, false)
		answered, given := r.give(t.Context(), l, l.check(member.Device), made, answer{consent: []string{"folders.old"}}, waiting)
		for place, saw := range map[string]string{"plan": unplanned(err).saw, "answer": answered.saw} {
			if strings.Contains(saw, canary) || !strings.Contains(saw, message) || given {
				t.Errorf("%s, %s: got %q, given %t", code, place, saw, given)
			}
		}
	}
	if saw := unplanned(errors.New(canary)).saw; strings.Contains(saw, canary) {
		t.Errorf("got %q", saw)
	}
}

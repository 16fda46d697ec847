package rollout

import (
	"slices"
	"testing"

	"muster/internal/fleet"
)

// What waited before an undo does not keep it from ending. A device whose templates failed has no list of what waits:
// what waited at the start of the rollout counts.
func TestWhatWaitedBeforeAnUndoIsNotItsOwn(t *testing.T) {
	member, other := deviceN(1), deviceN(2)
	u := &undoing{rollout: fleet.Rollout{Members: []fleet.RolloutMember{{Device: member, Held: []string{"before"}}}}}
	waits := fleet.Pass{Observed: "digest", Waiting: []fleet.WaitingChange{{Wish: "now"}}}
	for name, c := range map[string]struct {
		device fleet.DeviceID
		pass   fleet.Pass
		want   []string
	}{
		"a member":                {member, waits, []string{"now", "before"}},
		"a member that failed":    {member, fleet.Pass{Observed: "digest", Failed: "line 1"}, []string{"before"}},
		"another device":          {other, waits, []string{"now"}},
		"another device, failed":  {other, fleet.Pass{Observed: "digest", Failed: "line 1"}, nil},
		"another device, no pass": {other, fleet.Pass{}, nil},
		"another, nothing waits":  {other, fleet.Pass{Observed: "digest"}, nil},
	} {
		if got := u.waited(c.device, fleet.Standing{Pass: c.pass}); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

package health

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestTheStateSaysWhatAnAgentIsTooOldFor(t *testing.T) {
	s := &fleet.Snapshot{Device: fleet.DeviceIDOf([32]byte{7}), Connection: fleet.Online, FoundBy: fleet.FoundByAgent,
		Reason: "connected"}
	inSync := fleet.State{Configuration: fleet.ConfigInSync, Reason: "nothing differs"}
	for tooOldFor, want := range map[string]bool{"": false, "the daemon's log": true} {
		s.TooOldFor = tooOldFor
		state := joined(inSync, Facts{Snapshot: s}, time.Now())
		if got := strings.Contains(state.Reason, "too old to tell the daemon's log"); got != want {
			t.Errorf("%q: got %q", tooOldFor, state.Reason)
		}
		if got := strings.Contains(state.Next, "Update the agent"); got != want {
			t.Errorf("%q: got %q", tooOldFor, state.Next)
		}
		if state.Connection != fleet.Online || state.Configuration != fleet.ConfigInSync {
			t.Errorf("%q: got %+v", tooOldFor, state)
		}
	}
}

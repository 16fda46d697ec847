package view

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

// A daemon that was not tried yet since the start stands as it did before.
func TestWhatIsKeptOfAConnection(t *testing.T) {
	tried := &fleet.Snapshot{NextTry: time.Unix(1, 0)}
	for name, c := range map[string]struct {
		state    fleet.State
		snapshot *fleet.Snapshot
		want     [2]string // connection, configuration
	}{
		"not tried": {fleet.State{Connection: fleet.Unreachable, Configuration: fleet.ConfigUnknown},
			&fleet.Snapshot{}, [2]string{"", ""}},
		"unreachable": {fleet.State{Connection: fleet.Unreachable, Configuration: fleet.ConfigUnknown}, tried,
			[2]string{"unreachable", ""}},
		"online": {fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigInSync}, &fleet.Snapshot{},
			[2]string{"online", "inSync"}},
		"on its way": {fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigApplying}, &fleet.Snapshot{},
			[2]string{"online", ""}},
		"held": {fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigHeld}, &fleet.Snapshot{},
			[2]string{"online", "held"}},
		"another certificate": {fleet.State{Connection: fleet.PinMismatch}, &fleet.Snapshot{},
			[2]string{"pinMismatch", ""}},
	} {
		got := connectionStandings(c.state, c.snapshot)
		if len(got) != 2 || [2]string{got[0].State, got[1].State} != c.want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

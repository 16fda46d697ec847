package view

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

// A device that was registered minutes ago and never seen was listed by `device list --stale 7d`.
func TestADeviceThatWasNeverSeenIsStaleFromItsRegistrationOn(t *testing.T) {
	week := time.Now().Add(-7 * 24 * time.Hour)
	for _, c := range []struct {
		name           string
		connection     fleet.Connection
		created, seen  time.Time
		isNotSeenSince bool
	}{
		{"never seen, new", fleet.NeverSeen, week.Add(time.Hour), time.Time{}, false},
		{"never seen, old", fleet.NeverSeen, week.Add(-time.Hour), time.Time{}, true},
		{"seen since", fleet.Unreachable, week.Add(-time.Hour), week.Add(time.Hour), false},
		{"seen before", fleet.Unreachable, week.Add(-time.Hour), week.Add(-time.Minute), true},
		{"online", fleet.Online, week.Add(-time.Hour), time.Time{}, false},
	} {
		row := &Row{Device: &fleet.Registered{Device: fleet.Device{CreatedAt: c.created}},
			State: fleet.State{Connection: c.connection, LastSeen: c.seen}}
		if got := row.notSeenSince(week); got != c.isNotSeenSince {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

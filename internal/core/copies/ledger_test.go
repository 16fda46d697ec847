package copies

import (
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

// What is lost with a device is what no other is proven to hold: a proof of now counts before a better one of earlier,
// and of earlier ones the latest counts.
func TestTheBestProofElsewhereIsFound(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	const a, b, c, d fleet.DeviceID = "a", "b", "c", "d"
	devices := []fleet.DeviceID{a, b, c, d}
	for name, test := range map[string]struct {
		held  map[fleet.DeviceID]Holding
		best  Holding
		found []fleet.DeviceID
	}{
		"nothing":                     {held: map[fleet.DeviceID]Holding{}},
		"two of now":                  {map[fleet.DeviceID]Holding{b: {Proven, at(11), at(12)}, d: {Proven, at(13), at(14)}}, Holding{Proven, at(11), at(12)}, []fleet.DeviceID{b, d}},
		"a better one of now":         {map[fleet.DeviceID]Holding{b: {Agrees, at(13), at(14)}, c: {Proven, at(11), at(12)}}, Holding{Proven, at(11), at(12)}, []fleet.DeviceID{c}},
		"now before better earlier":   {map[fleet.DeviceID]Holding{b: {Agrees, at(11), at(12)}, c: {Proven, at(5), at(6)}}, Holding{Agrees, at(11), at(12)}, []fleet.DeviceID{b}},
		"the latest of earlier":       {map[fleet.DeviceID]Holding{b: {Proven, at(5), at(6)}, c: {Agrees, at(7), at(8)}}, Holding{Agrees, at(7), at(8)}, []fleet.DeviceID{c}},
		"its own copy does not count": {held: map[fleet.DeviceID]Holding{a: {Proven, at(11), at(12)}}},
	} {
		l := Ledger{held: map[pair]Holding{}}
		for on, h := range test.held {
			l.held[pair{a, on}] = h
		}
		if best, found := l.Elsewhere(a, devices, at(10)); best != test.best || !slices.Equal(found, test.found) {
			t.Errorf("%s: got %v on %v, want %v on %v", name, best, found, test.best, test.found)
		}
	}
}

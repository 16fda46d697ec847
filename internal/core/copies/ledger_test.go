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
	nowProven, nowAgrees := Holding{Proven, at(11), at(12)}, Holding{Agrees, at(13), at(14)}
	earlierProven, laterAgrees := Holding{Proven, at(5), at(6)}, Holding{Agrees, at(7), at(8)}
	type held map[fleet.DeviceID]Holding
	for name, test := range map[string]struct {
		held
		best  Holding
		found []fleet.DeviceID
	}{
		"nothing":                   {},
		"two of now":                {held{b: nowProven, d: {Proven, at(13), at(14)}}, nowProven, []fleet.DeviceID{b, d}},
		"a better one of now":       {held{b: nowAgrees, c: nowProven}, nowProven, []fleet.DeviceID{c}},
		"now before better earlier": {held{b: nowAgrees, c: earlierProven}, nowAgrees, []fleet.DeviceID{b}},
		"the latest of earlier":     {held{b: earlierProven, c: laterAgrees}, laterAgrees, []fleet.DeviceID{c}},
		"its own copy":              {held: held{a: nowProven}},
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

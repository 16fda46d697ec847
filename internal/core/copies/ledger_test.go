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
	holding := func(grade Grade, until int64) Holding {
		return Holding{Grade: grade, Until: at(until), Read: at(until + 1)}
	}
	nowProven, nowAgrees := holding(Proven, 11), holding(Agrees, 13)
	earlierProven, laterAgrees := holding(Proven, 5), holding(Agrees, 7)
	restored := Holding{Grade: Proven, Until: at(11), Read: at(12), Past: true}
	type held map[fleet.DeviceID]Holding
	for name, test := range map[string]struct {
		held
		best  Holding
		found []fleet.DeviceID
	}{
		"nothing":                   {},
		"two of now":                {held{b: nowProven, d: holding(Proven, 13)}, nowProven, []fleet.DeviceID{b, d}},
		"a better one of now":       {held{b: nowAgrees, c: nowProven}, nowProven, []fleet.DeviceID{c}},
		"now before better earlier": {held{b: nowAgrees, c: earlierProven}, nowAgrees, []fleet.DeviceID{b}},
		"the latest of earlier":     {held{b: earlierProven, c: laterAgrees}, laterAgrees, []fleet.DeviceID{c}},
		"now before a restored one": {held{b: nowAgrees, c: restored}, nowAgrees, []fleet.DeviceID{b}},
		"its own copy":              {held: held{a: nowProven}},
	} {
		l := Ledger{held: map[pair]proof{}}
		for on, h := range test.held {
			l.held[pair{a, on}] = proof{Holding: h}
		}
		if best, found := l.Elsewhere(a, devices, at(10)); best != test.best || !slices.Equal(found, test.found) {
			t.Errorf("%s: got %v on %v, want %v on %v", name, best, found, test.best, test.found)
		}
	}
}

// A device whose copy of one device's data is of now, and of another's of earlier, has a copy of earlier.
func TestTheLeastThatADeviceHoldsIsFound(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	const a, b, c fleet.DeviceID = "a", "b", "c"
	agreesNow := Holding{Grade: Agrees, Until: at(11)}
	for name, other := range map[string]Holding{
		"proven earlier":  {Grade: Proven, Until: at(5)},
		"proven restored": {Grade: Proven, Until: at(12), Past: true},
		"not proven":      {},
		"proven so far":   {Grade: Proven, Until: at(9)},
	} {
		l := Ledger{held: map[pair]proof{{a, b}: {Holding: agreesNow}, {c, b}: {Holding: other}}}
		if least, _ := l.Holding(b, []fleet.DeviceID{a, b, c}, at(10)); least != other || least.IsOf(at(10)) {
			t.Errorf("%s: got %+v", name, least)
		}
	}
}

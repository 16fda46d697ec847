package copies

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"muster/internal/fleet"
	"muster/test/indexes"
)

// extensions are the rule by which a proof is carried on, and weaker ones. Each has a ledger of its own.
var extensions = map[string]struct {
	read   func(Reading) Reading
	proven func(*Ledger)
}{
	"the rule": {},
	"the number and the start alone": {read: func(r Reading) Reading {
		r.Summary.StateChanged = time.Unix(1, 0)
		return r
	}, proven: ripen},
	"a state that began in the same second": {proven: ripen},
}

// ripen has proofs extended whose indexes were not known for long enough.
func ripen(l *Ledger) {
	for p, h := range l.held {
		h.ripe = true
		l.held[p] = h
	}
}

// TestWhatIsExtendedIsTrue proves in random histories, has anything happen, and extends. What is extended is compared
// with the files, and each weaker rule must be found to lie.
func TestWhatIsExtendedIsTrue(t *testing.T) {
	const enough = 10000
	histories, extended, lies := 0, map[string]int{}, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		histories++
		w := newWorld(3)
		w.Unrest(indexes.Drawn{T: t})
		ledgers := map[string]*Ledger{}
		for name := range extensions {
			ledgers[name] = &Ledger{}
		}
		w.readAll(ledgers)
		for range rapid.IntRange(0, 1).Draw(t, "waits") {
			w.Now += 3 * indexes.Ticks // An index must be known for a while before a proof of it can be extended.
		}
		w.proveAll(t, ledgers)
		for range rapid.IntRange(0, 4).Draw(t, "events") {
			w.Event(indexes.Drawn{T: t})
		}
		had := map[fleet.DeviceID]map[string]int64{}
		readings := map[fleet.DeviceID]Reading{}
		for _, d := range w.Daemons {
			readings[d.ID] = w.read(d)
			had[d.ID] = maps.Clone(d.Files)
			w.Between(indexes.Drawn{T: t})
		}
		for name, ledger := range ledgers {
			ledger.Extend(rereadings(name, readings))
			for _, of := range w.Daemons {
				for _, on := range w.Daemons {
					held := ledger.Held(of.ID, on.ID)
					if of == on || held.Grade != Proven || !held.Until.Equal(readings[of.ID].Asked) {
						continue
					}
					extended[name]++
					if file := indexes.Lacking(had[of.ID], had[on.ID]); file != "" {
						if lies[name]++; name == "the rule" {
							t.Fatalf("%s of %s is said to be on %s still", file, of.ID, on.ID)
						}
					}
				}
			}
		}
	})
	t.Logf("extended %v, false %v", extended, lies)
	for name := range extensions {
		if !t.Failed() && histories >= enough && (extended[name] == 0 || name != "the rule" && lies[name] == 0) {
			t.Errorf("%s: %d proofs extended, %d of them false: the histories are too tame", name, extended[name], lies[name])
		}
	}
}

// rereadings are readings as one of the rules looks at them.
func rereadings(rule string, readings map[fleet.DeviceID]Reading) map[fleet.DeviceID]Reading {
	look := extensions[rule].read
	if look == nil {
		return readings
	}
	all := map[fleet.DeviceID]Reading{}
	for id, r := range readings {
		all[id] = look(r)
	}
	return all
}

// readAll tells the ledgers of a first reading of each device.
func (w world) readAll(ledgers map[string]*Ledger) {
	for _, d := range w.Daemons {
		r := w.read(d)
		for name, ledger := range ledgers {
			ledger.Note(d.ID, rereadings(name, map[fleet.DeviceID]Reading{d.ID: r})[d.ID])
		}
	}
}

// proveAll makes a round in all ledgers.
func (w world) proveAll(t *rapid.T, ledgers map[string]*Ledger) {
	byID, last := map[fleet.DeviceID]*indexes.Daemon{}, map[fleet.DeviceID]Reading{}
	for _, d := range w.Daemons {
		byID[d.ID], last[d.ID] = d, w.read(d)
	}
	steps := Steps(slices.Sorted(maps.Keys(byID)), func(a, b fleet.DeviceID) bool { return w.Linked(byID[a], byID[b]) })
	for _, step := range steps {
		d, peer := byID[step.Of], byID[step.To]
		of := w.completion(d, peer)
		w.Between(indexes.Drawn{T: t})
		first := map[fleet.DeviceID]Reading{step.Of: last[step.Of], step.To: last[step.To]}
		last[step.Of] = w.read(d)
		last[step.To] = w.read(peer)
		for name, ledger := range ledgers {
			one, two := rereadings(name, first), rereadings(name, last)
			ledger.Prove(Side{step.Of, one[step.Of], two[step.Of]}, Side{step.To, one[step.To], two[step.To]}, of)
		}
	}
	for name, ledger := range ledgers {
		if proven := extensions[name].proven; proven != nil {
			proven(ledger)
		}
	}
}

// A stored ledger says what was true at its time, and nothing about now: it is neither extended nor led on by chains.
func TestARestoredProofIsOfItsTime(t *testing.T) {
	const a, b, c fleet.DeviceID = "a", "b", "c"
	noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	reading := func(after time.Duration) Reading {
		r := Reading{Asked: noon.Add(after), Answered: noon.Add(after), Started: noon.Add(-time.Hour),
			Heard: map[fleet.DeviceID]int64{a: 5, b: 5, c: 5}}
		r.Summary.State, r.Summary.StateChanged, r.Summary.Sequence = "idle", noon.Add(-time.Minute), 5
		return r
	}
	prove := func(l *Ledger, of, on fleet.DeviceID, after time.Duration) {
		t.Helper()
		says := Completion{Asked: noon.Add(after), Answered: noon.Add(after)}
		second := reading(after)
		if doubt := l.Prove(Side{of, reading(0), second}, Side{on, reading(0), second}, says); doubt != "" {
			t.Fatal(doubt)
		}
	}
	var l Ledger
	l.Begin(noon)
	prove(&l, a, b, 3*time.Second)
	again := map[fleet.DeviceID]Reading{a: reading(time.Minute), b: reading(time.Minute)}
	body, err := l.Encode(noon)
	if err != nil {
		t.Fatal(err)
	}
	if l.Extend(again); !l.Held(a, b).IsOf(noon.Add(time.Minute)) {
		t.Fatalf("a proof between devices at rest is not extended: %+v", l.Held(a, b))
	}
	restored, err := DecodeLedger(body)
	if err != nil {
		t.Fatal(err)
	}
	want := Holding{Grade: Proven, Until: noon.Add(3 * time.Second), Read: noon.Add(3 * time.Second), Past: true}
	restored.Extend(again)
	if got := restored.Held(a, b); got != want || got.IsOf(noon) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	prove(&restored, b, c, time.Minute)
	if got := restored.Held(a, c); got.Grade != Unproven {
		t.Errorf("a restored proof is led on: %+v", got)
	}
	restarted := reading(time.Hour)
	restarted.Started = noon
	if restored.Note(b, restarted); restored.Held(a, b).Grade != Unproven {
		t.Error("a start of the daemon does not void what was restored")
	}
	if _, err := DecodeLedger([]byte(`{"devices":[{"id":"a"}],"proofs":[{"of":0,"on":1,"grade":2}]}`)); err == nil {
		t.Error("a proof of no device is believed")
	}
}

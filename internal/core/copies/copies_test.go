// The histories are random: fewer than enough of them may be too tame to catch a weaker rule.
//
//muster:test -rapid.checks=10000 -rapid.seed=1
//muster:soak -rapid.checks=200000
package copies

import (
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"muster/internal/fleet"
	"muster/test/indexes"
)

// rules are the rule and weaker ones, each of which lets something false pass.
var rules = map[string]func(a, b Side, of Completion) bool{
	"the rule": func(a, b Side, of Completion) bool {
		grade, _ := Judge(a, b, of)
		return grade == Proven
	},
	"idle, and needs nothing": func(a, b Side, _ Completion) bool { return either(a, b, atRest) == "" },
	"has heard as many numbers": func(a, b Side, _ Completion) bool {
		return either(a, b, atRest) == "" && b.Second.Heard[a.Device] >= a.Second.Summary.Sequence
	},
	"has heard the same number, in one round": func(a, b Side, _ Completion) bool {
		return either(a, b, atRest) == "" && b.Second.Heard[a.Device] == a.Second.Summary.Sequence
	},
	"without completion": func(a, b Side, of Completion) bool {
		of.NeedItems = 0
		grade, _ := Judge(a, b, of)
		return grade == Proven
	},
	"without flags": func(a, b Side, of Completion) bool {
		grade, _ := Judge(withoutFlags(a), withoutFlags(b), of)
		return grade == Proven
	},
}

func withoutFlags(s Side) Side {
	is := &s.Second.Summary
	is.IgnorePatterns, is.GlobalFiles = false, is.LocalFiles
	return s
}

// world is the model, with readings as this package takes them.
type world struct{ *indexes.World }

func newWorld(n int) world { return world{indexes.New(n)} }

func (w world) read(d *indexes.Daemon) Reading {
	w.Now++
	r := Reading{Asked: w.Clock(), Answered: w.Clock(), Started: d.Started()}
	r.Summary, r.Heard = d.Status()
	return r
}

func (w world) completion(d, peer *indexes.Daemon) Completion {
	w.Now++
	return Completion{Asked: w.Clock(), Answered: w.Clock(), Completion: d.Completion(peer)}
}

// TestWhatIsProvenIsTrue runs random histories in which anything happens between any two requests of a proof. What the
// rule proves is compared with the files; with enough histories each weaker rule must be found to lie, or they prove
// nothing.
func TestWhatIsProvenIsTrue(t *testing.T) {
	const enough = 10000
	histories, proofs, lies := 0, map[string]int{}, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(3)
		histories++
		w.Unrest(indexes.Drawn{T: t})
		a, b := Side{Device: w.Daemons[0].ID}, Side{Device: w.Daemons[1].ID}
		a.First = w.read(w.Daemons[0])
		w.Between(indexes.Drawn{T: t})
		b.First = w.read(w.Daemons[1])
		w.Between(indexes.Drawn{T: t})
		had := maps.Clone(w.Daemons[0].Files)
		of := w.completion(w.Daemons[0], w.Daemons[1])
		w.Between(indexes.Drawn{T: t})
		a.Second = w.read(w.Daemons[0])
		w.Between(indexes.Drawn{T: t})
		b.Second = w.read(w.Daemons[1])
		for name, holds := range rules {
			if !holds(a, b, of) {
				continue
			}
			proofs[name]++
			if file := indexes.Lacking(had, w.Daemons[1].Files); file != "" {
				if lies[name]++; name == "the rule" {
					t.Errorf("%s of %s is proven to be on %s", file, a.Device, b.Device)
				}
			}
		}
	})
	t.Logf("proofs %v, false %v", proofs, lies)
	for name := range rules {
		if !t.Failed() && histories >= enough && (proofs[name] == 0 || name != "the rule" && lies[name] == 0) {
			t.Errorf("%s: %d proofs, %d false ones: the histories are too tame", name, proofs[name], lies[name])
		}
	}
}

// TestChainsOfProofsAreTrue proves along a tree, and compares what the ledger says of each pair, also of those that are
// not linked, with what the files were at that moment.
func TestChainsOfProofsAreTrue(t *testing.T) {
	chains := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(4)
		w.Slow = true
		w.Cut(0, 3)
		w.Cut(0, 2)
		w.Unrest(indexes.Drawn{T: t})
		var ledger Ledger
		last := map[fleet.DeviceID]Reading{}
		byID := map[fleet.DeviceID]*indexes.Daemon{}
		var ids []fleet.DeviceID
		for _, d := range w.Daemons {
			ids, byID[d.ID], last[d.ID] = append(ids, d.ID), d, w.read(d)
		}
		had := map[time.Time]map[fleet.DeviceID]map[string]int64{} // by the moment of a proof
		for range rapid.IntRange(1, 2).Draw(t, "rounds") {
			for _, step := range Steps(ids, func(a, b fleet.DeviceID) bool { return w.Linked(byID[a], byID[b]) }) {
				w.Between(indexes.Drawn{T: t})
				d, peer := byID[step.Of], byID[step.To]
				files := map[fleet.DeviceID]map[string]int64{}
				for _, each := range w.Daemons {
					files[each.ID] = maps.Clone(each.Files)
				}
				of := w.completion(d, peer)
				had[of.Asked] = files
				w.Between(indexes.Drawn{T: t})
				a := Side{step.Of, last[step.Of], w.read(d)}
				w.Between(indexes.Drawn{T: t})
				b := Side{step.To, last[step.To], w.read(peer)}
				last[step.Of], last[step.To] = a.Second, b.Second
				ledger.Prove(a, b, of)
				for _, source := range w.Daemons {
					held := ledger.Held(source.ID, peer.ID)
					if held.Grade != Proven || !held.Read.Equal(b.Second.Answered) {
						continue // It was proven earlier, and files may have changed since.
					}
					if source != d {
						chains++
					}
					if file := indexes.Lacking(had[held.Until][source.ID], peer.Files); file != "" {
						t.Fatalf("%s of %s is proven to be on %s", file, source.ID, peer.ID)
					}
				}
			}
		}
	})
	if chains == 0 {
		t.Error("nothing was proven by a chain")
	}
	t.Logf("%d proofs by chains", chains)
}

// The histories are random: fewer than enough of them may be too tame to catch a weaker rule.
//
//muster:test -rapid.checks=10000 -rapid.seed=1
//muster:soak -rapid.checks=200000
package copies

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"muster/internal/fleet"
)

// daemon is a device that shares the one folder of the model. Versions of files are numbers; the larger is the newer.
type daemon struct {
	id       fleet.DeviceID
	started  int64
	sequence int64
	files    map[string]int64
	heard    map[*daemon]index
	deaf     bool // It takes nothing more and says that it lacks nothing, as an encrypted copy after a reset does.
}

// index is what a daemon told of itself.
type index struct {
	started  int64 // of the database that it was made from
	sequence int64
	files    map[string]int64
}

// newest is the newest version of each file that a daemon knows of.
func (d *daemon) newest() map[string]int64 {
	all := maps.Clone(d.files)
	for _, told := range d.heard {
		for name, version := range told.files {
			all[name] = max(all[name], version)
		}
	}
	return all
}

func (d *daemon) pull() {
	for name, version := range d.newest() {
		if d.files[name] < version && !d.deaf {
			d.sequence++
			d.files[name] = version
		}
	}
}

// lacks counts the newest files that somebody who has these does not have.
func (d *daemon) lacks(has map[string]int64) (n int64) {
	for name, version := range d.newest() {
		if has[name] < version {
			n++
		}
	}
	return n
}

// world is a fleet whose daemons tell each other in pieces, in any order.
type world struct {
	now     int64 // counts events; it is the clock, and numbers versions
	daemons []*daemon
	cut     map[[2]int]bool
}

func newWorld(n int) *world {
	w := &world{cut: map[[2]int]bool{}}
	for i := range n {
		w.daemons = append(w.daemons, &daemon{id: fleet.DeviceID(fmt.Sprint("device-", i)), started: 1,
			files: map[string]int64{}, heard: map[*daemon]index{}})
	}
	return w
}

// event does one thing that may happen at any time.
func (w *world) event(t *rapid.T) {
	w.now++
	a := rapid.IntRange(0, len(w.daemons)-1).Draw(t, "daemon")
	b := rapid.IntRange(0, len(w.daemons)-1).Draw(t, "peer")
	d, peer := w.daemons[a], w.daemons[b]
	link := [2]int{min(a, b), max(a, b)}
	switch rapid.SampledFrom([]string{"write", "tell", "tell", "tell", "pull", "pull", "cut", "join", "reset", "deafen"}).
		Draw(t, "event") {
	case "write":
		d.sequence++
		d.files[rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "file")] = w.now
	case "tell":
		if a != b && !w.cut[link] {
			d.tell(peer)
		}
	case "pull":
		d.pull()
	case "cut":
		w.cut[link] = true
	case "join":
		delete(w.cut, link)
	case "reset": // The database is made anew from what is on the disk; peers keep what they heard.
		d.started, d.sequence, d.heard = w.now, int64(len(d.files)), map[*daemon]index{}
		if d.deaf = false; rapid.Bool().Draw(t, "loses a file") {
			for name := range d.files {
				delete(d.files, name)
				break
			}
			d.sequence = int64(len(d.files))
		}
	case "deafen":
		d.deaf = rapid.IntRange(0, 9).Draw(t, "rarely") == 0
	}
}

// tell brings the index of a daemon to a peer. Before they exchange indexes, both learn whether the other's database is
// the one that they know the index of.
func (d *daemon) tell(peer *daemon) {
	if d.heard[peer].started != peer.started {
		delete(d.heard, peer)
	}
	peer.heard[d] = index{d.started, d.sequence, maps.Clone(d.files)}
}

// settle has all linked daemons tell and take until nothing moves any more.
func (w *world) settle() {
	for range len(w.daemons) * 2 {
		for a, d := range w.daemons {
			for b, peer := range w.daemons {
				if a != b && !w.cut[[2]int{min(a, b), max(a, b)}] {
					d.tell(peer)
				}
			}
		}
		for _, d := range w.daemons {
			d.pull()
		}
	}
}

func (w *world) at() time.Time { return time.Unix(w.now, 0) }

// read is db/status.
func (w *world) read(d *daemon) Reading {
	w.now++
	r := Reading{Asked: w.at(), Answered: w.at(), Started: time.Unix(d.started, 0), Heard: map[fleet.DeviceID]int64{}}
	r.Summary.State, r.Summary.Sequence = "idle", d.sequence
	r.Summary.LocalFiles, r.Summary.GlobalFiles = int64(len(d.files)), int64(len(d.newest()))
	if r.Summary.NeedFiles = d.lacks(d.files); d.deaf {
		r.Summary.NeedFiles, r.Summary.GlobalFiles = 0, r.Summary.LocalFiles
	}
	for peer, told := range d.heard {
		r.Heard[peer.id] = told.sequence
	}
	return r
}

// completion is db/completion of a peer.
func (w *world) completion(d, peer *daemon) Completion {
	w.now++
	return Completion{Asked: w.at(), Answered: w.at(),
		Completion: fleet.Completion{NeedItems: d.lacks(d.heard[peer].files), RemoteState: "valid"}}
}

// rules are the rule and weaker ones, each of which lets something false pass.
var rules = map[string]func(a, b Side, of Completion) bool{
	"the rule": func(a, b Side, of Completion) bool {
		_, doubt := Judge(a, b, of)
		return doubt == ""
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
		_, doubt := Judge(a, b, of)
		return doubt == ""
	},
}

// unrest draws a history: anything happens, then sometimes nothing for so long that all is told and taken.
func unrest(t *rapid.T, w *world) {
	for range rapid.IntRange(0, 40).Draw(t, "events") {
		w.event(t)
	}
	if rapid.IntRange(0, 3).Draw(t, "rest") > 0 {
		w.settle()
	}
}

// between is what happens between two requests: mostly nothing.
func between(t *rapid.T, w *world) {
	for range max(0, rapid.IntRange(-4, 3).Draw(t, "events between")) {
		w.event(t)
	}
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
		unrest(t, w)
		a, b := Side{Device: w.daemons[0].id}, Side{Device: w.daemons[1].id}
		a.First = w.read(w.daemons[0])
		between(t, w)
		b.First = w.read(w.daemons[1])
		between(t, w)
		had := maps.Clone(w.daemons[0].files)
		of := w.completion(w.daemons[0], w.daemons[1])
		between(t, w)
		a.Second = w.read(w.daemons[0])
		between(t, w)
		b.Second = w.read(w.daemons[1])
		for name, holds := range rules {
			if !holds(a, b, of) {
				continue
			}
			proofs[name]++
			if file := lacking(had, w.daemons[1].files); file != "" {
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

// lacking is a file of which somebody has an older version, or none.
func lacking(had, has map[string]int64) string {
	for file, version := range had {
		if has[file] < version {
			return file
		}
	}
	return ""
}

// TestChainsOfProofsAreTrue proves along a tree, and compares what the ledger says of each pair, also of those that are
// not linked, with what the files were at that moment.
func TestChainsOfProofsAreTrue(t *testing.T) {
	chains := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(4)
		w.cut[[2]int{0, 3}], w.cut[[2]int{0, 2}] = true, true
		unrest(t, w)
		var ledger Ledger
		last := map[fleet.DeviceID]Reading{}
		byID := map[fleet.DeviceID]*daemon{}
		var ids []fleet.DeviceID
		for _, d := range w.daemons {
			ids, byID[d.id], last[d.id] = append(ids, d.id), d, w.read(d)
		}
		had := map[time.Time]map[fleet.DeviceID]map[string]int64{} // by the moment of a proof
		for range rapid.IntRange(1, 2).Draw(t, "rounds") {
			for _, step := range Steps(ids, func(a, b fleet.DeviceID) bool { return w.linked(byID[a], byID[b]) }) {
				between(t, w)
				d, peer := byID[step.Of], byID[step.To]
				files := map[fleet.DeviceID]map[string]int64{}
				for _, each := range w.daemons {
					files[each.id] = maps.Clone(each.files)
				}
				of := w.completion(d, peer)
				had[of.Asked] = files
				between(t, w)
				a := Side{step.Of, last[step.Of], w.read(d)}
				between(t, w)
				b := Side{step.To, last[step.To], w.read(peer)}
				last[step.Of], last[step.To] = a.Second, b.Second
				ledger.Prove(a, b, of)
				for _, source := range w.daemons {
					held := ledger.Held(source.id, peer.id)
					if held.Grade == Unproven || !held.Read.Equal(b.Second.Answered) {
						continue // It was proven earlier, and files may have changed since.
					}
					if source != d {
						chains++
					}
					if file := lacking(had[held.Until][source.id], peer.files); file != "" {
						t.Fatalf("%s of %s is proven to be on %s", file, source.id, peer.id)
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

func (w *world) linked(a, b *daemon) bool {
	_, heard := a.heard[b]
	_, hears := b.heard[a]
	return heard && hears
}

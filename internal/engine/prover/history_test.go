// The histories are random: a few of them say little.
//
//muster:test -rapid.checks=1000 -rapid.seed=1
//muster:soak -rapid.checks=10000
package prover

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"muster/internal/core/copies"
	"muster/internal/fleet"
	"muster/test/indexes"
)

// history answers for the daemons of the model, which does anything between two requests. It remembers what each had.
type history struct {
	*indexes.World
	t        *rapid.T
	chance   indexes.Chance
	had      map[time.Time]map[fleet.DeviceID]map[string]int64 // by the clock of Muster
	read     map[fleet.DeviceID]map[string]int64               // what a device had when it answered in this round
	last     map[fleet.DeviceID]map[string]int64               // what a device had when it answered last
	asked    int
	compared int       // requests for what a peer lacks
	each     func(int) // called with the number of each request
	kept     []byte
}

func (h *history) FolderProofs(context.Context, string) ([]byte, error) { return h.kept, nil }

func (h *history) PutFolderProofs(_ context.Context, _ string, proofs []byte) error {
	h.kept = proofs
	return nil
}

func (h *history) daemon(id fleet.DeviceID) *indexes.Daemon {
	return h.Daemons[slices.IndexFunc(h.Daemons, func(d *indexes.Daemon) bool { return d.ID == id })]
}

func (h *history) request() {
	if h.chance.IntN(10) == 0 {
		h.Between(h.chance)
	}
	h.Now++
	h.asked++
	h.each(h.asked)
}

func (h *history) Started(_ context.Context, id fleet.DeviceID) (time.Time, error) {
	h.request()
	return h.daemon(id).Started(), nil
}

func (h *history) FolderIndexes(ctx context.Context, id fleet.DeviceID, _ string) (is fleet.FolderSummary,
	heard map[fleet.DeviceID]int64, err error) {
	h.request()
	is, heard = h.daemon(id).Status()
	h.read[id] = maps.Clone(h.daemon(id).Files)
	h.last[id] = h.read[id]
	return is, heard, ctx.Err()
}

func (h *history) Completion(ctx context.Context, id fleet.DeviceID, _ string, peer fleet.DeviceID,
) (fleet.Completion, error) {
	h.request()
	h.compared++
	return h.daemon(id).Completion(h.daemon(peer)), ctx.Err()
}

// clock is Muster's. What the daemons have is remembered whenever it is read.
func (h *history) clock() time.Time {
	all := map[fleet.DeviceID]map[string]int64{}
	for _, d := range h.Daemons {
		all[d.ID] = maps.Clone(d.Files)
	}
	h.had[h.Clock()] = all
	return h.Clock()
}

func (h *history) snapshot(id fleet.DeviceID) *fleet.Snapshot {
	d, all := h.daemon(id), []fleet.DeviceID{}
	var connected []fleet.DeviceID
	for _, peer := range h.Daemons {
		all = append(all, peer.ID)
		if peer != d && h.Linked(d, peer) {
			connected = append(connected, peer.ID)
		}
	}
	is, _ := d.Status()
	return &fleet.Snapshot{Device: id, Connection: fleet.Online, ConnectedAt: time.Unix(1, 0),
		Connected: fleet.PeersOf(connected), Summaries: map[string]fleet.FolderSummary{"docs": is},
		Shares: []fleet.SharedFolder{{Folder: "docs", With: fleet.PeersOf(all)}}}
}

// prover is a server that was just started over what is stored.
func (h *history) prover() *Prover {
	p := New(Options{Daemons: h, Snapshot: h.snapshot, Now: h.clock, Kept: h})
	p.reads = 1 // The order of the requests is part of the history.
	return p
}

// check compares what a new report says is proven with what the daemons had.
func (h *history) check(r Report, ledger *copies.Ledger) (proofs int) {
	for _, c := range r.Copies {
		if c.State == Proven {
			if c.Until.Before(r.ReadAt) {
				h.t.Fatalf("a proof of %s is said to be of now, at %s", c.Until, r.ReadAt)
			}
			for _, other := range r.Copies {
				held := ledger.Held(other.Device, c.Device)
				if h.read[other.Device] == nil || other.Device == c.Device {
					continue
				}
				if held.Until.Before(c.Until) {
					h.t.Fatalf("%s is not proven to have all of %s up to %s", c.Device, other.Device, c.Until)
				}
				h.holds(other.Device, held.Until, c.Device)
			}
			proofs++
		}
		for _, on := range c.Elsewhere.Kept {
			isWhole := ledger.Held(c.Device, on).Grade == copies.Proven
			if file := indexes.Lacking(h.last[c.Device], h.last[on]); isWhole && c.last.IsRead && file != "" {
				h.t.Fatalf("%s of %s is said to have been on %s", file, c.Device, on)
			}
		}
		if c.Elsewhere.State == Proven {
			for _, on := range c.Elsewhere.On {
				h.holds(c.Device, ledger.Held(c.Device, on).Until, on)
			}
		}
	}
	return proofs
}

func (h *history) holds(of fleet.DeviceID, at time.Time, on fleet.DeviceID) {
	if file := indexes.Lacking(h.had[at][of], h.read[on]); file != "" && of != on {
		h.t.Fatalf("%s of %s at %s is proven to be on %s", file, of, at, on)
	}
}

// TestWhatIsReportedAsProvenIsTrue has daemons and Muster go through random histories: anything happens between two
// requests, daemons are started over old backups, folders are added anew, and Muster is killed in the middle of a round
// and started again over what it stored.
func TestWhatIsReportedAsProvenIsTrue(t *testing.T) {
	const enough = 1000
	histories, proofs, extended, killed := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		histories++
		// Requests are made by several goroutines, in which rapid cannot draw.
		chance := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) //nolint:gosec // it is no secret
		h := &history{World: indexes.New(3), t: t, chance: chance, last: map[fleet.DeviceID]map[string]int64{},
			had: map[time.Time]map[fleet.DeviceID]map[string]int64{}}
		h.Slow = true
		h.Unrest(h.chance)
		var ids []fleet.DeviceID
		for _, d := range h.Daemons {
			ids = append(ids, d.ID)
		}
		p, last := h.prover(), time.Time{}
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			h.Now += rapid.SampledFrom([]int64{0, 3600 * indexes.Ticks}).Draw(t, "pause")
			for range rapid.IntRange(0, 3).Draw(t, "events") {
				h.Event(h.chance)
			}
			ctx, kill := context.WithCancel(t.Context())
			diesAt := rapid.IntRange(-60, 20).Draw(t, "dies at request")
			h.asked, h.compared, h.read = 0, 0, map[fleet.DeviceID]map[string]int64{}
			h.each = func(n int) {
				if n == diesAt {
					kill()
				}
			}
			report, err := p.Copies(ctx, "docs", ids)
			kill()
			switch {
			case ctx.Err() != nil && diesAt > 0 && h.asked >= diesAt:
				killed++
				p = h.prover()
				continue
			case err != nil || report.ReadAt.Equal(last):
				continue // The daemons are left alone.
			}
			last = report.ReadAt
			found := h.check(report, &p.folder("docs").ledger)
			if proofs += found; found > 0 && h.compared == 0 {
				extended++
			}
		}
	})
	t.Logf("%d proofs, %d rounds extended, %d times killed", proofs, extended, killed)
	if !t.Failed() && histories >= enough && (proofs == 0 || extended == 0 || killed == 0) {
		t.Error("the histories are too tame")
	}
}

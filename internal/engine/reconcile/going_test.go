package reconcile

import (
	"context"
	"fmt"
	"testing"
	"time"

	"muster/internal/fleet"
)

// TestTheSameLossesAgainDisturbNobody covers two devices whose attempts take turns.
func TestTheSameLossesAgainDisturbNobody(t *testing.T) {
	g := goingLosses{losses: map[fleet.DeviceID]reservation{}}
	loss := func(id fleet.DeviceID, peers ...fleet.DeviceID) []fleet.CopyLoss {
		return []fleet.CopyLoss{{Folder: "docs", Device: id, Peers: peers}}
	}
	now := time.Unix(1, 0)
	if !g.reserve("a", loss("a", "x"), 0, now) || g.reserve("b", loss("b", "x"), 0, now) {
		t.Fatal("b was planned before a reserved")
	}
	seen := g.count()
	if !g.reserve("a", loss("a", "x"), seen, now) || !g.reserve("b", loss("b", "x"), seen, now) {
		t.Error("a reserved the same again, and b has counted that")
	}
	seen = g.count()
	if !g.reserve("a", loss("a", "x", "y"), seen, now) || g.reserve("b", loss("b", "x"), seen, now) {
		t.Error("a reserved more than b has counted")
	}
	seen = g.count()
	later := now.Add(2 * goingTime)
	if !g.reserve("a", loss("a", "x", "y"), seen, later) || g.reserve("b", loss("b", "x"), seen, later) {
		t.Error("the reservation had ended, and b has not counted it")
	}
}

// docsStore and docsDaemon have other documents.
type docsStore struct{ Store }

func (docsStore) ObservedConfig(context.Context, fleet.DeviceID) (fleet.ObservedConfig, error) {
	return fleet.ObservedConfig{JSON: []byte("stored"), Digest: "stored"}, nil
}

type docsDaemon struct {
	Daemon
	reads int
}

func (d *docsDaemon) Config(context.Context, fleet.DeviceID) (fleet.ObservedConfig, error) {
	d.reads++
	return fleet.ObservedConfig{JSON: []byte("fresh"), Digest: fmt.Sprint("fresh ", d.reads)}, nil
}

// TestBothPlansOfAComparisonAreOfOneDocument covers more devices than are read afresh.
func TestBothPlansOfAComparisonAreOfOneDocument(t *testing.T) {
	daemon := &docsDaemon{}
	e := &Engine{queue: &queue{}, o: Options{Store: docsStore{}, Daemon: daemon}}
	w := whatIf{Engine: e, now: &generation{}, then: &generation{}}
	document := func(i int) string {
		in := input{id: fleet.DeviceID(fmt.Sprint(i)), known: Known{Online: true, Unstored: true, Digest: "newer"}}
		got, err := w.freshDocument(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return got.Digest
	}
	const devices = mostFreshReads + 6
	var first [devices]string
	for i := range devices {
		first[i] = document(i)
	}
	for i := range devices {
		if second := document(i); second != first[i] {
			t.Errorf("device %d is compared by %q and %q", i, first[i], second)
		}
	}
	if daemon.reads != mostFreshReads || first[0] == "stored" || first[devices-1] != "stored" {
		t.Errorf("%d reads, %q", daemon.reads, first)
	}
}

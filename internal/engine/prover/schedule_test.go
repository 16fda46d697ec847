package prover

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// atRest is what a daemon tells of a folder that nothing happens in.
func atRest(sequence int64) fleet.FolderSummary {
	return fleet.FolderSummary{State: "idle", StateChanged: time.Unix(1, 0), Sequence: sequence}
}

// tell has a device tell of its folder, and Run hear of it.
func (d *daemons) tell(p *Prover, id fleet.DeviceID, is fleet.FolderSummary) {
	d.mu.Lock()
	newer := *d.snapshot[id]
	newer.Summaries = map[string]fleet.FolderSummary{"docs": is}
	d.snapshot[id] = &newer
	d.mu.Unlock()
	p.Changed(id)
}

func (d *daemons) requests() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

// running starts a prover whose devices a and b have told of the folder already. Its clock is that of the test.
func running(t *testing.T, d *daemons) *Prover {
	t.Helper()
	p := New(Options{Daemons: d, Snapshot: func(id fleet.DeviceID) *fleet.Snapshot {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.snapshot[id]
	}, Devices: func(context.Context, string) ([]fleet.DeviceID, error) { return []fleet.DeviceID{a, b}, nil }})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; ctx.Err() == nil {
			t.Errorf("it ended by itself: %v", err)
		}
	})
	for _, id := range []fleet.DeviceID{a, b} {
		d.tell(p, id, atRest(5))
	}
	after(time.Minute)
	return p
}

// after lets time pass, and what runs by it.
func after(passed time.Duration) {
	time.Sleep(passed)
	synctest.Wait()
}

func TestAFolderIsProvenWhenItBecameQuietAndNotAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons()
		p := running(t, d)
		d.tell(p, a, fleet.FolderSummary{State: "scanning", StateChanged: time.Unix(2, 0), Sequence: 5})
		after(time.Minute)
		d.tell(p, a, atRest(5))
		if after(24 * time.Hour); d.requests() > 0 {
			t.Fatalf("%d requests for a folder in which nothing changed", d.requests())
		}
		d.tell(p, a, atRest(6))
		d.tell(p, b, fleet.FolderSummary{State: "syncing", StateChanged: time.Unix(3, 0), Sequence: 5, NeedFiles: 1})
		if after(time.Hour); d.requests() > 0 {
			t.Fatalf("%d requests while a device syncs", d.requests())
		}
		d.tell(p, b, atRest(6))
		after(10 * time.Second)
		if f := p.Figures(); len(f) != 1 || f[0].Copies != 2 || f[0].Open != 0 {
			t.Errorf("after it became quiet: %+v", f)
		}
	})
}

// A fleet that is registered has thousands of folders, and none of them changed.
func TestAFolderThatIsSeenForTheFirstTimeIsNotProvenAndOneThatIsAddedIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons()
		p := running(t, d)
		tell := func(shares []fleet.SharedFolder, folders []fleet.FolderLabel, summaries map[string]fleet.FolderSummary) {
			for _, id := range []fleet.DeviceID{a, b} {
				d.mu.Lock()
				newer := *d.snapshot[id]
				newer.Shares, newer.Folders, newer.Summaries = shares, folders, summaries
				d.snapshot[id] = &newer
				d.mu.Unlock()
				p.Changed(id)
				after(time.Second)
			}
		}
		shares, folders := d.snapshot[a].Shares, []fleet.FolderLabel{{Folder: "docs"}}
		summaries := map[string]fleet.FolderSummary{"docs": atRest(5)}
		tell(nil, nil, nil) // they are registered again
		tell(shares, folders, nil)
		tell(shares, folders, summaries)
		if after(time.Hour); d.requests() > 0 {
			t.Errorf("%d requests for a folder that is only seen for the first time", d.requests())
		}
		tell(shares, []fleet.FolderLabel{}, nil)
		tell(shares, folders, nil)
		tell(shares, folders, summaries)
		if after(time.Minute); d.requests() == 0 {
			t.Error("no request for a folder that devices have anew")
		}
	})
}

func TestAFolderThatChangesAgainAndAgainIsProvenOnceInFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons()
		p := running(t, d)
		changes := func(n int) {
			for range n {
				d.sequence++
				d.tell(p, a, atRest(d.sequence))
				d.tell(p, b, atRest(d.sequence))
				after(10 * time.Second)
			}
		}
		changes(2)
		first := d.requests()
		if first == 0 {
			t.Fatal("nothing is asked")
		}
		if f := p.Figures(); len(f) != 1 || f[0].Open == 0 {
			t.Errorf("a change is known, and yet all is said to be proven: %+v", f)
		}
		changes(20)
		if d.requests() != first {
			t.Errorf("%d requests, and after 200 s %d", first, d.requests())
		}
		if after(2 * time.Minute); d.requests() <= first {
			t.Error("the last changes are never proven")
		}
		if f := p.Figures(); len(f) != 1 || f[0].Open != 0 {
			t.Errorf("after the last changes were proven: %+v", f)
		}
	})
}

// A daemon answers rounds that nobody waits for during at most one part in fifty of its time.
func TestADaemonThatAnswersSlowlyIsLeftAloneByRoundsOfThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons()
		var busy time.Duration
		d.waits = time.Second
		p := running(t, d)
		began := time.Now()
		for range 100 {
			d.sequence++
			d.tell(p, a, atRest(d.sequence))
			d.tell(p, b, atRest(d.sequence))
			after(10 * time.Minute)
		}
		busy = time.Duration(d.requests()) * d.waits / 2 // two daemons
		if passed := time.Since(began); busy == 0 || busy > passed/busyShare+time.Minute {
			t.Errorf("a daemon was busy for %s in %s", busy, passed)
		}
	})
}

type memory struct{ proofs []byte }

func (m *memory) FolderProofs(context.Context, string) ([]byte, error) { return m.proofs, nil }

func (m *memory) PutFolderProofs(_ context.Context, _ string, proofs []byte) error {
	m.proofs = proofs
	return nil
}

// A copy that is away keeps the proof that it had, with its time, also over a start of the server.
func TestWhatWasProvenBeforeAStartIsOfItsTime(t *testing.T) {
	d, kept := newDaemons(), &memory{}
	first := report(t, d.proverOver(kept))
	if first.Proven() != 2 {
		t.Fatalf("nothing is proven: %+v", first)
	}
	d.now = d.now.Add(time.Hour)
	d.snapshot[b].Connection = fleet.Unreachable
	again := report(t, d.proverOver(kept))
	if c := again.Copies[1]; c.State != Behind || c.Until.Sub(first.Copies[1].Until).Abs() > time.Millisecond {
		t.Errorf("got %+v, want what was proven at %s", c, first.Copies[1].Until)
	}
	if risk := again.Copies[0].Elsewhere; risk.State != Behind || len(risk.On) != 1 {
		t.Errorf("elsewhere is %+v", risk)
	}
	d.now = d.now.Add(-2 * time.Hour) // The clock of the server was set back: a proof of its future is not of now.
	if c := report(t, d.proverOver(kept)).Copies[1]; c.State != Behind {
		t.Errorf("after the clock was set back: %+v", c)
	}
}

// Devices at rest are not asked again what others lack.
func TestAProofIsExtendedWithOneReadingOfEachDevice(t *testing.T) {
	d := newDaemons()
	p := d.prover()
	report(t, p)
	d.now = d.now.Add(time.Hour)
	if again := report(t, p); again.Proven() != 2 { // The index is known for long enough now.
		t.Fatalf("got %+v", again)
	}
	d.now, d.compared = d.now.Add(time.Hour), 0
	if again := report(t, p); again.Proven() != 2 || d.compared > 0 || again.Copies[0].Until.Before(again.ReadAt) {
		t.Errorf("after %d comparisons: %+v", d.compared, again)
	}
	d.now, d.scanned = d.now.Add(time.Hour), d.scanned.Add(time.Minute)
	if again := report(t, p); again.Proven() != 2 || d.compared == 0 {
		t.Errorf("a folder that may have been added anew is proven by %d comparisons: %+v", d.compared, again)
	}
}

// A stop had to wait until each of thousands of folders had been tried in vain.
func TestAStopDoesNotWaitForTheFoldersThatAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		d, tried := newDaemons(), 0
		p := New(Options{Daemons: d, Snapshot: func(id fleet.DeviceID) *fleet.Snapshot {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.snapshot[id]
		}, Devices: func(context.Context, string) ([]fleet.DeviceID, error) {
			stop()
			tried++
			return nil, context.Canceled
		}})
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		for sequence := range int64(2) {
			d.mu.Lock()
			newer := *d.snapshot[a]
			newer.Summaries = map[string]fleet.FolderSummary{}
			for _, folder := range []string{"docs", "music", "photos"} {
				newer.Summaries[folder] = atRest(sequence)
			}
			d.snapshot[a] = &newer
			d.mu.Unlock()
			p.Changed(a)
			after(2 * time.Second)
		}
		if err := <-done; err == nil || tried != 1 {
			t.Errorf("it ended with %v after %d folders, want 1", err, tried)
		}
	})
}

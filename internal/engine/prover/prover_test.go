package prover

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"muster/internal/fleet"
)

const (
	a fleet.DeviceID = "AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA"
	b fleet.DeviceID = "BBBBBBB-BBBBBBB-BBBBBBB-BBBBBBB-BBBBBBB-BBBBBBB-BBBBBBB-BBBBBBB"
)

// daemons are two that hold the same and have heard all of each other.
type daemons struct {
	mu       sync.Mutex // held over changes of now and asked by requests
	now      time.Time
	sequence int64
	scanned  time.Time
	costs    time.Duration // of one request, by the clock now
	waits    time.Duration // of one request, by the clock of the test
	asked    int
	each     func()         // called with each request; may be nil
	compared int            // requests for what a peer lacks
	fails    fleet.DeviceID // It does not answer what a proof asks.
	restarts bool           // A daemon is started again between any two requests.
	snapshot map[fleet.DeviceID]*fleet.Snapshot
}

func newDaemons() *daemons {
	noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	d := &daemons{now: noon, scanned: noon.Add(-time.Hour), sequence: 5,
		snapshot: map[fleet.DeviceID]*fleet.Snapshot{}}
	for id, peer := range map[fleet.DeviceID]fleet.DeviceID{a: b, b: a} {
		d.snapshot[id] = &fleet.Snapshot{Device: id, Connection: fleet.Online, ConnectedAt: d.now,
			Connected: fleet.PeersOf([]fleet.DeviceID{peer}), Folders: []fleet.FolderLabel{{Folder: "docs"}},
			Shares: []fleet.SharedFolder{{Folder: "docs", With: fleet.PeersOf([]fleet.DeviceID{a, b})}}}
	}
	return d
}

// ask is one request. It returns how many there were.
func (d *daemons) ask() int {
	time.Sleep(d.waits)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked++; d.each != nil {
		d.each()
	}
	d.now = d.now.Add(d.costs)
	return d.asked
}

func (d *daemons) Started(context.Context, fleet.DeviceID) (time.Time, error) {
	if asked := d.ask(); d.restarts {
		return time.Unix(int64(asked), 0), nil
	}
	return time.Unix(1, 0), nil
}

func (d *daemons) FolderIndexes(_ context.Context, id fleet.DeviceID, folder string) (fleet.FolderSummary,
	map[fleet.DeviceID]int64, error) {
	if d.ask(); id == d.fails {
		return fleet.FolderSummary{}, nil, errors.New("it does not answer")
	}
	return fleet.FolderSummary{Device: id, Folder: folder, State: "idle", StateChanged: d.scanned, Sequence: d.sequence},
		map[fleet.DeviceID]int64{a: d.sequence, b: d.sequence}, nil
}

func (d *daemons) Completion(context.Context, fleet.DeviceID, string, fleet.DeviceID) (fleet.Completion, error) {
	d.ask()
	d.compared++
	return fleet.Completion{RemoteState: "valid", Sequence: d.sequence}, nil
}

func (d *daemons) prover() *Prover { return d.proverOver(nil) }

func (d *daemons) proverOver(kept Kept) *Prover {
	return New(Options{Daemons: d, Kept: kept, Snapshot: func(id fleet.DeviceID) *fleet.Snapshot { return d.snapshot[id] },
		Now: func() time.Time {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.now
		}})
}

func report(t *testing.T, p *Prover) Report {
	t.Helper()
	r, err := p.Copies(t.Context(), "docs", []fleet.DeviceID{a, b})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWhatIsProvenIsAskedAgainOnlyWhenSomethingChanged(t *testing.T) {
	d := newDaemons()
	p := d.prover()
	for _, c := range report(t, p).Copies {
		if c.State != Proven {
			t.Fatalf("nothing is proven: %+v", c)
		}
	}
	asked := d.asked
	d.now = d.now.Add(proofAge - time.Second)
	if report(t, p); d.asked != asked {
		t.Error("daemons at rest are asked again")
	}
	d.snapshot[a].Summaries = map[string]fleet.FolderSummary{"docs": {Sequence: 6}}
	if report(t, p); d.asked == asked {
		t.Error("a change is not a reason to ask")
	}
	asked = d.asked
	d.now = d.now.Add(proofAge + time.Second)
	if report(t, p); d.asked == asked {
		t.Error("an old proof is not renewed")
	}
}

// A change that is known of must not be shown as proven while the daemons are left alone.
func TestWhatIsProvenIsNoLongerShownSoAfterAChange(t *testing.T) {
	d := newDaemons()
	d.costs = time.Second
	p := d.prover()
	if first := report(t, p); first.Proven() != 2 {
		t.Fatalf("nothing is proven: %+v", first)
	}
	asked := d.asked
	d.now = d.now.Add(doubtAge + time.Second)
	d.snapshot[a].Summaries = map[string]fleet.FolderSummary{"docs": {Sequence: 6}}
	for _, c := range report(t, p).Copies {
		if c.State != Behind || c.Until.IsZero() || c.Reason == "" {
			t.Errorf("after a change: %+v", c)
		}
	}
	if _, err := p.Copies(t.Context(), "docs", []fleet.DeviceID{a}); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("who asks for other devices has the daemons asked at once: %v", err)
	}
	if d.asked != asked {
		t.Error("daemons that are to be left alone are asked")
	}
}

// The next person would be shown that the daemons could not be asked.
func TestARoundThatNobodyWaitsForIsNotKept(t *testing.T) {
	d := newDaemons()
	p := d.prover()
	gone, leave := context.WithCancel(t.Context())
	d.each = leave
	if _, err := p.Copies(gone, "docs", []fleet.DeviceID{a, b}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if next := report(t, p); next.Proven() != 2 {
		t.Errorf("the next one is shown %+v", next)
	}
}

func TestADaemonThatAnswersSlowlyIsLeftAlone(t *testing.T) {
	d := newDaemons()
	d.costs, d.restarts = time.Second, true
	p := d.prover()
	began := d.now
	first := report(t, p)
	if slices.ContainsFunc(first.Copies, func(c Copy) bool { return c.State != Unproven || c.Reason == "" }) {
		t.Fatalf("a daemon that is started again and again proves something: %+v", first.Copies)
	}
	busy, asked := d.now.Sub(began), d.asked
	d.now = d.now.Add(doubtAge + time.Second)
	if report(t, p); d.asked != asked {
		t.Error("a daemon is asked again at once")
	}
	d.now = began.Add(busy * busyShare)
	if report(t, p); d.asked == asked {
		t.Error("a daemon is never asked again")
	}
}

func TestADeviceThatIsNotConnectedProvesNothing(t *testing.T) {
	d := newDaemons()
	d.snapshot[b].Connected = fleet.Peers{}
	for _, c := range report(t, d.prover()).Copies {
		if c.State != Unproven || c.Reason == "" {
			t.Errorf("%+v", c)
		}
	}
	if d.asked != 0 {
		t.Errorf("%d requests prove nothing", d.asked)
	}
}

func riskOf(t *testing.T, p *Prover, device fleet.DeviceID) Risk {
	t.Helper()
	risks, err := p.AtRisk(t.Context(), device, []Shared{{"docs", []fleet.DeviceID{a, b}}})
	if err != nil || len(risks) != 1 {
		t.Fatalf("%v, %v", risks, err)
	}
	return risks[0]
}

func TestWhatIsProvenElsewhereIsNotLostWithADevice(t *testing.T) {
	d := newDaemons()
	d.snapshot[a].Summaries = map[string]fleet.FolderSummary{"docs": {LocalBytes: 7}}
	p := d.prover()
	risk := riskOf(t, p, a)
	if risk.State != Proven || !slices.Equal(risk.On, []fleet.DeviceID{b}) || risk.Bytes != 7 || risk.Claims == nil {
		t.Errorf("%+v", risk)
	}
	d.snapshot[a].Connected = fleet.Peers{}
	d.now = d.now.Add(doubtAge + time.Second)
	if risk = riskOf(t, p, a); risk.State != Behind || risk.Until.IsZero() || risk.Reason == "" {
		t.Errorf("what is written after the connection was lost counts as held elsewhere: %+v", risk)
	}
}

func TestDevicesThatHearNothingOfEachOtherAreIslands(t *testing.T) {
	d := newDaemons()
	if r := report(t, d.prover()); r.Islands != nil || r.Cuts != nil {
		t.Errorf("connected devices are in groups %v, cut by %v", r.Islands, r.Cuts)
	}
	d.snapshot[b].Connected = fleet.Peers{}
	r := report(t, d.prover())
	if len(r.Islands) != 2 || !slices.Equal(r.Cuts, [][2]fleet.DeviceID{{a, b}}) {
		t.Errorf("groups %v, cut by %v", r.Islands, r.Cuts)
	}
	for _, c := range r.Copies {
		if c.Elsewhere.State != Unproven || c.Elsewhere.Reason == "" {
			t.Errorf("%+v", c)
		}
	}
	d.snapshot[b].Connection = fleet.Unreachable
	if r = report(t, d.prover()); r.Islands != nil {
		t.Errorf("a device that is offline is in one of the groups %v", r.Islands)
	}
}

// An encrypted copy has no data that could be lost with it, and nothing is proven of its own.
func TestAnEncryptedCopyHasNoDataOfItsOwn(t *testing.T) {
	d := newDaemons()
	d.snapshot[b].Shares[0].Type = fleet.ReceiveEncrypted
	p := d.prover()
	if risk := riskOf(t, p, b); risk.State != NoData {
		t.Errorf("%+v", risk)
	}
	if risk := riskOf(t, p, a); risk.State != Proven {
		t.Errorf("%+v", risk)
	}
}

func TestAnEmptyFolderHasNothingToLose(t *testing.T) {
	d := newDaemons()
	d.sequence = 0
	if risk := riskOf(t, d.prover(), a); risk.State != NoData {
		t.Errorf("%+v", risk)
	}
	d.scanned = time.Time{} // A daemon that has not scanned yet does not know what it has.
	if risk := riskOf(t, d.prover(), a); risk.State != Unproven {
		t.Errorf("a folder that was not scanned is taken for empty: %+v", risk)
	}
}

// An encrypted copy may be the only one that is left.
func TestAnEncryptedCopyOfAFolderThatNobodyElseHasIsAtRisk(t *testing.T) {
	d := newDaemons()
	d.snapshot[b].Shares[0].Type = fleet.ReceiveEncrypted
	d.snapshot[a].Connection = fleet.Unreachable
	if risk := riskOf(t, d.prover(), b); risk.State != Unproven || risk.Reason == "" {
		t.Errorf("%+v", risk)
	}
}

// A device that Muster does not manage passes changes on.
func TestDevicesThatAnotherOneJoinsAreNoIslands(t *testing.T) {
	const hub fleet.DeviceID = "HHHHHHH-HHHHHHH-HHHHHHH-HHHHHHH-HHHHHHH-HHHHHHH-HHHHHHH-HHHHHHH"
	d := newDaemons()
	for _, id := range []fleet.DeviceID{a, b} {
		d.snapshot[id].Connected = fleet.PeersOf([]fleet.DeviceID{hub})
		d.snapshot[id].Shares[0].With = fleet.PeersOf([]fleet.DeviceID{a, b, hub})
	}
	r := report(t, d.prover())
	if r.Islands != nil || r.Proven() > 0 {
		t.Errorf("groups %v, %d proven", r.Islands, r.Proven())
	}
	d.snapshot[hub] = &fleet.Snapshot{Device: hub, Shares: []fleet.SharedFolder{{Folder: "docs", Paused: true}}}
	if r = report(t, d.prover()); len(r.Islands) != 2 {
		t.Errorf("a folder that is paused passes changes on: groups %v", r.Islands)
	}
}

// Several folders of one device can be asked about one after the other.
func TestADaemonIsAskedAboutSeveralFoldersAtOnce(t *testing.T) {
	d := newDaemons()
	d.costs = 100 * time.Millisecond
	var folders []Shared
	for _, folder := range []string{"docs", "music", "photos", "videos"} {
		folders = append(folders, Shared{folder, []fleet.DeviceID{a, b}})
		for _, id := range []fleet.DeviceID{a, b} {
			s := d.snapshot[id]
			s.Shares = append(s.Shares, fleet.SharedFolder{Folder: folder, With: fleet.PeersOf([]fleet.DeviceID{a, b})})
		}
	}
	p := d.prover()
	for _, want := range []State{Proven, NotAsked} { // The second question comes too early.
		risks, err := p.AtRisk(t.Context(), a, folders)
		if err != nil {
			t.Fatal(err)
		}
		for _, risk := range risks {
			if risk.State != want {
				t.Errorf("%s: want %s, got %+v", risk.Folder, want, risk)
			}
		}
		for i := range folders {
			folders[i].Devices = []fleet.DeviceID{b, a} // The order of the devices makes it a new question.
		}
	}
}

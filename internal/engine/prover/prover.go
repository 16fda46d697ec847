// Package prover reads daemons in rounds when somebody asks, and keeps what is proven of the copies of folders. The
// rule is that of core/copies; what is proven is forgotten when the server stops.
package prover

import (
	"context"
	"slices"
	"sync"
	"time"

	"muster/internal/core/copies"
	"muster/internal/fleet"
)

const (
	proofAge   = 5 * time.Minute // A round that proved everything is shown again for so long.
	doubtAge   = 3 * time.Second // The same of a round that left a doubt.
	roundTime  = 40 * time.Second
	roundsMost = 2   // rounds at the same time
	readsMost  = 8   // daemons asked at the same time
	MaxDevices = 100 // devices of one folder
	maxFolders = 20  // folders with proofs in memory
	busyShare  = 50  // A daemon answers rounds for at most one part in so many of its time.
)

// Daemons asks daemons.
type Daemons interface {
	Started(ctx context.Context, id fleet.DeviceID) (time.Time, error)
	FolderIndexes(ctx context.Context, id fleet.DeviceID, folder string) (fleet.FolderSummary, map[fleet.DeviceID]int64,
		error)
	Completion(ctx context.Context, id fleet.DeviceID, folder string, peer fleet.DeviceID) (fleet.Completion, error)
}

// Options are what a Prover stands on.
type Options struct {
	Daemons  Daemons
	Snapshot func(fleet.DeviceID) *fleet.Snapshot // nil: the device is not watched
	Now      func() time.Time                     // nil: the clock
}

// Prover proves copies of folders.
type Prover struct {
	o     Options
	turns chan struct{}

	mu      sync.Mutex
	folders map[string]*folder
	rests   map[fleet.DeviceID]time.Time // moment until which Muster leaves the daemon alone
}

// folder is what is proven of one folder.
type folder struct {
	turn   chan struct{} // It is full while a round runs.
	ledger copies.Ledger
	report Report
	signs  []sign // signs of the devices at the beginning of the round
}

// New makes a Prover.
func New(o Options) *Prover {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Prover{o: o, turns: make(chan struct{}, roundsMost), folders: map[string]*folder{},
		rests: map[fleet.DeviceID]time.Time{}}
}

// Report is what is proven of the copies of a folder.
type Report struct {
	ReadAt time.Time // beginning of the round
	Copies []Copy    // copies in the order in which the devices were given
}

// Copy is the copy of a folder on one device.
type Copy struct {
	Device    fleet.DeviceID
	Encrypted bool
	copies.Holding
	Current bool             // The proof is of the last round.
	Lacks   []fleet.DeviceID // devices that were read, and whose data is not proven to be here
	Doubt   copies.Doubt     // why the last round did not prove it
	Reason  string           // why the daemon could not be asked; "" where it was
}

// Copies returns what is proven of a folder on these devices, which all have it. It asks their daemons unless it did so
// a short while ago. The error is that of the context, or says that there are too many devices.
func (p *Prover) Copies(ctx context.Context, id string, devices []fleet.DeviceID) (Report, error) {
	if len(devices) > MaxDevices {
		return Report{}, &fleet.Error{Code: fleet.CodeUnsupported,
			Message: "copies of a folder are proven on at most 100 devices, and more have this one",
			Hint:    "`muster folder get FOLDER` shows how it stands on each of them."}
	}
	f := p.folder(id)
	if err := take(ctx, f.turn); err != nil {
		return Report{}, err
	}
	defer func() { <-f.turn }()
	signs := p.signs(id, devices)
	if f.report.isOf(devices) {
		age := p.o.Now().Sub(f.report.ReadAt)
		unchanged := f.report.isComplete() && slices.Equal(signs, f.signs)
		if age < doubtAge || age < proofAge && unchanged || p.isResting(devices) {
			return f.report, nil
		}
	}
	if err := take(ctx, p.turns); err != nil {
		return Report{}, err
	}
	defer func() { <-p.turns }()
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	r := &round{Prover: p, folder: id, ledger: &f.ledger, sides: map[fleet.DeviceID]*side{}}
	f.report, f.signs = r.run(ctx, devices), signs
	return f.report, nil
}

func take(ctx context.Context, turn chan struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// folder returns what is kept of a folder. It forgets the one that was read longest ago when there are too many.
func (p *Prover) folder(id string) *folder {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.folders[id]; f != nil {
		return f
	}
	for len(p.folders) >= maxFolders {
		oldest := ""
		for each, f := range p.folders {
			if oldest == "" || f.report.ReadAt.Before(p.folders[oldest].report.ReadAt) {
				oldest = each
			}
		}
		delete(p.folders, oldest)
	}
	f := &folder{turn: make(chan struct{}, 1)}
	p.folders[id] = f
	return f
}

// sign is what events tell of a folder on a device. Another sign says that a round is due; no sign proves anything.
type sign struct {
	answers  bool
	state    string
	sequence int64
	links    int // devices of the folder to which the device is connected
}

func (p *Prover) signs(folder string, devices []fleet.DeviceID) []sign {
	signs := make([]sign, len(devices))
	for i, id := range devices {
		snapshot := p.o.Snapshot(id)
		if snapshot == nil {
			continue
		}
		summary := snapshot.Summaries[folder]
		signs[i] = sign{answers: snapshot.Answers(), state: summary.State, sequence: summary.Sequence}
		for _, peer := range devices {
			if peer != id && snapshot.IsConnected(peer) {
				signs[i].links++
			}
		}
	}
	return signs
}

// isResting reports whether one of the daemons is to be left alone, so that rounds take little of its time.
func (p *Prover) isResting(devices []fleet.DeviceID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.o.Now()
	return slices.ContainsFunc(devices, func(id fleet.DeviceID) bool { return p.rests[id].After(now) })
}

// isOf reports whether the report is about just these devices.
func (r Report) isOf(devices []fleet.DeviceID) bool {
	return slices.EqualFunc(r.Copies, devices, func(c Copy, id fleet.DeviceID) bool { return c.Device == id })
}

// isComplete reports whether everything was proven.
func (r Report) isComplete() bool {
	return !slices.ContainsFunc(r.Copies, func(c Copy) bool { return !c.Current })
}

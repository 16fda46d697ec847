// Package prover reads daemons in rounds when somebody asks, and keeps what is proven of the copies of folders. The
// rule is that of core/copies; what is proven is forgotten when the server stops.
package prover

import (
	"context"
	"fmt"
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
	maxFolders = 60  // folders with proofs in memory
	busyShare  = 50  // A daemon answers rounds for at most one part in so many of its time.

	// restBurst is the rest that a daemon may owe when it is asked, so that several folders can be asked one after the
	// other.
	restBurst = time.Minute
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
	o         Options
	turns     chan struct{}
	questions chan struct{} // It is full while a question about a device is answered.

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
	return &Prover{o: o, turns: make(chan struct{}, roundsMost), questions: make(chan struct{}, 1),
		folders: map[string]*folder{},
		rests:   map[fleet.DeviceID]time.Time{}}
}

// Copies returns what is proven of a folder on these devices, which all have it. It asks their daemons unless it did so
// a short while ago. The error is that of the context, or says that there are too many devices.
func (p *Prover) Copies(ctx context.Context, id string, devices []fleet.DeviceID) (Report, error) {
	return p.copies(ctx, id, devices, p.resting(devices) > 0)
}

// copies is Copies. resting says that the daemons are to be left alone.
func (p *Prover) copies(ctx context.Context, id string, devices []fleet.DeviceID, resting bool) (Report, error) {
	if len(devices) > MaxDevices {
		return Report{}, &fleet.Error{Code: fleet.CodeUnsupported,
			Message: fmt.Sprintf("copies of a folder are proven on at most %d devices, and more have this one", MaxDevices),
			Hint:    "`muster folder get FOLDER` shows how it stands on each of them."}
	}
	f := p.folder(id)
	if err := take(ctx, f.turn); err != nil {
		return Report{}, err
	}
	defer func() { <-f.turn }()
	signs, isOf := p.signs(id, devices), f.report.isOf(devices)
	age, unchanged := p.o.Now().Sub(f.report.ReadAt), slices.Equal(signs, f.signs)
	if isOf && (age < doubtAge || age < proofAge && unchanged && f.report.isComplete()) {
		return f.report, nil
	}
	if resting {
		switch {
		case !isOf:
			return Report{}, &fleet.Error{Code: fleet.CodeUnavailable,
				Message: "the daemons that have this folder were asked for copies a short while ago",
				Hint: fmt.Sprintf("Ask again in %s: this takes only a small part of a daemon's time.",
					max(p.resting(devices).Round(time.Second), time.Second))}
		case unchanged:
			return f.report, nil
		}
		return f.report.outdated(), nil
	}
	if err := take(ctx, p.turns); err != nil {
		return Report{}, err
	}
	defer func() { <-p.turns }()
	inTime, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	r := &round{Prover: p, folder: id, ledger: &f.ledger, sides: map[fleet.DeviceID]*side{}}
	report := r.run(inTime, devices)
	if err := ctx.Err(); err != nil {
		return Report{}, err // Nobody waits for the round any more, and it is not over.
	}
	f.report, f.signs = report, signs
	return report, nil
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

// resting returns how long one of the daemons is to be left alone, so that rounds take little of its time. It is 0 when
// all may be asked.
func (p *Prover) resting(devices []fleet.DeviceID) (longest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := p.o.Now().Add(restBurst)
	for _, id := range devices {
		longest = max(longest, p.rests[id].Sub(from))
	}
	return longest
}

// Package prover reads daemons in rounds, when somebody asks and when a folder became quiet after a change, and keeps
// what is proven of the copies of folders. The rule is that of core/copies.
package prover

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
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
	roundsMost = 2       // rounds at the same time
	readsMost  = 8       // daemons asked at the same time
	MaxDevices = 100     // devices of one folder
	maxFolders = 1000    // folders with proofs in memory
	maxPairs   = 200_000 // pairs of devices that these folders may have together
	busyShare  = 50      // A daemon answers rounds for at most one part in so many of its time.

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
	// Devices returns the devices that have a folder. It is needed by Run.
	Devices func(ctx context.Context, folder string) ([]fleet.DeviceID, error)
	Kept    Kept             // nil: what is proven is forgotten when the server stops
	Now     func() time.Time // nil: the clock
	Log     *slog.Logger     // nil: nothing is logged

	// Policies returns nil while it is not known which policies there are. Without it nothing is judged.
	Policies func() []fleet.CopyPolicy
	Registry func() *fleet.Registry // It returns nil while the registry is not readable.
	// Told is called with each device of which a person is told something else of its data.
	Told func(fleet.DeviceID)
	// Read is called when the daemons were read that have a folder, so that more or less is proven of it. It may be nil.
	Read func()
}

// Prover proves copies of folders.
type Prover struct {
	o         Options
	turns     chan struct{}
	questions chan struct{} // It is full while a question about a device is answered.

	reads int // daemons asked at the same time

	some chan struct{} // It holds a token while changed has a device.

	mu      sync.Mutex // guards what follows
	folders map[string]*folder
	rests   map[fleet.DeviceID]time.Time // moment until which Muster leaves the daemon alone
	changed map[fleet.DeviceID]bool      // devices of which Run has to compare the folders
	risks   risks
	index   folderIndex
}

// folder is what is proven of one folder. Who has its turn may use it.
type folder struct {
	turn   chan struct{} // It is full while a round runs.
	isRead bool          // The stored ledger was read.
	ledger copies.Ledger

	mu       sync.Mutex // guards what follows, which is read without the turn
	report   Report
	provenAt time.Time // beginning of the last round that proved everything; zero: there was none
	firstAt  time.Time // beginning of the first round
}

// latest returns the report of the last round.
func (f *folder) latest() Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.report
}

func (f *folder) setReport(report Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.report = report
	if report.isComplete() {
		f.provenAt = report.ReadAt
	}
	if f.firstAt.IsZero() {
		f.firstAt = report.ReadAt
	}
}

// New makes a Prover.
func New(o Options) *Prover {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Prover{o: o, turns: make(chan struct{}, roundsMost), questions: make(chan struct{}, 1),
		reads: readsMost,
		some:  make(chan struct{}, 1), folders: map[string]*folder{}, rests: map[fleet.DeviceID]time.Time{},
		changed: map[fleet.DeviceID]bool{}}
}

// Copies returns what is proven of a folder on these devices, which all have it. It asks their daemons unless it did so
// a short while ago. The error is that of the context, or says that there are too many devices.
func (p *Prover) Copies(ctx context.Context, id string, devices []fleet.DeviceID) (Report, error) {
	return p.copies(ctx, id, devices, question{resting: p.resting(devices) > 0})
}

// question says how a folder is asked about.
type question struct {
	resting bool // The daemons are to be left alone.
	patient bool // Nobody waits for the answer.
}

func (p *Prover) copies(ctx context.Context, id string, devices []fleet.DeviceID, q question) (Report, error) {
	if len(devices) > MaxDevices {
		return Report{}, &fleet.Error{Code: fleet.CodeUnsupported,
			Message: fmt.Sprintf("copies of a folder are proven on at most %d devices, and more have this one: "+
				"it is proven on none, and policies of copies do not judge it", MaxDevices),
			Hint: "`muster folder get FOLDER` shows how it stands on each of them."}
	}
	f := p.folder(id)
	if err := take(ctx, f.turn); err != nil {
		return Report{}, err
	}
	defer func() { <-f.turn }()
	signs, last := p.signs(id, devices), f.latest()
	isOf := last.isOf(devices)
	age, unchanged := p.o.Now().Sub(last.ReadAt), slices.Equal(signs, last.signs)
	if isOf && (age < doubtAge || age < proofAge && unchanged && last.isComplete()) {
		return last, nil
	}
	if q.resting {
		switch {
		case !isOf:
			return Report{}, &fleet.Error{Code: fleet.CodeUnavailable,
				Message: "the daemons that have this folder were asked for copies a short while ago",
				Hint: fmt.Sprintf("Ask again in %s: this takes only a small part of a daemon's time.",
					max(p.resting(devices).Round(time.Second), time.Second))}
		case unchanged:
			return last, nil
		}
		return last.outdated(), nil
	}
	return p.newRound(ctx, id, f, devices, signs, q.patient)
}

// newRound asks the daemons. The caller has the folder's turn.
func (p *Prover) newRound(ctx context.Context, id string, f *folder, devices []fleet.DeviceID, signs []sign,
	patient bool) (Report, error) {
	if err := take(ctx, p.turns); err != nil {
		return Report{}, err
	}
	defer func() { <-p.turns }()
	if err := p.restore(ctx, id, f); err != nil {
		return Report{}, err
	}
	inTime, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	r := &round{Prover: p, folder: id, ledger: &f.ledger, patient: patient, sides: map[fleet.DeviceID]*side{}}
	report := r.run(inTime, devices)
	if err := ctx.Err(); err != nil {
		return Report{}, err // Nobody waits for the round any more, and it is not over.
	}
	report.signs = signs
	f.setReport(report)
	if p.o.Read != nil {
		p.o.Read()
	}
	p.keep(ctx, id, f)
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

// folder returns what is kept of a folder in memory. It forgets those that were read longest ago when there are too
// many.
func (p *Prover) folder(id string) *folder {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.folders[id]; f != nil {
		return f
	}
	p.forget()
	f := &folder{turn: make(chan struct{}, 1)}
	p.folders[id] = f
	return f
}

// forget makes room for one more folder. The caller holds mu.
func (p *Prover) forget() {
	pairs := 0
	readAt := map[string]time.Time{}
	for id, f := range p.folders {
		report := f.latest()
		readAt[id], pairs = report.ReadAt, pairs+len(report.Copies)*len(report.Copies)
	}
	if len(p.folders) < maxFolders && pairs < maxPairs {
		return
	}
	byAge := slices.SortedFunc(maps.Keys(readAt), func(a, b string) int { return readAt[a].Compare(readAt[b]) })
	for _, id := range byAge[:(len(byAge)+3)/4] {
		delete(p.folders, id)
	}
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
// all may be asked by somebody who waits for the answer.
func (p *Prover) resting(devices []fleet.DeviceID) time.Duration { return p.restOf(devices, restBurst) }

// restOf returns how long one of the daemons is to be left alone. It may owe a part of the rest.
func (p *Prover) restOf(devices []fleet.DeviceID, owed time.Duration) (longest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := p.o.Now().Add(owed)
	for _, id := range devices {
		longest = max(longest, p.rests[id].Sub(from))
	}
	return longest
}

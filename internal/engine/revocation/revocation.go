// Package revocation proves that revoked devices are gone from the managed daemons. It reads daemons and writes to
// none: reconcile removes the devices. What is proven is kept in the store.
package revocation

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	readsMost  = 8  // daemons that are read at the same time
	batch      = 64 // devices whose proofs are stored together
	firstPause = 2 * time.Second
	mostPause  = time.Minute
	settling   = 300 * time.Millisecond // changes that come within this time are judged together
	stopping   = 3 * time.Second        // Storing at the stop of the server ends after it.
)

// Daemons reads daemons.
type Daemons interface {
	Snapshot(id fleet.DeviceID) *fleet.Snapshot // nil: the device is not watched
	// Writing reports whether Muster may be sending something to the daemon at this moment.
	Writing(id fleet.DeviceID) bool
	Configuration(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error)
	ConnectedPeers(ctx context.Context, id fleet.DeviceID) (fleet.Peers, error)
}

// Proofs keeps what is proven.
type Proofs interface {
	RevocationProofs(ctx context.Context, revoked fleet.DeviceID) ([]fleet.RevocationProof, error)
	// PutRevocationProofs returns the proofs that it stored. It leaves out those that are older than the revocation, and
	// those about deleted devices.
	PutRevocationProofs(ctx context.Context, revoked fleet.DeviceID, proofs []fleet.RevocationProof) (
		stored []fleet.RevocationProof, err error)
}

// Options are what a Prover stands on.
type Options struct {
	Registry func(context.Context) (*fleet.Registry, error)
	Proofs   Proofs
	Daemons  Daemons
	// TakeSeen returns when revoked devices were seen in configurations since the last call. It knows of each
	// configuration that was read, so that a device is noticed that is there only for a moment.
	TakeSeen func() map[Pair]time.Time
	// LastConfig returns the configuration that a device's daemon had when it was last read.
	LastConfig func(context.Context, fleet.DeviceID) (fleet.ObservedConfig, error)
	Log        *slog.Logger
}

// Prover proves for each revoked device and each managed daemon that the daemon does not have the device.
type Prover struct {
	o    Options
	wake chan struct{}

	mu       sync.Mutex                     // guards what follows
	revoking bool                           // The last round found revocations.
	changed  map[fleet.DeviceID]bool        // devices whose snapshot changed since the last round
	all      bool                           // The next round looks at all devices.
	seen     map[Pair]time.Time             // Time at which a daemon's configuration last had a revoked device.
	created  map[fleet.DeviceID]time.Time   // Devices with a proof were registered at these times.
	attempts map[fleet.DeviceID]attempt     // daemons that were read and did not prove everything
	proofs   map[Pair]fleet.RevocationProof // The proofs of the store. The map is empty before the first round.
	known    map[fleet.DeviceID]time.Time   // revocations whose proofs are in proofs, with their beginnings
}

// Pair is a revoked device and the device whose daemon must not have it.
type Pair struct{ Revoked, Device fleet.DeviceID }

// attempt says when a daemon is read again.
type attempt struct {
	next   time.Time
	pause  time.Duration
	reason string // why the last reading proved nothing, for people
}

// New makes a Prover, which does nothing before Run.
func New(o Options) *Prover {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Prover{o: o, wake: make(chan struct{}, 1), all: true, changed: map[fleet.DeviceID]bool{},
		seen: map[Pair]time.Time{}, created: map[fleet.DeviceID]time.Time{}, attempts: map[fleet.DeviceID]attempt{},
		proofs: map[Pair]fleet.RevocationProof{}, known: map[fleet.DeviceID]time.Time{}}
}

// Changed tells that a device's connection or configuration changed.
func (p *Prover) Changed(id fleet.DeviceID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.revoking {
		return
	}
	p.changed[id] = true
	p.rouse()
}

// RegistryChanged tells that devices were registered, deleted or revoked, or that a revocation ended.
func (p *Prover) RegistryChanged() {
	p.judgeAll()
	p.rouse()
}

func (p *Prover) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run proves until ctx ends. After a round that failed it pauses, whatever changes meanwhile: the next round reads
// daemons anew, and the database may refuse for as long as its disk is full.
func (p *Prover) Run(ctx context.Context) error {
	err := p.prove(ctx)
	p.keepLast(ctx)
	return err
}

func (p *Prover) prove(ctx context.Context) error {
	var failure string // the error of the last round, for the log; "" if that did not fail
	var pause time.Duration
	for {
		again, err := p.round(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failure = p.logFailure(failure, err)
		if err == nil {
			pause = 0
			err = p.wait(ctx, again)
		} else {
			pause = min(max(2*pause, firstPause), mostPause)
			err = sleep(ctx, pause)
		}
		if err != nil {
			return err
		}
	}
}

// logFailure logs the error of a round if the round before failed otherwise or not at all, and the end of the failures.
// It returns the text of the error.
func (p *Prover) logFailure(before string, err error) string {
	if err == nil {
		if before != "" {
			p.o.Log.Info("what is proven about revoked devices is kept again")
		}
		return ""
	}
	if text := err.Error(); text != before {
		p.o.Log.Warn("what is proven about revoked devices is not kept yet", logkey.Err(err))
	}
	return err.Error()
}

// wait returns when something changed, or after the time `again`; 0 means that only a change ends the waiting.
func (p *Prover) wait(ctx context.Context, again time.Duration) error {
	var due <-chan time.Time
	if again > 0 {
		timer := time.NewTimer(again)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-due:
		return nil
	case <-p.wake:
	}
	return sleep(ctx, settling)
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

package seal

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// resealAgain is the pause before a failed rotation is continued.
const resealAgain = 10 * time.Second

// Store stores the sealed values.
type Store interface {
	// ReplaceSeal calls take while nothing is being sealed. Everything that is sealed afterwards uses the new key.
	ReplaceSeal(ctx context.Context, take func()) error
	// Reseal seals every value again with the newest key. It calls step now and then.
	Reseal(ctx context.Context, step func()) error
}

// RotationOptions are the parts that a Rotation needs.
type RotationOptions struct {
	Store   Store
	Keys    *Ring
	Home    string // home directory with the key file
	Outside bool   // the keys come from a flag, a variable or a file that Muster cannot write
	Log     *slog.Logger
	// called with the name of each step, so that a test can stop the process there; may be nil
	Step func(name string)
}

// Rotation replaces the seal key while the server runs. The key file records the progress, so that the next start
// continues after a crash at any moment:
//
//  1. The file gets the new key in front of the old one. From then on values may be sealed with the new key.
//  2. Every value is sealed again, and SQLite's files no longer contain anything that the old key sealed.
//  3. The old key is removed from the file.
type Rotation struct {
	o     RotationOptions
	begun chan struct{} // holds a token when a rotation has begun

	mu      sync.Mutex // held while a rotation begins
	trouble error      // guarded by mu; why the last attempt to finish a rotation failed
}

// NewRotation makes a Rotation. Its Run method finishes rotations.
func NewRotation(o RotationOptions) *Rotation { return &Rotation{o: o, begun: make(chan struct{}, 1)} }

// Seal returns the state of the keys.
func (r *Rotation) Seal() fleet.SealKeys {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := r.o.Keys.IDs()
	return fleet.SealKeys{Key: ids[0], Older: ids[1:], Trouble: fleet.Reason(r.trouble)}
}

// RotateSeal makes a new key and starts to seal everything with it. While an earlier rotation is not finished it makes
// no further key.
func (r *Rotation) RotateSeal(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.Outside {
		return &fleet.Error{
			Code:    fleet.CodeConflict,
			Message: "the seal key was given to this server from outside, so another one has to be given, too",
			Hint: "Put a new key (`openssl rand -hex 32`) on a line before the old one, where it comes from " +
				"(--seal-key-file, MUSTER_SEAL_KEY or the credential), and start the server again. The log says when the old " +
				"one can go.",
		}
	}
	if len(r.o.Keys.IDs()) > 1 { // An earlier attempt may have failed after the new key was in use.
		r.wake()
		return nil
	}
	next := r.o.Keys.With(Random())
	if err := Keep(r.o.Home, next); err != nil {
		return err
	}
	r.step("seal.kept")
	if err := r.o.Store.ReplaceSeal(ctx, func() { r.o.Keys.Take(next) }); err != nil {
		return err
	}
	r.step("seal.replaced")
	r.wake()
	return nil
}

// wake makes Run continue a rotation.
func (r *Rotation) wake() {
	select {
	case r.begun <- struct{}{}:
	default: // Run has been woken already.
	}
}

// Run finishes rotations, including one that an earlier process began.
func (r *Rotation) Run(ctx context.Context) error {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-r.begun:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := r.finish(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.mu.Lock()
		r.trouble = err
		r.mu.Unlock()
		if err != nil {
			r.o.Log.Warn("not everything is sealed with the new key yet", logkey.Err(err))
			again.Reset(resealAgain)
		}
	}
}

func (r *Rotation) finish(ctx context.Context) error {
	if err := r.sweep(); err != nil {
		return fmt.Errorf("remove old keys: %w", err)
	}
	r.mu.Lock() // prevents that a rotation begins meanwhile
	ids := r.o.Keys.IDs()
	r.mu.Unlock()
	if len(ids) == 1 {
		return nil
	}
	if err := r.o.Store.Reseal(ctx, func() { r.step("seal.some") }); err != nil {
		return err
	}
	r.step("seal.all")
	newest := r.o.Keys.Newest()
	if r.o.Outside {
		r.o.Keys.Take(newest)
		r.o.Log.Info("nothing is sealed with the old key any more: take it out of where the seal key comes from",
			logkey.SealKey, ids[1])
		return nil
	}
	if err := Keep(r.o.Home, newest); err != nil {
		return err
	}
	r.o.Keys.Take(newest)
	r.step("seal.dropped")
	r.o.Log.Info("the seal key was replaced: nothing is sealed with the old one any more", logkey.SealKey, ids[0])
	return nil
}

// sweep removes temporary key files that a crash left, while no rotation begins.
func (r *Rotation) sweep() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Sweep(r.o.Home)
}

func (r *Rotation) step(name string) {
	if r.o.Step != nil {
		r.o.Step(name)
	}
}

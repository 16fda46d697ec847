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

// resealAgain is the time between attempts to finish a rotation that fails.
const resealAgain = 10 * time.Second

// Store has the cells that are sealed.
type Store interface {
	// ReplaceSeal calls take where nothing is being sealed: what is sealed afterwards is sealed with the new key.
	ReplaceSeal(ctx context.Context, take func()) error
	// Reseal seals every cell with the newest key, and calls step now and then.
	Reseal(ctx context.Context, step func()) error
}

// RotationOptions make a Rotation.
type RotationOptions struct {
	Store   Store
	Keys    *Ring
	Home    string // of the key file
	Outside bool   // the keys come from a flag, a variable or a file that Muster does not write
	Log     *slog.Logger
	Step    func(name string) // names the steps as they are reached, for tests that stop the process there; nil: nothing
}

// Rotation rotates the seal key while the server serves. The file with the keys is what tells how far a rotation is, so
// that the next start goes on after a crash at any moment:
//
//  1. The new key and the old one are in the file, the new one first. From then on the new one may seal.
//  2. Every cell is sealed anew, and SQLite's files hold nothing that the old key sealed.
//  3. The old key is taken out of the file.
type Rotation struct {
	o     RotationOptions
	begun chan struct{} // of capacity 1

	mu      sync.Mutex // held while a rotation begins
	trouble error      // guarded by mu; why the last attempt to finish failed
}

// NewRotation makes a Rotation; Run finishes what is begun.
func NewRotation(o RotationOptions) *Rotation { return &Rotation{o: o, begun: make(chan struct{}, 1)} }

// Seal is how the keys stand.
func (r *Rotation) Seal() fleet.SealKeys {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := r.o.Keys.IDs()
	return fleet.SealKeys{Key: ids[0], Older: ids[1:], Trouble: fleet.Reason(r.trouble)}
}

// RotateSeal makes a new key and begins to seal everything with it. Where that was begun before and is not through, it
// makes no other key.
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
	if len(r.o.Keys.IDs()) > 1 { // an attempt before may have failed after the new key was in use
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

// wake has Run finish what was begun.
func (r *Rotation) wake() {
	select {
	case r.begun <- struct{}{}:
	default: // it is to wake already
	}
}

// Run finishes rotations, one that was begun before this start, too.
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
	r.mu.Lock() // a rotation may be about to begin
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

// sweep removes keys that a crash left, while no rotation begins.
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

package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/logkey"
	"muster/internal/seal"
	"muster/internal/store"
)

// resealAgain is the time between attempts to finish a rotation that fails.
const resealAgain = 10 * time.Second

// sealing rotates the seal key while the server serves. The file with the keys is what tells how far a rotation is, so
// that the next start goes on after a crash at any moment:
//
//  1. The new key and the old one are in the file, the new one first. From then on the new one may seal.
//  2. Every cell is sealed anew, and SQLite's files hold nothing that the old key sealed.
//  3. The old key is taken out of the file.
type sealing struct {
	app     *App
	store   *store.Store
	keys    *seal.Ring
	outside bool // the keys come from a flag, a variable or a file that Muster does not write
	begun   chan struct{}

	mu      sync.Mutex // held while a rotation begins
	trouble error      // guarded by mu; why the last attempt to finish failed
}

func newSealing(a *App, opened *store.Store, keys *seal.Ring) *sealing {
	return &sealing{app: a, store: opened, keys: keys, outside: !a.o.SealKey.IsZero(), begun: make(chan struct{}, 1)}
}

// Seal is how the keys stand.
func (s *sealing) Seal() httpapi.Seal {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.keys.IDs()
	return httpapi.Seal{Key: ids[0], Older: ids[1:], Trouble: fleet.Reason(s.trouble)}
}

// RotateSeal makes a new key and begins to seal everything with it. Where that was begun before and is not through, it
// makes no other key.
func (s *sealing) RotateSeal(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outside {
		return &fleet.Error{
			Code:    fleet.CodeConflict,
			Message: "the seal key was given to this server from outside, so another one has to be given, too",
			Hint: "Put a new key (`openssl rand -hex 32`) on a line before the old one, where it comes from " +
				"(--seal-key-file, MUSTER_SEAL_KEY or the credential), and start the server again. The log says when the old " +
				"one can go.",
		}
	}
	if len(s.keys.IDs()) > 1 { // an attempt before may have failed after the new key was in use
		s.wake()
		return nil
	}
	next := s.keys.With(seal.Random())
	if err := seal.Keep(s.app.o.Home, next); err != nil {
		return err
	}
	s.step("seal.kept")
	if err := s.store.ReplaceSeal(ctx, func() { s.keys.Take(next) }); err != nil {
		return err
	}
	s.step("seal.replaced")
	s.wake()
	return nil
}

// wake has run finish what was begun.
func (s *sealing) wake() {
	select {
	case s.begun <- struct{}{}:
	default: // it is to wake already
	}
}

// run finishes rotations, one that was begun before this start, too.
func (s *sealing) run(ctx context.Context) error {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-s.begun:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := s.finish(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.mu.Lock()
		s.trouble = err
		s.mu.Unlock()
		if err != nil {
			s.app.log.Warn("not everything is sealed with the new key yet", logkey.Err(err))
			again.Reset(resealAgain)
		}
	}
}

func (s *sealing) finish(ctx context.Context) error {
	if err := s.sweep(); err != nil {
		return fmt.Errorf("remove old keys: %w", err)
	}
	s.mu.Lock() // a rotation may be about to begin
	ids := s.keys.IDs()
	s.mu.Unlock()
	if len(ids) == 1 {
		return nil
	}
	if err := s.store.Reseal(ctx, func() { s.step("seal.some") }); err != nil {
		return err
	}
	s.step("seal.all")
	newest := s.keys.Newest()
	if s.outside {
		s.keys.Take(newest)
		s.app.log.Info("nothing is sealed with the old key any more: take it out of where the seal key comes from",
			logkey.SealKey, ids[1])
		return nil
	}
	if err := seal.Keep(s.app.o.Home, newest); err != nil {
		return err
	}
	s.keys.Take(newest)
	s.step("seal.dropped")
	s.app.log.Info("the seal key was replaced: nothing is sealed with the old one any more", logkey.SealKey, ids[0])
	return nil
}

// sweep removes keys that a crash left, while no rotation begins.
func (s *sealing) sweep() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return seal.Sweep(s.app.o.Home)
}

func (s *sealing) step(name string) {
	if s.app.o.Step != nil {
		s.app.o.Step(name)
	}
}

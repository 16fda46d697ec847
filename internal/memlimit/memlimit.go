// Package memlimit bounds how much of the server's memory templates take, all of them together. Work that turns out
// small runs freely. Work that needs more needs a part of the whole, and what needs more than a part needs all of it:
// it ends, and begins again once it has that. Nothing waits for memory while others wait for it.
package memlimit

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	free  = 64 << 10 // bytes that work may take without a part
	part  = 1 << 20  // bytes that it may take with one
	parts = 8
)

// ErrBusy says that there is no memory for the work now: call it again after Freed was called.
var ErrBusy = errors.New("other templates take the memory that there is for large ones")

// Work ends with one of these when it needs more than it has.
var (
	errNeedsPart = errors.New("the work needs a part of the memory")
	errNeedsAll  = errors.New("the work needs all of the memory")
)

// tightGC is the garbage collector's target, in percent, while there is large work: what it leaves is collected soon.
const tightGC = 15

// NeedsMore tells an error that Take gave: the work has to end with it.
func NeedsMore(err error) bool { return errors.Is(err, errNeedsAll) || errors.Is(err, errNeedsPart) }

// Limit is the memory of all work together.
type Limit struct {
	parts *semaphore.Weighted

	// Freed, when set, is called whenever memory was given back. It must not block.
	Freed func()

	mu     sync.Mutex // guards the rest
	held   int64      // parts
	usedGC int        // the target without large work
}

// New makes a limit.
func New() *Limit { return &Limit{parts: semaphore.NewWeighted(parts)} }

// Do does work that may be large, and waits for memory. The work may be called up to three times: it ends with the
// error that Take gives, and is called again.
func (l *Limit) Do(ctx context.Context, work func(context.Context) error) error {
	release, err := l.Hold(ctx, work)
	release()
	return err
}

// Hold is Do, but the memory is kept until release is called: for what the work leaves behind.
func (l *Limit) Hold(ctx context.Context, work func(context.Context) error) (release func(), err error) {
	return l.do(ctx, l.parts.Acquire, work)
}

// TryDo is Do for those who have other work: instead of waiting it ends with ErrBusy.
func (l *Limit) TryDo(ctx context.Context, work func(context.Context) error) error {
	release, err := l.do(ctx, func(_ context.Context, n int64) error {
		if !l.parts.TryAcquire(n) {
			return ErrBusy
		}
		return nil
	}, work)
	release()
	return err
}

func (l *Limit) do(
	ctx context.Context, acquire func(context.Context, int64) error, work func(context.Context) error,
) (release func(), err error) {
	for held := int64(0); ; {
		s := &share{limit: l, held: held}
		err := work(context.WithValue(ctx, shareKey{}, s))
		switch {
		case errors.Is(err, errNeedsAll):
			held = parts
		case errors.Is(err, errNeedsPart):
			held = 1
		default:
			return s.release, err
		}
		s.release()
		if err := acquire(ctx, held); err != nil {
			return func() {}, err
		}
		l.hold(held)
		if held == parts {
			runtime.GC() // what was tried before, and what others left, is not in the way
		}
	}
}

// hold notes that parts were acquired, or given back when n is negative.
func (l *Limit) hold(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.held
	l.held += n
	switch {
	case was == 0 && l.held > 0:
		l.usedGC = debug.SetGCPercent(tightGC)
	case was > 0 && l.held == 0:
		debug.SetGCPercent(l.usedGC)
	}
}

type shareKey struct{}

// share is the memory of one piece of work.
type share struct {
	limit *Limit

	mu      sync.Mutex // guards the rest
	taken   int64
	held    int64 // parts
	settled bool  // it takes what it needs
}

// release gives back what is held; what goes on with the context asks no more.
func (s *share) release() {
	s.mu.Lock()
	held := s.held
	s.held, s.settled = 0, true
	s.mu.Unlock()
	if held == 0 {
		return
	}
	s.limit.hold(-held)
	if held == parts {
		debug.FreeOSMemory() // what the work left does not add up with what the next leaves
	}
	s.limit.parts.Release(held)
	if s.limit.Freed != nil {
		s.limit.Freed()
	}
}

// Take says that the work of a context is about to take memory. The work ends with the error that it gives. Outside of
// any Do there is no limit.
func Take(ctx context.Context, bytes int64) error {
	s, _ := ctx.Value(shareKey{}).(*share)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken += bytes
	switch {
	case s.settled, s.held == parts, s.taken <= free:
		return nil
	case s.taken > part:
		return errNeedsAll
	case s.held == 1:
		return nil
	case !s.limit.parts.TryAcquire(1):
		return errNeedsPart
	}
	s.held = 1
	s.limit.hold(1)
	return nil
}

// Settle lets the work of a context go on to its end: what it did cannot be done again.
func Settle(ctx context.Context) {
	if s, _ := ctx.Value(shareKey{}).(*share); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.settled = true
	}
}

// Limited tells whether a context belongs to a Do.
func Limited(ctx context.Context) bool { return ctx.Value(shareKey{}) != nil }

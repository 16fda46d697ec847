package budget

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/semaphore"

	"muster/internal/fleet"
)

const (
	free  = 64 << 10 // bytes that work may use without holding a part
	part  = 1 << 20  // bytes that work may use while it holds one part
	parts = 8
)

// Work that needs more memory than it holds returns one of these errors.
var (
	errNeedsPart = errors.New("the work needs a part of the memory")
	errNeedsAll  = errors.New("the work needs all of the memory")
)

// tightGC is the garbage collector's target, in percent, while large work runs. A low target means that garbage is
// collected soon.
const tightGC = 15

// WorkMemory bounds the memory that all templates and plans together use. Work that stays small runs at once. Work
// that needs more must hold a part of the memory, and work that needs more than a part must hold all parts. Work that
// finds out that it needs more returns an error, waits for the memory, and starts again, so no work waits for memory
// while it holds some that others wait for.
type WorkMemory struct {
	parts *semaphore.Weighted

	// Freed, when set, is called after memory was released. It must not block.
	Freed func()

	mu     sync.Mutex // guards the fields below
	held   int64      // number of parts that are held
	usedGC int        // the collector's target when no large work runs
}

// NewWorkMemory makes a WorkMemory with nothing held.
func NewWorkMemory() *WorkMemory { return &WorkMemory{parts: semaphore.NewWeighted(parts)} }

// NeedsMore reports whether err comes from Take. The work must return such an error.
func (*WorkMemory) NeedsMore(err error) bool {
	return errors.Is(err, errNeedsAll) || errors.Is(err, errNeedsPart)
}

// Do waits for memory where needed and runs work. When Take returns an error, the work returns it, and Do runs the
// work again with more memory: up to three times in all.
func (m *WorkMemory) Do(ctx context.Context, work func(context.Context) error) error {
	release, err := m.Hold(ctx, work)
	release()
	return err
}

// Hold is Do, but the memory stays held until release is called. It is for work whose result stays in memory.
func (m *WorkMemory) Hold(ctx context.Context, work func(context.Context) error) (release func(), err error) {
	return m.do(ctx, m.parts.Acquire, work)
}

// TryDo is Do for callers with other things to do. Instead of waiting it returns fleet.ErrNoMemory.
func (m *WorkMemory) TryDo(ctx context.Context, work func(context.Context) error) error {
	release, err := m.do(ctx, func(_ context.Context, n int64) error {
		if !m.parts.TryAcquire(n) {
			return fleet.ErrNoMemory
		}
		return nil
	}, work)
	release()
	return err
}

func (m *WorkMemory) do(
	ctx context.Context, acquire func(context.Context, int64) error, work func(context.Context) error,
) (release func(), err error) {
	for held := int64(0); ; {
		s := &share{memory: m, held: held}
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
		m.hold(held)
		if held == parts {
			runtime.GC() // frees the memory of the earlier attempts and of other work
		}
	}
}

// hold records that n parts were acquired, or released when n is negative.
func (m *WorkMemory) hold(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.held
	m.held += n
	switch {
	case was == 0 && m.held > 0:
		m.usedGC = debug.SetGCPercent(tightGC)
	case was > 0 && m.held == 0:
		debug.SetGCPercent(m.usedGC)
	}
}

type shareKey struct{}

// share is the memory that one piece of work holds.
type share struct {
	memory *WorkMemory

	mu        sync.Mutex // guards the fields below
	taken     int64
	held      int64 // number of parts
	unlimited bool  // The work may use as much as it needs.
}

// release releases the parts. Code that still uses the context is no longer limited.
func (s *share) release() {
	s.mu.Lock()
	held := s.held
	s.held, s.unlimited = 0, true
	s.mu.Unlock()
	if held == 0 {
		return
	}
	s.memory.hold(-held)
	if held == parts {
		debug.FreeOSMemory() // Otherwise the garbage of this work would add to that of the next.
	}
	s.memory.parts.Release(held)
	if s.memory.Freed != nil {
		s.memory.Freed()
	}
}

// Take announces that the work of a context is about to use memory. When it returns an error the work must return that
// error. Outside of Do there is no limit.
func (*WorkMemory) Take(ctx context.Context, bytes int64) error {
	s, _ := ctx.Value(shareKey{}).(*share)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken += bytes
	switch {
	case s.unlimited, s.held == parts, s.taken <= free:
		return nil
	case s.taken > part:
		return errNeedsAll
	case s.held == 1:
		return nil
	case !s.memory.parts.TryAcquire(1):
		return errNeedsPart
	}
	s.held = 1
	s.memory.hold(1)
	return nil
}

// LiftLimit removes the limit for the rest of the work of a context. The work calls it when it has done something that
// must not be repeated.
func (*WorkMemory) LiftLimit(ctx context.Context) {
	if s, _ := ctx.Value(shareKey{}).(*share); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unlimited = true
	}
}

// Limited reports whether a context belongs to a call of Do, Hold or TryDo.
func (*WorkMemory) Limited(ctx context.Context) bool { return ctx.Value(shareKey{}) != nil }

package budget

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"muster/internal/fleet"
)

func TestSmallWorkRunsFreely(t *testing.T) {
	m := NewWorkMemory()
	if !m.parts.TryAcquire(parts) {
		t.Fatal("taken before anything was done")
	}
	err := m.TryDo(t.Context(), func(ctx context.Context) error {
		return errors.Join(m.Take(ctx, free/2), m.Take(ctx, free/2))
	})
	if err != nil {
		t.Errorf("got %v", err)
	}
}

// However much work there is at once, what it takes together stays within the limit, and all of it gets done.
func TestLargeWorkTakesTurns(t *testing.T) {
	m := NewWorkMemory()
	var freed, now, most, done atomic.Int64
	m.Freed = func() { freed.Add(1) }
	var all sync.WaitGroup
	for i := range 40 {
		need := []int64{free / 2, part / 2, 3 * part, 20 * part}[i%4]
		all.Go(func() {
			err := m.Do(t.Context(), func(ctx context.Context) error {
				var taken int64
				defer func() { now.Add(-taken) }()
				for taken < need {
					if err := m.Take(ctx, free/4); err != nil {
						return err
					}
					taken += free / 4
					for sum := now.Add(free / 4); ; {
						if was := most.Load(); sum <= was || most.CompareAndSwap(was, sum) {
							break
						}
					}
				}
				return nil
			})
			if err == nil {
				done.Add(1)
			}
		})
	}
	all.Wait()
	if done.Load() != 40 || freed.Load() == 0 {
		t.Errorf("%d of 40 were done, memory was freed %d times", done.Load(), freed.Load())
	}
	if limit := int64(20*part + parts*part + 40*free); most.Load() > limit {
		t.Errorf("%d bytes at once, more than %d", most.Load(), limit)
	}
	if !m.parts.TryAcquire(parts) {
		t.Error("something is still taken")
	}
}

func TestWhoDoesNotWaitIsToldOfFreedMemory(t *testing.T) {
	m := NewWorkMemory()
	m.Freed = func() {}
	large := func(ctx context.Context) error { return m.Take(ctx, 2*part) }
	release, err := m.Hold(t.Context(), large)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.TryDo(t.Context(), large); !errors.Is(err, fleet.ErrNoMemory) {
		t.Errorf("got %v, want fleet.ErrNoMemory", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Do(ctx, large); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v from a wait that was given up", err)
	}
	release()
	release() // twice is fine
	if err := m.TryDo(t.Context(), large); err != nil {
		t.Errorf("got %v after the memory was freed", err)
	}
}

func TestWhatCannotBeDoneAgainGoesOn(t *testing.T) {
	calls := 0
	m := NewWorkMemory()
	err := m.Do(t.Context(), func(ctx context.Context) error {
		calls++
		m.LiftLimit(ctx)
		return m.Take(ctx, 100*part)
	})
	if err != nil || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestTheCollectorIsAsBeforeOnceLargeWorkIsDone(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	m := NewWorkMemory()
	err := m.Do(t.Context(), func(ctx context.Context) error { return m.Take(ctx, part/2) })
	if now := debug.SetGCPercent(77); err != nil || now != 77 {
		t.Errorf("the target is %d, %v", now, err)
	}
}

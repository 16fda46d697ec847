package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"muster/internal/fleet"
)

// Anybody can cause some entries of the audit as often as they like (refused requests, readings of API keys). So
// these are bounded: in each window of time a few entries are written, and then one that says how many more there
// were. While that goes on, each window is twice as long as the one before.
const (
	boundedEntries = 5 // entries of one principal and kind in each window
	firstWindow    = time.Minute
	longestWindow  = time.Hour
)

// bounded counts entries by who and what, and some also by subject.
type bounded struct {
	mu      sync.Mutex // guards the rest
	windows map[boundedKey]*window
}

type boundedKey struct{ who, what, subject string } // subject "": all subjects together

type window struct {
	ends    time.Time
	length  time.Duration
	entries int
	more    int // entries that were not written
}

// admit reports whether an entry is to be written. Where a window has just ended, more is how many entries were not
// written in it.
func (b *bounded) admit(key boundedKey, now time.Time) (write bool, more int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.windows == nil {
		b.windows = map[boundedKey]*window{}
	}
	w := b.windows[key]
	if w == nil {
		w = &window{length: firstWindow, ends: now.Add(firstWindow)}
		b.windows[key] = w
	}
	if w.over(now) {
		more = w.next(now)
	}
	if w.entries < boundedEntries {
		w.entries++
		return true, more
	}
	w.more++
	return false, more
}

// over reports whether the window has ended. A window with more time left than its whole length has ended too: the
// clock was set back.
func (w *window) over(now time.Time) bool { return !now.Before(w.ends) || w.ends.Sub(now) > w.length }

// next begins the next window, and gives how many entries were not written in the last one.
func (w *window) next(now time.Time) (more int) {
	more = w.more
	if more > 0 {
		w.length = min(2*w.length, longestWindow)
	} else {
		w.length = firstWindow
	}
	w.ends, w.entries, w.more = now.Add(w.length), 0, 0
	return more
}

// over ends the windows whose time is over, or all windows, and gives how many entries were not written in each.
func (b *bounded) over(now time.Time, all bool) map[boundedKey]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	more := map[boundedKey]int{}
	for key, w := range b.windows {
		switch {
		case !all && !w.over(now):
			continue
		case w.more == 0:
			delete(b.windows, key)
			continue
		}
		more[key] = w.next(now)
	}
	return more
}

// RecordBounded is Record for entries that may come often. Entries beyond the bound are counted and not written.
func (s *Store) RecordBounded(ctx context.Context, what, subject, detail string) error {
	return s.recordBounded(ctx, boundedKey{who: fleet.ActorOf(ctx), what: what}, subject, detail)
}

// RecordBoundedBySubject is RecordBounded with a count for each subject, so that many entries about one subject do
// not hide those about others.
func (s *Store) RecordBoundedBySubject(ctx context.Context, what, subject, detail string) error {
	return s.recordBounded(ctx, boundedKey{fleet.ActorOf(ctx), what, subject}, subject, detail)
}

func (s *Store) recordBounded(ctx context.Context, key boundedKey, subject, detail string) error {
	record, more := s.bounded.admit(key, s.clock())
	if more > 0 {
		if err := s.recordMore(ctx, key, more); err != nil {
			return err
		}
	}
	if !record {
		return nil
	}
	return s.Record(ctx, key.what, subject, detail)
}

func (s *Store) recordMore(ctx context.Context, key boundedKey, more int) error {
	return s.Record(fleet.WithActor(ctx, key.who), key.what, key.subject, fmt.Sprintf("and %d more", more))
}

// flushBounded writes the counts of entries that were not written, for the windows that are over or for all.
func (s *Store) flushBounded(ctx context.Context, all bool) error {
	for key, more := range s.bounded.over(s.clock(), all) {
		if err := s.recordMore(ctx, key, more); err != nil {
			return err
		}
	}
	return nil
}

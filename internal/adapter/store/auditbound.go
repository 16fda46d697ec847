package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"muster/internal/fleet"
)

// Some entries of the audit can be caused by anybody, as often as they like (refused requests, readings of API keys).
// Their number is bounded: in each time window a few entries are written, and at its end one entry with the number of
// the others. After a window in which entries were left out, the next one is twice as long, up to longestWindow.
const (
	boundedEntries = 5 // entries of one principal and kind in each window
	firstWindow    = time.Minute
	longestWindow  = time.Hour
)

// bounded counts the bounded entries in the present windows. Each actor and kind of entry has a window of its own.
// Some kinds have one for each subject too.
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

// admit counts an entry in the window of its key, and reports whether it is to be written. If the window's time has
// passed, admit first begins the next window. more is then how many entries of the ended window were not written; else
// it is 0.
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

// next begins the next window, and returns how many entries of the last window were not written.
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

// over ends the windows whose time has passed; if all is true, it ends every window. The result has the number of
// entries that were not written, for each ended window that has such entries.
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

// RecordBounded is Record for entries that may come often. In each time window it writes the first boundedEntries of
// them, and only counts the others.
func (s *Store) RecordBounded(ctx context.Context, what, subject, detail string) error {
	return s.recordBounded(ctx, boundedKey{who: fleet.ActorOf(ctx), what: what}, subject, detail)
}

// RecordBoundedBySubject is RecordBounded with a separate window for each subject, so that many entries about one
// subject do not keep out entries about others.
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

// flushBounded ends windows like bounded.over. For each window that has entries that were not written, it writes one
// entry with their number.
func (s *Store) flushBounded(ctx context.Context, all bool) error {
	for key, more := range s.bounded.over(s.clock(), all) {
		if err := s.recordMore(ctx, key, more); err != nil {
			return err
		}
	}
	return nil
}

package event

import (
	"context"
	"encoding/json"
	"time"
)

// Subscription is one reader's place in the ring. One goroutine calls Next.
type Subscription struct {
	hub    *Hub
	filter Filter
	picker picker
	wake   chan struct{} // holds a token when there may be something to read
	end    chan struct{} // closed with the subscription
	last   time.Time     // time at which nothing was left to read; only the reading goroutine uses it

	// Guarded by the hub's mu:
	cursor int64 // the next ID to look at
	lost   bool  // something before cursor is missing
	logged int64 // the next ID to look at in the log, while that is read; else 0
	place  int   // index in the hub's subscribers; -1 once closed
}

// Next waits for the next events, and gives a batch of them, in order. It ends with ctx, or with ErrClosed.
func (s *Subscription) Next(ctx context.Context) ([]*Event, error) {
	for {
		if err := s.gather(ctx); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.end:
			return nil, ErrClosed
		case <-s.wake:
		}
		batch, more, err := s.takeLogged(ctx)
		if err != nil {
			s.rouse() // the next call tries again
			return nil, err
		}
		if !more {
			batch, more = s.take()
		}
		if s.last = time.Now(); more {
			s.last = time.Time{}
		}
		if len(batch) > 0 {
			return batch, nil
		}
	}
}

// Late reports whether the reader will soon miss events, and how many there are that it has not read, picked or not.
func (s *Subscription) Late() (waiting int64, late bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	waiting = s.hub.next - max(s.cursor, s.hub.first) // Entries of the log are not lost.
	return waiting, waiting > int64(len(s.hub.ring)/2)
}

// Close ends the subscription. Closing twice is fine.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.remove(s)
}

// gather waits until the last batch is old enough: in a burst, a reader is woken a hundred times a second and not once
// per event.
func (s *Subscription) gather(ctx context.Context) error {
	pause := s.hub.o.Gather - time.Since(s.last)
	if s.last.IsZero() || pause <= 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.end:
		return ErrClosed
	case <-timer.C:
		return nil
	}
}

// notice is told of each new event. The caller holds the hub's mu.
func (s *Subscription) notice(e *Event) {
	if s.picker.picks(e) {
		s.rouse()
	} else if s.cursor == e.ID { // nothing waits to be read: a reader of rare events does not fall behind
		s.cursor++
	}
}

func (s *Subscription) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns what there is to read, up to a bound. Where more is left, Next does not wait.
func (s *Subscription) take() (batch []*Event, more bool) {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.lost || s.cursor < h.first {
		batch = append(batch, s.missed())
	}
	for bytes := 0; s.cursor < h.next; s.cursor++ {
		e := *h.place(s.cursor)
		if !s.picker.picks(e) {
			continue
		}
		if bytes += e.size(); len(batch) == maxBatchEvents || bytes > maxBatchBytes && len(batch) > 0 {
			s.rouse()
			return batch, true
		}
		batch = append(batch, e)
	}
	return batch, false
}

// takeLogged returns the next events that are in the log and not in the ring any more. Where more is left, the ring is
// not read yet. Who reads from before all is told that events are missing: the log may be long.
func (s *Subscription) takeLogged(ctx context.Context) (batch []*Event, more bool, err error) {
	h := s.hub
	h.mu.Lock()
	gap, from, to := s.cursor, max(s.cursor, s.logged), h.first
	behind := 1 < gap && gap < to && !s.lost && h.o.Log != nil && (s.picker.types == nil || s.picker.types[TypeLog])
	h.mu.Unlock()
	if !behind {
		return nil, false, nil
	}
	if batch, err = h.o.Log.replay(ctx, s.filter, from-1, to); err != nil {
		return nil, false, err
	}
	whole := false
	if len(batch) == 0 && s.picker.onlyLog() {
		whole, err = h.o.Log.reaches(ctx, gap-1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(batch) > 0:
		s.logged = batch[len(batch)-1].ID + 1
	case whole:
		s.cursor, s.logged = to, 0
	default: // the reader is told what it missed
		return nil, false, err
	}
	s.rouse()
	return batch, true, nil
}

// missed makes the event that stands for what is no longer in the ring. Its ID is the last one missing, so that a
// reader that comes back with it goes on after the gap.
func (s *Subscription) missed() *Event {
	gap := Gap{From: min(s.cursor, s.hub.first), To: s.hub.first - 1}
	if s.lost {
		gap.From = 0
	}
	s.cursor, s.lost, s.logged = s.hub.first, false, 0
	data, _ := json.Marshal(gap) // two numbers: cannot fail
	return &Event{ID: gap.To, Type: TypeMissed, Time: time.Now(), Data: data}
}

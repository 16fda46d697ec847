package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"muster/internal/fleet"
)

const (
	defaultEvents      = 16_384
	defaultBytes       = 16 << 20
	defaultSubscribers = 1000
	defaultGather      = 10 * time.Millisecond
	maxDataBytes       = 64 << 10
	maxBatchEvents     = 256
	maxBatchBytes      = 256 << 10
)

// Options bound a Hub. Zero values are replaced by defaults.
type Options struct {
	Events      int           // events that are kept for slow readers and for those that come back
	Bytes       int           // bytes that the kept events may take
	Subscribers int           // subscribers at the same time
	Gather      time.Duration // shortest time between two batches of a subscriber, so that a burst is one batch
	// Tags are those of a device now. Nil: events have none.
	Tags func(fleet.DeviceID) []fleet.Tag
	// Log has the entries that are in the ring no more; nil: there is no log.
	Log *Log
	// First is the least ID of the first event.
	First int64
}

// ErrClosed is returned by Next once the hub or the subscription is closed.
var ErrClosed = errors.New("the event stream is closed")

// Hub is where events are published and read.
type Hub struct {
	o Options

	mu          sync.Mutex // guards what follows, and the cursors of subscriptions
	ring        []*Event   // ring[id % len(ring)], for first <= id < next
	first, next int64
	bytes       int
	subscribers []*Subscription // unsorted; a slice, because every event walks it
	closed      bool
}

// NewHub makes a hub without subscribers.
func NewHub(o Options) *Hub {
	orDefault(&o.Events, defaultEvents)
	orDefault(&o.Bytes, defaultBytes)
	orDefault(&o.Subscribers, defaultSubscribers)
	orDefault(&o.Gather, defaultGather)
	start := max(time.Now().UnixMicro(), o.First)
	return &Hub{o: o, ring: make([]*Event, o.Events), first: start, next: start}
}

func orDefault[T int | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}

// Publish makes an event of data, which is encoded as JSON once, and wakes whom it concerns. It never waits for a
// subscriber. device is "" for an event about no single device.
func (h *Hub) Publish(t Type, device fleet.DeviceID, data any) error {
	var tags []fleet.Tag
	if device != "" && h.o.Tags != nil {
		tags = h.o.Tags(device)
	}
	return h.PublishTagged(t, device, tags, data)
}

// PublishTagged is Publish for a publisher that knows the tags: of a device that is just deleted, the hub does not.
func (h *Hub) PublishTagged(t Type, device fleet.DeviceID, tags []fleet.Tag, data any) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode a %s event: %w", t, err)
	}
	if len(encoded) > maxDataBytes {
		return fmt.Errorf("a %s event has %d bytes of data, at most %d fit", t, len(encoded), maxDataBytes)
	}
	h.publish(&Event{Type: t, Device: device, Tags: tags, Data: encoded, Time: time.Now()})
	return nil
}

// publish gives an event its ID and wakes whom it concerns. A closed hub only numbers it.
func (h *Hub) publish(e *Event) (id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.ID = h.next
	if h.closed {
		h.next++
		return e.ID
	}
	h.keep(e)
	for _, s := range h.subscribers {
		s.notice(e)
	}
	return e.ID
}

// keep puts an event into the ring, and drops old ones where there is no room. The caller holds mu.
func (h *Hub) keep(e *Event) {
	for h.first < h.next && (h.next-h.first == int64(len(h.ring)) || h.bytes+e.size() > h.o.Bytes) {
		place := h.place(h.first)
		h.bytes -= (*place).size()
		*place = nil
		h.first++
	}
	*h.place(e.ID) = e
	h.bytes += e.size()
	h.next++
}

func (h *Hub) place(id int64) **Event { return &h.ring[id%int64(len(h.ring))] }

// Latest, as the ID after which a subscription begins, asks for what happens from now on.
const Latest int64 = math.MaxInt64

// Subscribe begins to read the events that the filter picks, those after the given ID: Latest, or the last one seen by
// a reader that comes back. Where that one is no longer known, the stream begins with what the log has, and with a
// TypeMissed event unless the filter asks for nothing but the log. Close it.
func (h *Hub) Subscribe(f Filter, after int64) (*Subscription, error) {
	s := &Subscription{hub: h, filter: f, picker: newPicker(f), wake: make(chan struct{}, 1), end: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, &fleet.Error{Code: fleet.CodeUnavailable, During: "follow events", Message: "Muster is stopping"}
	case len(h.subscribers) >= h.o.Subscribers:
		return nil, &fleet.Error{Code: fleet.CodeTooMany, During: "follow events",
			Message: fmt.Sprintf("%d readers follow the events already", len(h.subscribers)),
			Hint:    "Close some of them, or try again later."}
	}
	s.cursor = after + 1
	switch {
	case after == Latest:
		s.cursor = h.next
	case s.cursor > h.next, after < 0: // not an ID of ours: perhaps the clock was set back between two starts
		s.cursor, s.lost = h.first, true
	}
	s.wake <- struct{}{}
	s.place = len(h.subscribers)
	h.subscribers = append(h.subscribers, s)
	return s, nil
}

// Close ends all subscriptions. Events published afterwards go nowhere.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for len(h.subscribers) > 0 {
		h.remove(h.subscribers[0])
	}
}

// remove ends a subscription, unless it ended before. The caller holds mu.
func (h *Hub) remove(s *Subscription) {
	if s.place < 0 {
		return
	}
	last := h.subscribers[len(h.subscribers)-1]
	h.subscribers[s.place], last.place = last, s.place
	h.subscribers[len(h.subscribers)-1] = nil
	h.subscribers = h.subscribers[:len(h.subscribers)-1]
	s.place = -1
	close(s.end)
}

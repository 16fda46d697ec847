package reconcile

import (
	"context"
	"sync"
	"time"

	"muster/internal/fleet"
)

// queue holds one item for each device and hands out the items that are due. Only one worker at a time works on an
// item. The queue knows nothing about daemons, plans or the store.
type queue struct {
	mu               sync.Mutex // guards the rest, and the fields of items that say so
	changed          *sync.Cond
	items            map[fleet.DeviceID]*item
	due              []*item
	waitingForMemory []*item
	open             bool // The queue accepts requests.
}

// item is one registration of a device in the queue. A device that is deleted and registered again gets a new item.
type item struct {
	id fleet.DeviceID

	// The fields from registered to requests are guarded by queue.mu.
	registered             time.Time // when the device was registered; zero until the first pass
	queued, working, again bool
	failures               int // failed passes in a row
	timer                  *time.Timer
	requests               []*request

	history history
}

func newQueue() *queue {
	q := &queue{items: map[fleet.DeviceID]*item{}}
	q.changed = sync.NewCond(&q.mu)
	return q
}

func newItem(id fleet.DeviceID) *item { return &item{id: id, history: newHistory()} }

// start makes the queue accept requests. Items that were loaded before belong to the present registrations of their
// devices.
func (q *queue) start(registry *fleet.Registry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, m := range q.items {
		if device := registry.Devices[id]; device != nil {
			m.registered = device.CreatedAt
		}
	}
	q.open = true
}

// stop ends all timers, and answers all waiting requests with an error.
func (q *queue) stop(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = false
	for _, m := range q.items {
		m.stopTimer()
		m.answer(why)
	}
}

// next waits for an item that is due and returns it. It returns nil once ctx ended.
func (q *queue) next(ctx context.Context) *item {
	q.mu.Lock()
	defer q.mu.Unlock()
	for ctx.Err() == nil {
		if len(q.due) > 0 {
			m := q.due[0]
			q.due = q.due[1:]
			m.queued, m.working, m.again = false, true, false
			return m
		}
		q.changed.Wait()
	}
	return nil
}

// wakeAll wakes the callers of next, which then check whether their context ended.
func (q *queue) wakeAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

// finish ends the work on an item. end says when the item is due again. pause is the time until then if the pass
// failed, otherwise 0.
func (q *queue) finish(m *item, end passEnd) (pause time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m.working = false
	if q.items[m.id] != m { // The item was forgotten.
		return 0
	}
	switch end {
	case outOfMemory:
		// The memory may have been freed a moment ago, and memoryFreed is called only when memory is freed. So the item also
		// gets a timer.
		q.waitingForMemory = append(q.waitingForMemory, m)
		q.startTimer(m, firstPause)
	case failed:
		m.failures++
		pause = backoff(m.failures)
		q.startTimer(m, pause)
	default:
		m.failures = 0
		if m.again {
			q.push(m)
		}
	}
	return pause
}

// memoryFreed makes the items due that wait for memory.
func (q *queue) memoryFreed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.waitingForMemory
	q.waitingForMemory = nil
	for _, m := range waiting {
		m.stopTimer()
		q.push(m)
	}
}

// load changes a device's history before workers run.
func (q *queue) load(id fleet.DeviceID, change func(*history)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change(&q.item(id).history)
}

// add makes a device due.
func (q *queue) add(id fleet.DeviceID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.push(q.item(id))
}

// addFresh makes a device due and resets its count of failed passes. It returns the device's history.
func (q *queue) addFresh(id fleet.DeviceID) *history {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.item(id)
	m.failures = 0
	q.push(m)
	return &m.history
}

// addAll makes devices due. note is called on each device's history first.
func (q *queue) addAll(devices []fleet.DeviceID, note func(*history)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range devices {
		m := q.item(id)
		note(&m.history)
		q.push(m)
	}
}

// addIf makes a device due if it has an item and has returns true for the item's history.
func (q *queue) addIf(id fleet.DeviceID, has func(*history) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m := q.items[id]; m != nil && has(&m.history) {
		q.push(m)
	}
}

// addFleet makes all registered devices due, and also the items of devices that are not registered any more.
func (q *queue) addFleet(devices map[fleet.DeviceID]*fleet.Registered) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id := range devices {
		q.push(q.item(id))
	}
	for id, m := range q.items {
		if devices[id] == nil {
			q.push(m) // The pass over the item forgets it.
		}
	}
}

// later makes an item due after this time.
func (q *queue) later(m *item, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.startTimer(m, after)
}

// again makes an item due once more after the present work on it.
func (q *queue) again(m *item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.items[m.id] == m {
		m.again = true
	}
}

// addRequest adds a request to a device's item and makes it due. It returns unavailable while the queue accepts no
// requests.
func (q *queue) addRequest(id fleet.DeviceID, r *request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.open {
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "Muster is not running yet, or shutting down"}
	}
	m := q.item(id)
	m.requests = append(m.requests, r)
	q.push(m)
	return nil
}

// takeRequest removes the oldest request of an item and returns it; nil if the item has no request.
func (q *queue) takeRequest(m *item) *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(m.requests) == 0 {
		return nil
	}
	r := m.requests[0]
	m.requests = m.requests[1:]
	m.again = m.again || len(m.requests) > 0
	return r
}

// isOf reports whether an item belongs to the registration of its device at this time. An item that no pass has worked
// on yet is assigned to this registration.
func (q *queue) isOf(m *item, registered time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.registered.IsZero() {
		m.registered = registered
	}
	return m.registered.Equal(registered)
}

// forget drops an item whose device was deleted, and answers its requests with why. If anew is true, the device was
// registered again and gets a new item, which is due.
func (q *queue) forget(m *item, why error, anew bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m.stopTimer()
	m.answer(why)
	delete(q.items, m.id)
	if anew {
		q.push(q.item(m.id))
	}
}

// find returns the item of a device, nil when it has none.
func (q *queue) find(id fleet.DeviceID) *item {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.items[id]
}

// each calls do for the history of every device.
func (q *queue) each(do func(*history)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.items {
		do(&m.history)
	}
}

// length counts the items that are due.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.due)
}

// push makes an item due, or notes that it needs another pass. The caller holds mu.
func (q *queue) push(m *item) {
	switch {
	case m.working:
		m.again = true
	case !m.queued:
		m.queued = true
		q.due = append(q.due, m)
		q.changed.Signal()
	}
}

// item returns the item of a device, and makes it first if the device has no item. The caller holds mu.
func (q *queue) item(id fleet.DeviceID) *item {
	m := q.items[id]
	if m == nil {
		m = newItem(id)
		q.items[id] = m
	}
	return m
}

// startTimer makes an item due when the time `after` has passed. It replaces an earlier timer of the item. The caller
// holds mu.
func (q *queue) startTimer(m *item, after time.Duration) {
	m.stopTimer()
	m.timer = time.AfterFunc(after, func() { q.add(m.id) })
}

// stopTimer ends the timer of an item. The caller holds queue.mu.
func (m *item) stopTimer() {
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
}

// answer answers all requests of the item. The caller holds queue.mu.
func (m *item) answer(err error) {
	for _, r := range m.requests {
		r.done <- err
	}
	m.requests = nil
}

package reconcile

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/memlimit"
	"muster/internal/plan"
)

const (
	defaultWorkers = 64
	workTime       = 5 * time.Minute // for one device, an API restart and a test of access included
	firstPause     = time.Second     // after a failure that may pass
	longestPause   = time.Minute
	ignoresEvery   = 15 * time.Minute // ignore patterns are not in any event
	ignoresAgain   = time.Minute      // after some could not be read
	// versions of many devices come in together: they are taken in when it is quiet for so long,
	factsPause   = time.Second
	factsLongest = 15 * time.Second      // or when the first of them has waited for so long
	fleetPause   = 50 * time.Microsecond // per device beyond smallFleet, between two passes over all of them
	smallFleet   = 1000
)

// Engine works on devices as they need it, one worker per device at a time.
type Engine struct {
	o    Options
	log  *slog.Logger
	seed maphash.Seed
	held *plan.HeldChanges

	mu               sync.Mutex // guards the rest, and of every item the fields that say so
	wake             *sync.Cond
	items            map[fleet.DeviceID]*item
	queue            []*item
	waitingForMemory []*item                   // those that wait until there is memory for them
	views            map[*fleet.Registry]*view // of viewed, and of the generations that devices are admitted to
	viewed           *fleet.Registry           // the present one
	factsDue         *time.Timer               // the facts of some device changed: all are queued again
	moved            time.Time                 // when the first of them did
	fleetDue         *time.Timer               // the registry changed right after all were queued
	queuedAll        time.Time                 // when all were queued last
	running          bool
}

// New makes an Engine; Run starts it.
func New(o Options) *Engine {
	if o.Workers == 0 {
		o.Workers = defaultWorkers
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Memory == nil {
		o.Memory = memlimit.New()
	}
	e := &Engine{o: o, log: o.Log.With(logkey.Component, "reconcile"), seed: maphash.MakeSeed(),
		held:  plan.NewHeldChanges(),
		items: map[fleet.DeviceID]*item{}, views: map[*fleet.Registry]*view{}}
	e.wake = sync.NewCond(&e.mu)
	o.Memory.Freed = e.memoryFreed
	return e
}

// Run works until ctx ends, then waits for the devices under work. What a crash left unfinished is verified first.
func (e *Engine) Run(ctx context.Context) error {
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		return err
	}
	for _, load := range []func(context.Context) error{e.loadStops, e.loadConsents, e.findUnfinished} {
		if err := load(ctx); err != nil {
			return err
		}
	}
	e.mu.Lock()
	for id, m := range e.items { // what was loaded is of these registrations
		if device := registry.Devices[id]; device != nil {
			m.registered = device.CreatedAt
		}
	}
	e.running = true
	e.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.wake.Broadcast()
	})
	defer stop()
	e.RegistryChanged() //nolint:contextcheck // it only queues work

	var work sync.WaitGroup
	slots := make(chan struct{}, e.o.Workers)
	for {
		m := e.next(ctx)
		if m == nil {
			break
		}
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			e.work(ctx, m)
		})
	}
	work.Wait()
	e.stop()
	return ctx.Err()
}

// stop ends every timer, and answers the requests that still wait.
func (e *Engine) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = false
	for _, m := range e.items {
		m.timer.stop()
		m.answer(&fleet.Error{Code: fleet.CodeUnavailable, Message: "Muster is shutting down"})
	}
	for _, due := range []*time.Timer{e.factsDue, e.fleetDue} {
		if due != nil {
			due.Stop()
		}
	}
	e.factsDue, e.fleetDue = nil, nil
}

// next waits for a device that needs work; nil when ctx ended.
func (e *Engine) next(ctx context.Context) *item {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		if ctx.Err() != nil {
			return nil
		}
		if len(e.queue) > 0 {
			m := e.queue[0]
			e.queue = e.queue[1:]
			m.queued, m.working, m.again = false, true, false
			return m
		}
		e.wake.Wait()
	}
}

// work makes one pass over a device, and queues the device again when that is needed.
func (e *Engine) work(ctx context.Context, m *item) {
	bounded, cancel := context.WithTimeout(ctx, workTime)
	err := e.process(bounded, m)
	cancel()

	e.mu.Lock()
	defer e.mu.Unlock()
	m.working = false
	if ctx.Err() != nil || e.items[m.id] != m { // it was forgotten
		return
	}
	switch {
	case errors.Is(err, memlimit.ErrBusy):
		e.waitForMemory(m)
	case err != nil:
		m.failures++
		pause := backoff(m.failures)
		e.log.Warn("device will be tried again", logkey.Device, m.id, logkey.Err(err), "pause", pause)
		m.timer.start(pause, func() { e.enqueue(m.id) })
	case m.again:
		m.failures = 0
		e.push(m)
	default:
		m.failures = 0
	}
}

// waitForMemory queues a device again once memory was freed. Where others took none at all, that was a moment ago. The
// caller holds mu.
func (e *Engine) waitForMemory(m *item) {
	e.waitingForMemory = append(e.waitingForMemory, m)
	m.timer.start(firstPause, func() { e.enqueue(m.id) })
}

// memoryFreed queues the devices that wait for memory.
func (e *Engine) memoryFreed() {
	e.mu.Lock()
	defer e.mu.Unlock()
	waiting := e.waitingForMemory
	e.waitingForMemory = nil
	for _, m := range waiting {
		m.timer.stop()
		e.push(m)
	}
}

// backoff grows from firstPause to longestPause, with jitter: no herd comes back at once.
func backoff(failures int) time.Duration {
	pause := longestPause
	if failures < 7 {
		pause = min(firstPause<<(failures-1), longestPause)
	}
	return pause/2 + rand.N(pause/2)
}

// enqueue queues a device.
func (e *Engine) enqueue(id fleet.DeviceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.push(e.item(id))
}

// push queues an item, or notes that it needs another pass. The caller holds mu.
func (e *Engine) push(m *item) {
	switch {
	case m.working:
		m.again = true
	case !m.queued:
		m.queued = true
		e.queue = append(e.queue, m)
		e.wake.Signal()
	}
}

// item is the memory of a device, made when it is first needed. The caller holds mu.
func (e *Engine) item(id fleet.DeviceID) *item {
	m := e.items[id]
	if m == nil {
		m = newItem(id)
		e.items[id] = m
	}
	return m
}

// ConfigSeen says that a configuration was seen that differs from the last one.
func (e *Engine) ConfigSeen(id fleet.DeviceID) { e.enqueue(id) }

// AdmissionChanged says that devices are planned from another generation now.
func (e *Engine) AdmissionChanged(devices []fleet.DeviceID) { e.queueAll(devices, func(*history) {}) }

// ConsentsGiven says that an undo gave devices consents.
func (e *Engine) ConsentsGiven(devices []fleet.DeviceID) {
	e.queueAll(devices, func(h *history) { h.answers.SetUnread(true) })
}

// Wake plans devices anew: something changed for them that neither the daemon nor the registry shows.
func (e *Engine) Wake(devices []fleet.DeviceID) { e.queueAll(devices, (*history).forgetInputs) }

// queueAll queues devices, and notes why in what is remembered of each.
func (e *Engine) queueAll(devices []fleet.DeviceID, note func(*history)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range devices {
		m := e.item(id)
		note(&m.history)
		e.push(m)
	}
}

// Online says that a daemon can be reached again, or that more is known of it.
func (e *Engine) Online(id fleet.DeviceID) {
	e.mu.Lock()
	m := e.item(id)
	moved := m.moved(e.o.Daemon.Known(id).Version)
	if moved && e.running {
		e.factsMoved()
	}
	m.failures = 0
	e.push(m)
	e.mu.Unlock()
}

// Offline says that a daemon cannot be reached any more: the time of consents to changes of it stops.
func (e *Engine) Offline(id fleet.DeviceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.items[id]; m != nil && m.history.answers.Any() {
		e.push(m)
	}
}

// factsMoved queues all devices soon, for programs that read other devices. The caller holds mu.
func (e *Engine) factsMoved() {
	switch {
	case e.factsDue == nil:
		e.moved = time.Now()
		e.factsDue = time.AfterFunc(factsPause, func() {
			e.mu.Lock()
			e.factsDue = nil
			clear(e.views)
			e.mu.Unlock()
			e.RegistryChanged()
		})
	case time.Since(e.moved) < factsLongest-factsPause:
		if e.factsDue.Stop() { // else it is at work, and takes this one in too
			e.factsDue.Reset(factsPause)
		}
	}
}

// RegistryChanged says that devices, templates, tags or modes changed. Devices that it does not concern cost little;
// but thousands of changes in a row do not queue thousands of devices each time.
func (e *Engine) RegistryChanged() {
	registry, err := e.o.Store.Registry(context.Background())
	if err != nil {
		e.log.Warn("registry not read", logkey.Err(err))
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fleetDue != nil {
		return
	}
	if wait := time.Until(e.queuedAll.Add(time.Duration(len(registry.Devices)-smallFleet) * fleetPause)); wait > 0 &&
		e.running {
		e.fleetDue = time.AfterFunc(wait, func() {
			e.mu.Lock()
			e.fleetDue = nil
			e.mu.Unlock()
			e.RegistryChanged()
		})
		return
	}
	e.queuedAll = time.Now()
	for id := range registry.Devices {
		e.push(e.item(id))
	}
	for id, m := range e.items {
		if registry.Devices[id] == nil {
			e.push(m) // to be forgotten
		}
	}
}

// SecretsChanged says that a secret of Muster's own was put or deleted.
func (e *Engine) SecretsChanged() {
	e.mu.Lock()
	for _, m := range e.items {
		m.history.forgetInputs()
	}
	e.mu.Unlock()
	e.RegistryChanged() //nolint:contextcheck // it only queues work
}

// Backlog is how many devices wait in the queue.
func (e *Engine) Backlog() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queue)
}

func (e *Engine) step(name string) {
	if e.o.Step != nil {
		e.o.Step(name)
	}
}

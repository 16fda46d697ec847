package reconcile

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	defaultWorkers = 64
	workTime       = 5 * time.Minute // time limit of one pass, with an API restart and a test of access

	// The versions of many daemons become known at about the same time. All devices are planned anew once no further
	// version came for factsPause, or once the first has waited for factsLongest.
	factsPause   = time.Second
	factsLongest = 15 * time.Second
	fleetPause   = 50 * time.Microsecond // pause between two passes over all devices, for each device beyond smallFleet
	smallFleet   = 1000
)

// Engine works on devices as they need it, one worker per device at a time.
type Engine struct {
	o     Options
	log   *slog.Logger
	seed  maphash.Seed
	held  *plan.HeldChanges
	queue *queue
	going goingLosses

	mu            sync.Mutex                      // guards the rest
	generations   map[*fleet.Registry]*generation // the generations to which devices are admitted now
	generationsOf *fleet.Registry                 // the registry for which generations was made
	factsDue      *time.Timer                     // queues all devices again; set when facts of some device changed
	factsSince    time.Time                       // when factsDue was first started
	fleetDue      *time.Timer                     // queues all devices once the pause between two such passes is over
	queuedAll     time.Time                       // when all devices were queued last
	running       bool
	short         map[fleet.DeviceID]bool // devices whose changes wait because of copies
	shortDue      *time.Timer             // plans them again; set when more may be known of copies
}

// New makes an Engine; Run starts it.
func New(o Options) *Engine {
	if o.Workers == 0 {
		o.Workers = defaultWorkers
	}
	if o.IgnoresEvery == 0 {
		o.IgnoresEvery = ignoresEvery
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Memory == nil {
		o.Memory = unboundedMemory{}
	}
	e := &Engine{o: o, log: o.Log.With(logkey.Component, "reconcile"), seed: maphash.MakeSeed(),
		held: plan.NewHeldChanges(), queue: newQueue(), generations: map[*fleet.Registry]*generation{},
		going: goingLosses{losses: map[fleet.DeviceID]reservation{}}, short: map[fleet.DeviceID]bool{}}
	return e
}

// MemoryFreed queues the devices that wait for memory. The server calls it each time memory was given back.
func (e *Engine) MemoryFreed() { e.queue.memoryFreed() }

// Run works on devices until ctx ends, then waits for the passes that are running. It starts with the intents that a
// crash left open.
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
	e.queue.start(registry)
	e.setRunning(true)
	defer context.AfterFunc(ctx, e.queue.wakeAll)()
	e.RegistryChanged() //nolint:contextcheck // it only queues work

	var work sync.WaitGroup
	slots := make(chan struct{}, e.o.Workers)
	for {
		m := e.queue.next(ctx)
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
	e.setRunning(false)
	e.queue.stop(&fleet.Error{Code: fleet.CodeUnavailable, Message: "Muster is shutting down"})
	return ctx.Err()
}

// setRunning notes whether workers run. When they end, it stops all timers.
func (e *Engine) setRunning(running bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = running
	if running {
		return
	}
	for _, due := range []*time.Timer{e.factsDue, e.fleetDue, e.shortDue} {
		if due != nil {
			due.Stop()
		}
	}
	e.factsDue, e.fleetDue, e.shortDue = nil, nil, nil
}

// ConfigObserved queues the device, because its configuration changed.
func (e *Engine) ConfigObserved(id fleet.DeviceID) { e.queue.add(id) }

// AdmissionChanged queues devices that are admitted to another generation now.
func (e *Engine) AdmissionChanged(devices []fleet.DeviceID) {
	e.queue.addAll(devices, func(*history) {})
}

// ConsentsGiven queues devices that got consents from the undo of a rollout.
func (e *Engine) ConsentsGiven(devices []fleet.DeviceID) {
	e.queue.addAll(devices, func(h *history) { h.answers.SetUnread(true) })
}

// Wake queues devices and makes their next pass plan again. It is for changes that neither the daemons nor the
// registry show.
func (e *Engine) Wake(devices []fleet.DeviceID) { e.queue.addAll(devices, (*history).forgetInputs) }

// Online queues the device, because its daemon can be reached again or more is known about it.
func (e *Engine) Online(id fleet.DeviceID) {
	version := e.o.Daemon.Known(id).Version
	if e.queue.addFresh(id).versionChanged(version) {
		e.factsChanged()
	}
}

// Offline queues a device whose daemon cannot be reached any more, if it has open consents. The pass stops the time of
// these consents.
func (e *Engine) Offline(id fleet.DeviceID) {
	e.queue.addIf(id, func(h *history) bool { return h.answers.Any() })
}

// factsChanged queues all devices after a pause (see factsPause), because their templates may read facts of other
// devices.
func (e *Engine) factsChanged() {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.running:
	case e.factsDue == nil:
		e.factsSince = time.Now()
		e.factsDue = time.AfterFunc(factsPause, func() {
			e.mu.Lock()
			e.factsDue = nil
			clear(e.generations)
			e.mu.Unlock()
			e.RegistryChanged()
		})
	case time.Since(e.factsSince) < factsLongest-factsPause:
		if e.factsDue.Stop() { // If Stop returns false, the timer's function runs already and includes this change.
			e.factsDue.Reset(factsPause)
		}
	}
}

// RegistryChanged queues all devices, because devices, templates, tags or modes changed. A pass over a device that the
// change does not concern costs little. In a large fleet RegistryChanged waits before it queues all devices again, so
// that thousands of changes in a row do not each queue thousands of devices.
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
	e.queue.addFleet(registry.Devices)
}

// SecretsChanged queues all devices, because a secret of Muster's own was put or deleted.
func (e *Engine) SecretsChanged() {
	e.queue.each((*history).forgetInputs)
	e.RegistryChanged() //nolint:contextcheck // it only queues work
}

// Backlog returns how many devices wait in the queue.
func (e *Engine) Backlog() int { return e.queue.length() }

// Package mirror follows every registered daemon. Each device has one watcher, a goroutine that contacts the daemon,
// reads its state once and then follows its events. The watcher publishes an immutable snapshot for readers, and
// queues observations for the store, which are written in the background. The mirror never writes to a daemon by
// itself: a Session forwards the writes of reconcile. Memory holds only the configurations that wait to be stored or
// planned.
//
// Put and Remove add and remove a device at once.
package mirror

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Options are the dependencies of a Mirror. Watchers call the callbacks from their goroutines, so these must be quick.
type Options struct {
	Dial     func(Target) Daemon
	Resolver Resolver
	Sink     Sink
	Log      *slog.Logger

	// Changed is called with each new snapshot in which something changed, after readers can see it. Two goroutines may
	// call it for one device at the same time, so the newer snapshot may come first.
	Changed func(*Snapshot, Aspect)
	// ConfigStored is called after the sink has stored a configuration that differs from the device's last one.
	ConfigStored func(fleet.DeviceID, fleet.ObservedConfig)
	// ConfigObserved is called after ConfigStored if a watcher read the configuration; TakeConfig then returns it. It is
	// not called for ReadNow and for a Session, whose callers have the configuration already.
	ConfigObserved func(fleet.DeviceID)
	// MayWrite is called before every write of a Session. Its error forbids the write, because another server may be
	// writing to the same daemons. Nil permits every write.
	MayWrite func(context.Context) error
	// Read parses a configuration. Nil means ReadConfig.
	Read func(own fleet.DeviceID, document []byte) (Reading, error)

	// RetryPause is the pause after each failed contact. Zero means that pauses grow from a second to a minute.
	RetryPause time.Duration

	// Seed holds the last known snapshots from before the start. A device may be missing.
	Seed map[fleet.DeviceID]Snapshot
}

const (
	pollWait        = 50 * time.Second
	statusEvery     = time.Minute
	connectsASecond = 200
)

// Mirror is the set of all watchers.
type Mirror struct {
	o           Options
	log         *slog.Logger
	connects    *rate.Limiter
	viewedReads *rate.Limiter       // limits the additional readings of viewed folders
	parsing     chan struct{}       // holds a token while a big configuration is parsed
	unread      *semaphore.Weighted // bytes of big configurations that wait to be parsed
	outbox      *outbox
	handover    handover
	watchers    sync.WaitGroup
	visited     atomic.Int64 // watchers that visit their daemon instead of following it

	// someArePaused is whether the mode of the fleet or of any tag pauses devices, as the last call of ModesChanged
	// found. It is true before the first call.
	someArePaused atomic.Bool

	mu      sync.RWMutex             // guards what follows
	launch  func(w, before *watcher) // set while Run runs: starts a watcher after its predecessor has ended
	devices map[fleet.DeviceID]*watcher
	// seed has the snapshots for devices that have no watcher yet; nil once all of them were used.
	seed map[fleet.DeviceID]Snapshot
}

// New makes a Mirror that watches nothing yet.
func New(o Options) *Mirror {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Resolver == nil {
		o.Resolver = Explicit{}
	}
	if o.Read == nil {
		o.Read = ReadConfig
	}
	m := &Mirror{
		o: o, log: o.Log.With(logkey.Component, "mirror"), connects: rate.NewLimiter(connectsASecond, connectsASecond/10),
		viewedReads: rate.NewLimiter(viewedPerSecond, viewedPerSecond),
		parsing:     make(chan struct{}, 1), unread: semaphore.NewWeighted(maxUnread),
		devices: map[fleet.DeviceID]*watcher{}, seed: maps.Clone(o.Seed),
		handover: handover{configs: map[fleet.DeviceID]*fleet.ObservedConfig{}},
	}
	m.o.Seed = nil
	m.someArePaused.Store(true)
	m.outbox = newOutbox(o.Sink, m.log, m.announce)
	m.outbox.onStored = m.observationStored
	return m
}

// observationStored tells the device's watcher that the sink has stored its pin or configuration.
func (m *Mirror) observationStored(o fleet.Observation) {
	w := m.watcher(o.Device)
	if w == nil {
		return
	}
	if o.Proven != nil {
		w.pinStored(o.Proven.Fingerprint)
	}
	if o.Config == nil {
		return
	}
	w.update(func(s *Snapshot) Aspect {
		s.Unstored = s.Unstored && s.Digest != o.Config.Digest
		return 0
	})
	if m.o.ConfigStored != nil {
		m.o.ConfigStored(o.Device, *o.Config)
	}
}

// Run watches until ctx ends. Then it waits until every watcher has ended and the outbox has written what is left.
func (m *Mirror) Run(ctx context.Context) error {
	m.mu.Lock()
	m.launch = m.launcher(ctx)
	for _, w := range m.devices {
		m.launch(w, nil)
	}
	m.mu.Unlock()
	written := make(chan struct{})
	stop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(written)
		m.outbox.run(stop)
	}()
	<-ctx.Done()
	m.mu.Lock()
	m.launch = nil // no watcher starts after this
	m.mu.Unlock()
	m.watchers.Wait()
	cancel()
	<-written
	return ctx.Err()
}

// Put starts to watch a device. If the device has a watcher, Put replaces it, but only if something that matters for
// the connection has changed: the running watcher ends at once, and the new one starts without a pause.
func (m *Mirror) Put(d fleet.Registered, paused bool) {
	if w := m.put(d, paused); w != nil && m.o.Changed != nil {
		m.o.Changed(w.snapshot.Load(), ConnectionChanged)
	}
}

// put returns the new watcher, and nil if the device keeps the one that it has.
func (m *Mirror) put(d fleet.Registered, paused bool) *watcher {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.devices[d.ID]
	if old != nil && old.same(d, paused) {
		return nil
	}
	w := m.newWatcher(d, paused, old)
	m.devices[d.ID] = w
	if old != nil {
		old.end()
	}
	if m.launch != nil {
		m.launch(w, old)
	}
	return w
}

// ModesChanged pauses or resumes watching for each device after the mode of the fleet or of a tag changed. After a
// change of a device's own mode the caller calls Put instead.
func (m *Mirror) ModesChanged(r *fleet.Registry) {
	pausing := r.Mode == fleet.ModePaused || slices.Contains(slices.Collect(maps.Values(r.TagModes)), fleet.ModePaused)
	if was := m.someArePaused.Swap(pausing); !was && !pausing {
		return
	}
	for id, device := range r.Devices {
		if paused := r.ModeOf(id) == fleet.ModePaused; paused != m.Paused(id) {
			m.Put(*device, paused)
		}
	}
}

// Paused reports whether the last Put of a device paused watching it.
func (m *Mirror) Paused(id fleet.DeviceID) bool {
	w := m.watcher(id)
	return w != nil && w.paused
}

// Certificates returns two certificates that were seen at the address of a device. proven is the one with which the
// device itself answered last. shown is the newest one, which may be another daemon's.
func (m *Mirror) Certificates(id fleet.DeviceID) (proven fleet.Certificate, shown fleet.Shown) {
	if s := m.Snapshot(id); s != nil {
		return s.Proven, s.Shown
	}
	return proven, shown
}

// Remove ends the watcher of a device at once and discards what waits to be stored about the device.
func (m *Mirror) Remove(id fleet.DeviceID) {
	m.mu.Lock()
	w := m.devices[id]
	delete(m.devices, id)
	delete(m.seed, id)
	m.mu.Unlock()
	if w != nil {
		w.end()
		m.outbox.forget(id)
		m.handover.take(id)
	}
}

// Retry ends the pause before the next attempt to reach a device.
func (m *Mirror) Retry(id fleet.DeviceID) {
	if w := m.watcher(id); w != nil {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Snapshot returns what is known of a device; nil if the device is not registered.
func (m *Mirror) Snapshot(id fleet.DeviceID) *Snapshot {
	if w := m.watcher(id); w != nil {
		return w.snapshot.Load()
	}
	return nil
}

// Configuring reports, for each daemon, whether its newest configuration has peer. Daemons whose configuration was not
// read since the server's start, or has too many devices, are left out.
func (m *Mirror) Configuring(peer fleet.DeviceID) map[fleet.DeviceID]bool {
	known := map[fleet.DeviceID]bool{}
	for _, s := range m.Snapshots() {
		if s.ConfiguredPeers != (fleet.Peers{}) {
			known[s.Device] = s.ConfiguredPeers.Has(peer)
		}
	}
	return known
}

// Snapshots returns the snapshots of all devices, sorted by device ID.
func (m *Mirror) Snapshots() []*Snapshot {
	m.mu.RLock()
	all := make([]*Snapshot, 0, len(m.devices))
	for _, w := range m.devices {
		all = append(all, w.snapshot.Load())
	}
	m.mu.RUnlock()
	slices.SortFunc(all, func(a, b *Snapshot) int { return cmp.Compare(a.Device, b.Device) })
	return all
}

// Daemon returns the client of a device's daemon, which the caller shares with the watcher. It returns an error while
// the daemon is not online.
func (m *Mirror) Daemon(id fleet.DeviceID) (Daemon, error) {
	_, d, err := m.online(id)
	return d, err
}

func (m *Mirror) online(id fleet.DeviceID) (*watcher, Daemon, error) {
	w := m.watcher(id)
	if w == nil {
		return nil, nil, fleet.NotFoundf("device %s is not registered", id)
	}
	d, err := w.online()
	return w, d, err
}

// ReadNow reads the configuration of a device, which becomes its observed one. ConfigObserved is not called for it.
func (m *Mirror) ReadNow(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	w, d, err := m.online(id)
	if err != nil {
		return fleet.ObservedConfig{}, err
	}
	seen, _, err := w.readConfig(ctx, d, false)
	return seen, err
}

// Reread reads the configuration of a device as its watcher does: if it changed, ConfigObserved is called.
func (m *Mirror) Reread(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	w, d, err := m.online(id)
	if err != nil {
		return fleet.ObservedConfig{}, err
	}
	seen, _, err := w.readConfig(ctx, d, true)
	return seen, err
}

func (m *Mirror) watcher(id fleet.DeviceID) *watcher {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.devices[id]
}

// launcher starts watchers that end with ctx. It is called with mu held.
func (m *Mirror) launcher(ctx context.Context) func(w, before *watcher) {
	return func(w, before *watcher) {
		ctx, cancel := context.WithCancel(ctx)
		w.cancel = cancel
		m.watchers.Go(func() {
			defer close(w.done)
			defer cancel()
			if before != nil && before.cancel != nil {
				<-before.done // This does not take long, because the former watcher was cancelled.
			}
			w.run(ctx)
		})
	}
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

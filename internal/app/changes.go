package app

import (
	"context"
	"sync"
	"time"

	"muster/internal/adapter/discovery"
	"muster/internal/engine/revocation"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// changes collects what the engines and the store report, until App.forward passes it on. Reporting only sets a mark,
// so no engine runs code of another, and several reports about a device are passed on once. The number of marks is
// bounded by the number of devices.
type changes struct {
	some chan struct{} // holds a token while marks are set; its capacity is 1

	mu      sync.Mutex // guards the fields below
	devices map[fleet.DeviceID]deviceChange
	// devices whose row the view must compute again; the view reads this set itself
	viewed    map[fleet.DeviceID]bool
	judged    map[fleet.DeviceID]bool // devices whose folders health must judge again
	committed fleet.Committed
	proven    bool                                // daemons were read to prove copies
	revoked   map[fleet.DeviceID]fleet.Revocation // The map is of the last commit and is never changed.
	// seen says when a configuration last had a revoked device. Only revoked devices that are there take memory.
	seen map[revocation.Pair]time.Time
}

// deviceChange is what changed of a device.
type deviceChange struct {
	aspect       fleet.Aspect
	tunnel       bool // its agent's tunnel was opened, ended or changed
	configStored bool // the store has stored a configuration that a watcher read
}

func newChanges() *changes {
	return &changes{some: make(chan struct{}, 1), devices: map[fleet.DeviceID]deviceChange{},
		viewed: map[fleet.DeviceID]bool{}, judged: map[fleet.DeviceID]bool{}, seen: map[revocation.Pair]time.Time{}}
}

// device marks a device. With the aspect 0, only its state in rollouts may have changed.
func (c *changes) device(id fleet.DeviceID, aspect fleet.Aspect) {
	c.markDevice(id, func(is *deviceChange) { is.aspect |= aspect })
}

func (c *changes) configStored(id fleet.DeviceID) {
	c.markDevice(id, func(is *deviceChange) { is.configStored = true })
}

func (c *changes) tunnel(id fleet.DeviceID) {
	c.markDevice(id, func(is *deviceChange) { is.tunnel = true })
}

func (c *changes) markDevice(id fleet.DeviceID, note func(*deviceChange)) {
	c.mark(func() {
		is := c.devices[id]
		note(&is)
		c.devices[id] = is
	})
}

func (c *changes) commit(committed fleet.Committed) { c.mark(func() { c.committed.Merge(committed) }) }

// copiesProven marks that daemons were read to prove copies.
func (c *changes) copiesProven() { c.mark(func() { c.proven = true }) }

func (c *changes) mark(change func()) {
	c.mu.Lock()
	change()
	c.mu.Unlock()
	select {
	case c.some <- struct{}{}:
	default:
	}
}

// view marks a device whose row the view must compute again.
func (c *changes) view(id fleet.DeviceID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.viewed[id] = true
}

func (c *changes) takeViewed() map[fleet.DeviceID]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.viewed) == 0 {
		return nil
	}
	viewed := c.viewed
	c.viewed = map[fleet.DeviceID]bool{}
	return viewed
}

// judge marks a device whose folders health must judge again.
func (c *changes) judge(id fleet.DeviceID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.judged[id] = true
}

func (c *changes) takeJudged() map[fleet.DeviceID]bool {
	return takeOut(c, &c.judged, map[fleet.DeviceID]bool{})
}

// lookFor sets the revoked devices, which see looks for.
func (c *changes) lookFor(revoked map[fleet.DeviceID]fleet.Revocation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revoked = revoked
}

// see notes the revoked devices that a daemon has. Each snapshot is seen: the next one may not have them any more.
func (c *changes) see(snapshot *fleet.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.revoked {
		if id != snapshot.Device && snapshot.ConfiguredPeers.Has(id) {
			c.seen[revocation.Pair{Revoked: id, Device: snapshot.Device}] = time.Now()
		}
	}
}

func (c *changes) takeSeen() map[revocation.Pair]time.Time {
	return takeOut(c, &c.seen, map[revocation.Pair]time.Time{})
}

func (c *changes) takeDevices() map[fleet.DeviceID]deviceChange {
	return takeOut(c, &c.devices, map[fleet.DeviceID]deviceChange{})
}

func (c *changes) takeCommitted() fleet.Committed { return takeOut(c, &c.committed, fleet.Committed{}) }

func (c *changes) takeProven() bool { return takeOut(c, &c.proven, false) }

// takeOut returns the value of a field of changes and resets the field.
func takeOut[T any](c *changes, field *T, empty T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := *field
	*field = empty
	return waiting
}

// snapshotChanged is called with each new snapshot of a device.
func (a *App) snapshotChanged(snapshot *fleet.Snapshot, aspect fleet.Aspect) {
	if aspect&watchedByRevocations != 0 {
		a.changes.see(snapshot)
	}
	a.deviceChanged(snapshot.Device, aspect)
}

// watchedByRevocations has the aspects in which a snapshot tells about revoked devices.
const watchedByRevocations = fleet.ConnectionChanged | fleet.ConfigChanged

// deviceChanged is called when something of a device changed. Readers of the view see the change at once.
func (a *App) deviceChanged(id fleet.DeviceID, aspect fleet.Aspect) {
	if aspect&(fleet.ConnectionChanged|fleet.FoldersChanged|fleet.ConfigChanged) != 0 {
		a.changes.judge(id)
	}
	a.changes.view(id)
	a.changes.device(id, aspect)
}

// forward passes marks on until ctx ends. It passes on what people changed first: most other changes follow from that,
// and it waits at most for the processing of one device.
func (a *App) forward(ctx context.Context) error {
	for {
		select {
		case <-a.changes.some:
		case <-ctx.Done():
			return ctx.Err()
		}
		devices := a.changes.takeDevices()
		a.forwardCommitted(ctx)
		if a.changes.takeProven() {
			a.engine.CopiesChanged()
		}
		for id, is := range devices {
			if is.aspect&watchedByRevocations != 0 {
				a.revocations.Changed(id)
			}
		}
		for id, is := range devices {
			a.forwardDevice(id, is)
			a.forwardCommitted(ctx)
		}
	}
}

// forwardCommitted informs the engines of what people changed.
func (a *App) forwardCommitted(ctx context.Context) {
	changed := a.changes.takeCommitted()
	if changed.Empty() {
		return
	}
	a.logRevisions(changed.Revisions)
	devices := len(changed.Devices) > 0
	if changed.Registry || devices {
		a.feed.RegistryChanged()
	}
	a.engine.ConsentsGiven(changed.Consented)
	a.engine.AdmissionChanged(changed.Admitted)
	for id := range changed.Devices {
		a.tellAgent(ctx, id)
		a.runner.DevicePut(id)
	}
	for id := range changed.Decided {
		a.tellAgent(ctx, id)
	}
	if changed.Modes || changed.Revoked {
		a.runner.AllChanged()
	}
	if changed.Generation || devices {
		a.runner.Wake() // The runner decides which devices are admitted; its commit is reported here again.
	}
	if changed.Settings {
		a.settingsChanged()
	}
	if changed.Secrets {
		a.engine.SecretsChanged()
	}
	if devices || changed.Modes || changed.Roots || changed.Revoked {
		a.engine.RegistryChanged()
	}
	if devices || changed.Modes || changed.Revoked {
		a.revocations.RegistryChanged()
	}
}

// forwardDevice informs the engines and the event stream of what changed of a device.
func (a *App) forwardDevice(id fleet.DeviceID, is deviceChange) {
	if is.tunnel || is.configStored || is.aspect&(fleet.ConnectionChanged|fleet.StatusChanged) != 0 {
		if err := a.heedAgent(context.Background(), id); err != nil {
			a.log.Warn("what the device's agent tells is not kept yet", logkey.Device, id, logkey.Err(err))
		}
	}
	if is.tunnel {
		a.chooseWay(id)
		a.noteDisks(id)
		a.changes.view(id)
		is.aspect |= fleet.ConnectionChanged
	}
	if is.configStored {
		a.engine.ConfigObserved(id)
	}
	s, aspect := a.mirror.Snapshot(id), is.aspect
	if s == nil {
		// A device without a snapshot is no longer watched, so only its plan can have changed.
		aspect &= fleet.PlanChanged
	}
	a.feed.DeviceChanged(id, aspect)
	if aspect&fleet.ConnectionChanged != 0 && !s.Answers() && !s.Restarting {
		a.engine.Offline(id)
	}
	if aspect&fleet.ConfigChanged != 0 {
		a.engine.CopiesChanged()
	}
	if aspect&fleet.FoldersChanged != 0 {
		a.engine.FoldersSeen(id)
		a.prover.Changed(id)
	}
	a.runner.DeviceChanged(id)
	if aspect&(fleet.ConnectionChanged|fleet.StatusChanged) != 0 && s.Answers() {
		if host := s.Host(); host != "" && s.FoundBy != discovery.ByRecord {
			a.discovery.Proven(id, host) // Discovery tries this host first next time.
		}
		a.engine.Online(id)
	}
}

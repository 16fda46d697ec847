package app

import (
	"context"
	"sync"

	"muster/internal/discovery"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// changes are what the engines and the store told, until App.forward hands it on. To tell is to mark: no engine runs
// another one's code, and what a device does meanwhile is handed on once. They are bounded by the number of devices.
type changes struct {
	some chan struct{} // of capacity 1; something waits

	mu        sync.Mutex // guards what follows
	devices   map[fleet.DeviceID]change
	committed fleet.Committed
}

// change is what changed of a device.
type change struct {
	aspect     fleet.Aspect
	tunnel     bool // its agent's tunnel came, went or changed
	configKept bool // the store has a configuration that a watcher read
}

func newChanges() *changes {
	return &changes{some: make(chan struct{}, 1), devices: map[fleet.DeviceID]change{}}
}

// device marks a device. Without an aspect only its standing in rollouts may be another one.
func (c *changes) device(id fleet.DeviceID, aspect fleet.Aspect) {
	c.markDevice(id, func(is *change) { is.aspect |= aspect })
}

func (c *changes) configKept(id fleet.DeviceID) {
	c.markDevice(id, func(is *change) { is.configKept = true })
}

func (c *changes) tunnel(id fleet.DeviceID) {
	c.markDevice(id, func(is *change) { is.tunnel = true })
}

func (c *changes) markDevice(id fleet.DeviceID, note func(*change)) {
	c.mark(func() {
		is := c.devices[id]
		note(&is)
		c.devices[id] = is
	})
}

func (c *changes) commit(committed fleet.Committed) { c.mark(func() { c.committed.Merge(committed) }) }

func (c *changes) mark(change func()) {
	c.mu.Lock()
	change()
	c.mu.Unlock()
	select {
	case c.some <- struct{}{}:
	default:
	}
}

func (c *changes) takeDevices() map[fleet.DeviceID]change {
	return takeOut(c, &c.devices, map[fleet.DeviceID]change{})
}

func (c *changes) takeCommitted() fleet.Committed { return takeOut(c, &c.committed, fleet.Committed{}) }

// takeOut gives what waits in a field of changes, and leaves the field empty.
func takeOut[T any](c *changes, field *T, empty T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := *field
	*field = empty
	return waiting
}

// deviceChanged is told that something of a device changed. Readers of the inventory see it at once.
func (a *App) deviceChanged(id fleet.DeviceID, aspect fleet.Aspect) {
	a.inventory.DeviceChanged(id)
	a.changes.device(id, aspect)
}

// forward hands on what was told until ctx ends. What people did comes first: it is why much of the rest happened, and
// it waits for no more than one device.
func (a *App) forward(ctx context.Context) error {
	for {
		select {
		case <-a.changes.some:
		case <-ctx.Done():
			return ctx.Err()
		}
		devices := a.changes.takeDevices()
		a.forwardCommitted(ctx)
		for id, is := range devices {
			a.forwardDevice(id, is)
			a.forwardCommitted(ctx)
		}
	}
}

// forwardCommitted tells the engines what people changed.
func (a *App) forwardCommitted(ctx context.Context) {
	changed := a.changes.takeCommitted()
	if changed.Empty() {
		return
	}
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
	if changed.Modes {
		a.runner.AllChanged()
	}
	if changed.Generation || devices {
		a.runner.Wake() // it decides which devices are admitted, and the commit of that comes here
	}
	if changed.Secrets {
		a.engine.SecretsChanged()
	}
	if devices || changed.Modes || changed.Roots {
		a.engine.RegistryChanged()
	}
}

// forwardDevice tells the engines, and those who follow the events, what changed of a device.
func (a *App) forwardDevice(id fleet.DeviceID, is change) {
	if is.tunnel || is.configKept || is.aspect&(fleet.ConnectionChanged|fleet.StatusChanged) != 0 {
		if err := a.heedAgent(context.Background(), id); err != nil {
			a.log.Warn("what the device's agent tells is not kept yet", logkey.Device, id, logkey.Err(err))
		}
	}
	if is.tunnel {
		a.chooseWay(id)
		a.inventory.DeviceChanged(id)
		is.aspect |= fleet.ConnectionChanged
	}
	if is.configKept {
		a.engine.ConfigSeen(id)
	}
	s, aspect := a.mirror.Snapshot(id), is.aspect
	if s == nil {
		aspect &= fleet.PlanChanged // what the mirror told of it is over
	}
	a.feed.DeviceChanged(id, aspect)
	if aspect&(fleet.ConnectionChanged|fleet.ConfigChanged|fleet.PlanChanged) != 0 {
		a.count(id)
	}
	if aspect&fleet.ConnectionChanged != 0 && !s.Answers() && !s.Restarting {
		a.engine.Offline(id)
	}
	if aspect&fleet.FoldersChanged != 0 {
		a.rollup.Summarise(id, a.mirror.Snapshot)
		a.engine.FoldersSeen(id)
	}
	a.runner.DeviceChanged(id)
	if aspect&(fleet.ConnectionChanged|fleet.StatusChanged) != 0 && s.Answers() {
		if host := s.Host(); host != "" && s.FoundBy != discovery.ByRecord {
			a.discovery.Proven(id, host) // it is looked for there first
		}
		a.engine.Online(id)
	}
}

package stsim

import (
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// link is a connection between two daemons of the farm, the smaller number first.
type link struct{ a, b int }

// links are the connections that stand. Two daemons are connected while both run, know each other and neither has
// paused the other.
type links struct {
	mu    sync.Mutex // guards since
	since map[link]time.Time
}

// relink brings the connections of a daemon up to date with what it and its peers say.
func (d *Daemon) relink() { d.relinkWith(idsOf(d.Config())) }

func (d *Daemon) relinkWith(peers []fleet.DeviceID) {
	for _, id := range peers {
		if peer := d.farm.byID[id]; peer != nil && peer != d {
			d.farm.links.update(d, peer)
		}
	}
}

func (l *links) update(x, y *Daemon) {
	if x.number > y.number {
		x, y = y, x
	}
	stands := x.welcomes(y.id) && y.welcomes(x.id)
	key := link{x.number, y.number}
	l.mu.Lock()
	_, stood := l.since[key]
	if stands {
		if !stood {
			l.since[key] = time.Now()
		}
	} else {
		delete(l.since, key)
	}
	l.mu.Unlock()
	if stands != stood {
		x.tellLink(y, stands)
		y.tellLink(x, stands)
	}
}

// welcomes tells whether the daemon would talk to that device.
func (d *Daemon) welcomes(id fleet.DeviceID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process == nil {
		return false
	}
	device, err := devices.find(d.doc, string(id))
	return err == nil && !device.Get("paused").IsTrue()
}

func (d *Daemon) tellLink(peer *Daemon, stands bool) {
	p := d.current()
	if p == nil {
		return
	}
	text := func(name, value string) stconfig.Member {
		return stconfig.Member{Name: name, Value: stconfig.Text(value)}
	}
	if !stands {
		p.log("DeviceDisconnected", stconfig.Obj(text("id", string(peer.id)), text("error", "reading length: EOF")))
		return
	}
	p.log("DeviceConnected", stconfig.Obj(text("id", string(peer.id)), text("deviceName", peer.name),
		text("clientName", "syncthing"),
		text("clientVersion", string(peer.Version())), text("type", "tcp-client"), text("addr", peer.connectionAddress())))
}

// linkTo is the connected peer with that ID and since when, or nil.
func (d *Daemon) linkTo(id string) (*Daemon, time.Time) {
	peer := d.farm.byID[fleet.DeviceID(id)]
	if peer == nil {
		return nil, time.Time{}
	}
	l := d.farm.links
	l.mu.Lock()
	defer l.mu.Unlock()
	since, stands := l.since[link{min(d.number, peer.number), max(d.number, peer.number)}]
	if !stands {
		return nil, time.Time{}
	}
	return peer, since
}

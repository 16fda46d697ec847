package stsim

import (
	"slices"
	"strings"
	"sync"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// link is a connection between two daemons of the farm, the smaller number first.
type link struct{ a, b int }

// links are the connections that stand. Two daemons are connected while both run, know each other and neither has
// paused the other, unless Disconnect cut them off.
type links struct {
	// updating is held over an update: of two at the same time, the one that looked first must not have the last word.
	updating sync.Mutex

	mu    sync.Mutex // guards everything below
	since map[link]time.Time
	until map[link]time.Time // ends of connections
	cut   map[link]struct{}  // links that Disconnect cut
}

func newLinks() *links {
	return &links{since: map[link]time.Time{}, until: map[link]time.Time{}, cut: map[link]struct{}{}}
}

func linkOf(x, y *Daemon) link { return link{min(x.number, y.number), max(x.number, y.number)} }

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
	l.updating.Lock()
	defer l.updating.Unlock()
	stands := x.welcomes(y.id) && y.welcomes(x.id)
	key := linkOf(x, y)
	l.mu.Lock()
	_, stood := l.since[key]
	if _, cut := l.cut[key]; cut {
		stands = false
	}
	if stands {
		if !stood {
			l.since[key] = time.Now()
		}
	} else if stood {
		delete(l.since, key)
		l.until[key] = time.Now()
	}
	l.mu.Unlock()
	if stands != stood {
		x.tellLink(y, stands)
		y.tellLink(x, stands)
	}
}

// welcomes reports whether the daemon would talk to that device.
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
	since, stands := l.since[linkOf(d, peer)]
	if !stands {
		return nil, time.Time{}
	}
	return peer, since
}

// Disconnect cuts a daemon off from another until Connect, over restarts: each is an island to the other. What they
// knew of each other they keep.
func (d *Daemon) Disconnect(peer *Daemon) {
	if to, _ := d.linkTo(string(peer.id)); to != nil {
		d.remember(peer)
		peer.remember(d)
	}
	l := d.farm.links
	l.mu.Lock()
	l.cut[linkOf(d, peer)] = struct{}{}
	l.mu.Unlock()
	l.update(d, peer)
}

// Connect undoes Disconnect.
func (d *Daemon) Connect(peer *Daemon) {
	l := d.farm.links
	l.mu.Lock()
	delete(l.cut, linkOf(d, peer))
	l.mu.Unlock()
	l.update(d, peer)
}

func (l *links) isCut(x, y *Daemon) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, cut := l.cut[linkOf(x, y)]
	return cut
}

// lastSeen is when the two were connected last; zero: never.
func (l *links) lastSeen(x, y *Daemon) (begun, ended time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since[linkOf(x, y)], l.until[linkOf(x, y)]
}

// remember keeps the sequences that a peer has now.
func (d *Daemon) remember(peer *Daemon) {
	for _, id := range d.FolderIDs() {
		numbers, err := peer.Summary(id)
		if err != nil {
			continue
		}
		d.mu.Lock()
		if f := d.folders[id]; f != nil {
			if f.heard == nil {
				f.heard = map[fleet.DeviceID]int64{}
			}
			f.heard[peer.id] = numbers.Sequence
		}
		d.mu.Unlock()
	}
}

// sharers are the other daemons of the farm that the folder is shared with, and that have it.
func (d *Daemon) sharers(id string) []*Daemon {
	config, err := d.folderConfig(id)
	if err != nil {
		return nil
	}
	var found []*Daemon
	for member := range config.Get("devices").Values() {
		peer := d.farm.byID[fleet.DeviceID(member.Get("deviceID").Str())]
		if peer == nil || peer == d {
			continue
		}
		if _, err := peer.Summary(id); err == nil {
			found = append(found, peer)
		}
	}
	return found
}

// remoteSequences is what the daemon knows of the sequences of its peers, by device; nothing of those that it never
// met. v1 does not tell. The caller holds no lock.
func (d *Daemon) remoteSequences(id string) stconfig.Value {
	if d.Version() == V1 {
		return stconfig.NullValue
	}
	var known []stconfig.Member
	for _, peer := range d.sharers(id) {
		sequence, there := d.sequenceOf(peer, id)
		if there {
			known = append(known, stconfig.Member{Name: string(peer.id), Value: number(sequence)})
		}
	}
	slices.SortFunc(known, func(a, b stconfig.Member) int { return strings.Compare(a.Name, b.Name) })
	return stconfig.Obj(known...)
}

// sequenceOf is the sequence of a peer as far as this daemon knows it.
func (d *Daemon) sequenceOf(peer *Daemon, id string) (sequence int64, known bool) {
	if d.farm.links.isCut(d, peer) {
		d.mu.Lock()
		defer d.mu.Unlock()
		f := d.folders[id]
		if f == nil {
			return 0, false
		}
		sequence, known = f.heard[peer.id]
		return sequence, known
	}
	if begun, ended := d.farm.links.lastSeen(d, peer); begun.IsZero() && ended.IsZero() {
		return 0, false
	}
	peer.mu.Lock()
	defer peer.mu.Unlock()
	f := peer.folders[id]
	if f == nil {
		return 0, false
	}
	return f.numbers.Sequence, true
}

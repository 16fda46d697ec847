// Package discovery finds the daemon of a registered device that has no address: it asks discovery servers, listens to
// announcements on the local network, and asks other managed daemons. What it finds is a claim that has to be proven
// when connecting: no answer here is a reason to send an API key. Only a discovery server may introduce a device whose
// certificate is not pinned: it knows the announcer by the device certificate.
package discovery

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// PublicServer is the lookup server of Syncthing's own configuration ("default"; lib/config, 2.x).
const PublicServer = "https://discovery-lookup.syncthing.net/v2/?noannounce"

// DefaultLocalPort is where Syncthing announces itself on the local network, by UDP.
const DefaultLocalPort = 21027

// Off, alone in Options.Servers, switches discovery off: all of it.
const Off = "none"

// Options say where to look.
type Options struct {
	Servers    []string   // URLs as Syncthing has them, ?id=, ?insecure, ?noannounce, ?nolookup; none: PublicServer
	AllowLocal bool       // answers may be loopback and link-local addresses: one host, tests
	Listeners  []net.Addr // our own, of the API and of agents, where no device is
	LocalPort  int        // UDP port on which local announcements are heard, 0: they are not
	Log        *slog.Logger
}

// Neighbours are the managed daemons. Answers are raw; discovery takes them apart and believes none.
type Neighbours interface {
	// Online are the daemons that can be asked now for the device, those that share something with it first.
	Online(about fleet.DeviceID) []fleet.DeviceID
	// Discovery is what a daemon answers to GET /rest/system/discovery.
	Discovery(ctx context.Context, daemon fleet.DeviceID) ([]byte, error)
	// Connections is what a daemon answers to GET /rest/system/connections.
	Connections(ctx context.Context, daemon fleet.DeviceID) ([]byte, error)
}

// Candidate is a place where a device may be; see fleet.
type Candidate = fleet.Candidate

// How a candidate was found.
const (
	ByRecord = "record" // typed by a person
	ByLocal  = "local"  // announced on the local network
	ByFleet  = "fleet"  // known to another managed daemon
	ByGlobal = "global" // known to a discovery server
)

// Discovery remembers what was claimed about each device, for a while.
type Discovery struct {
	off        bool
	allowLocal bool
	listeners  []net.Addr
	localPort  int
	log        *slog.Logger
	now        func() time.Time
	servers    []*server
	fleet      *neighbourhood
	local      *announcements

	mu      sync.Mutex // guards what follows
	devices map[fleet.DeviceID]*inquiry
	urgent  map[fleet.DeviceID]time.Time // forgotten on purpose: the next look-up does not wait
	pruned  time.Time                    // when urgent was
}

// New checks the options. It sends nothing yet.
func New(o Options) (*Discovery, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &Discovery{
		allowLocal: o.AllowLocal, listeners: o.Listeners, localPort: o.LocalPort,
		log: o.Log.With(logkey.Component, "discovery"), now: time.Now,
		devices: map[fleet.DeviceID]*inquiry{}, urgent: map[fleet.DeviceID]time.Time{},
	}
	var err error
	if d.servers, d.off, err = parseServers(o.Servers); err != nil {
		return nil, err
	}
	for _, s := range d.servers {
		s.now, s.allowLocal = d.clock, o.AllowLocal
		if s.unverified {
			d.log.Warn("a discovery server is not verified (?insecure): a device without a pin is trusted where it says, "+
				"and everybody on the way can answer for it", slog.String(logkey.Address, s.name))
		}
	}
	d.local = &announcements{allowLocal: o.AllowLocal, now: d.clock, wanted: d.wanted}
	d.fleet = newNeighbourhood(o.AllowLocal, d.clock, d.wanted)
	return d, nil
}

// Run listens to local announcements until ctx ends. Where it cannot listen it warns and tries again later.
func (d *Discovery) Run(ctx context.Context) error {
	if !d.off && d.localPort != 0 {
		d.listen(ctx)
	}
	<-ctx.Done()
	return ctx.Err()
}

// Resolve is the place where the device should be looked for next: of several candidates the one that was handed out
// longest ago, so that repeated attempts go through all of them. Where no certificate is pinned, those that a
// discovery server named are the only ones, if there are any: no other can lead to the device. Without any:
// CodeNotFound with what was asked and when it is asked again. others are asked, too; nil: there are none.
func (d *Discovery) Resolve(ctx context.Context, device fleet.Device, pinned bool, others Neighbours) (Candidate,
	error) {
	candidates, err := d.find(ctx, device, !pinned, others)
	if err != nil {
		return Candidate{}, err
	}
	if introduced := slices.DeleteFunc(slices.Clone(candidates), byAnybody); !pinned && len(introduced) > 0 {
		candidates = introduced
	}
	return d.next(device.ID, candidates), nil
}

func byAnybody(c Candidate) bool { return c.Introduced == fleet.ByAnybody }

// Proven says that the device was reached at this host: it comes first from now on.
func (d *Discovery) Proven(id fleet.DeviceID, host string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q := d.devices[id]; q != nil {
		q.proven = host
		delete(q.tried, host)
	}
}

// Forget drops all that is known of a device and every wait for it. It is for devices that were put, so that the next
// look-up is at once, or deleted.
func (d *Discovery) Forget(id fleet.DeviceID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.devices, id)
	now := d.now()
	d.urgent[id] = now
	if len(d.urgent) > maxUrgent && now.Sub(d.pruned) >= pruneEvery {
		d.pruned = now
		for other, at := range d.urgent {
			if now.Sub(at) > urgentLife {
				delete(d.urgent, other)
			}
		}
	}
}

// Control refuses, as a net.Dialer has it, where no device may be. It sees the address that is dialled, after the
// host's name was resolved.
func (d *Discovery) Control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	why := RefuseIP(at.Addr(), d.allowLocal)
	if why == "" && slices.ContainsFunc(d.listeners, func(own net.Addr) bool { return isOwn(at, own) }) {
		why = "Muster itself"
	}
	if why == "" {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, During: "connect to a discovered address",
		Message: "the discovered host leads to " + at.String() + ", which is " + why,
		Hint:    "Give the device an apiAddress, or allow local addresses for discovery (--discovery-allow-local)."}
}

func (d *Discovery) clock() time.Time { return d.now() }

// wanted tells whether the device was asked for.
func (d *Discovery) wanted(id fleet.DeviceID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.devices[id] != nil
}

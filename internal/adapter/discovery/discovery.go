// Package discovery finds the daemon of a registered device that has no address. It asks discovery servers, listens
// to announcements on the local network, and asks other managed daemons. Each result is only a claim, which the
// caller has to prove when connecting: an answer from here is never a reason to send an API key. Only a discovery
// server may introduce a device whose certificate is not pinned, because it knows the announcer by the device
// certificate.
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

// DefaultLocalPort is the UDP port on which Syncthing announces itself on the local network.
const DefaultLocalPort = 21027

// Off, as the only entry of Options.Servers, switches all discovery off.
const Off = "none"

// Options tell where to look for devices.
type Options struct {
	Servers    []string   // URLs as Syncthing has them, ?id=, ?insecure, ?noannounce, ?nolookup; empty: PublicServer
	AllowLocal bool       // Answers may be loopback and link-local addresses, as on one host or in tests.
	Listeners  []net.Addr // our own listeners (API, agents), at which no device is
	LocalPort  int        // UDP port on which to hear local announcements; 0: do not listen
	Log        *slog.Logger
}

// Neighbours are the managed daemons. Their answers are given as they are; package discovery takes them apart and
// does not trust them.
type Neighbours interface {
	// Online returns the daemons that can be asked now about a device. Those that share a folder or tag with it come
	// first.
	Online(about fleet.DeviceID) []fleet.DeviceID
	// Discovery returns a daemon's answer to GET /rest/system/discovery.
	Discovery(ctx context.Context, daemon fleet.DeviceID) ([]byte, error)
	// Connections returns a daemon's answer to GET /rest/system/connections.
	Connections(ctx context.Context, daemon fleet.DeviceID) ([]byte, error)
}

// Candidate is a place where a device may be; see fleet.
type Candidate = fleet.Candidate

// Sources by which a candidate was found.
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
	devices map[fleet.DeviceID]*search
	urgent  map[fleet.DeviceID]time.Time // devices that Forget was called for: their next look-up does not wait
	pruned  time.Time                    // time of the last pruning of urgent
}

// New checks the options and makes a Discovery. It sends nothing yet.
func New(o Options) (*Discovery, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d := &Discovery{
		allowLocal: o.AllowLocal, listeners: o.Listeners, localPort: o.LocalPort,
		log: o.Log.With(logkey.Component, "discovery"), now: time.Now,
		devices: map[fleet.DeviceID]*search{}, urgent: map[fleet.DeviceID]time.Time{},
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

// Run listens to local announcements until ctx ends. Where it cannot listen, it warns and tries again later.
func (d *Discovery) Run(ctx context.Context) error {
	if !d.off && d.localPort != 0 {
		d.listen(ctx)
	}
	<-ctx.Done()
	return ctx.Err()
}

// Resolve returns the place at which a device should be looked for next. Of several candidates it is the one that was
// given out longest ago, so that repeated attempts go through all of them. For a device without a pinned certificate,
// only candidates from a discovery server count, if there are any, because no others can lead to the device. Without
// a candidate it is CodeNotFound, with what was asked and when it is asked again. others are managed daemons, which
// are asked too; nil: no daemons.
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

// Proven notes that the device was reached at this host, which is tried first from now on.
func (d *Discovery) Proven(id fleet.DeviceID, host string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q := d.devices[id]; q != nil {
		q.proven = host
		delete(q.tried, host)
	}
}

// Forget forgets everything about a device, and every wait for it. It is for a device that was stored, so that the
// next look-up is at once, or deleted.
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

// Control is for net.Dialer: it refuses addresses at which no device may be. It sees the address that is dialled,
// after the host's name was resolved.
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

// wanted reports whether somebody looks for the device.
func (d *Discovery) wanted(id fleet.DeviceID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.devices[id] != nil
}

// Package stsim simulates Syncthing daemons: real TLS on loopback addresses, the REST endpoints and events that a
// manager uses, configurations normalised as the real daemon does, and scripted faults. Thousands fit in one process.
// It imitates what a client can see and keeps no files: nothing is ever synchronised. What it claims is pinned against
// a real daemon by test/contract.
package stsim

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/internal/fleet"
)

// Options say what farm to build. The zero value is one v2 daemon with one folder.
type Options struct {
	Count     int          // daemons; 0 means 1
	Seed      uint64       // names, folders and numbers follow from it; keys and certificates are random
	Versions  []Version    // daemon i imitates Versions[i%len]; empty: V2 and V1 in turn
	Systems   []System     // one after the other, each for as many daemons as there are Versions; empty: Linux
	Folders   int          // per daemon; 0 means 1, negative none
	Group     int          // daemons that share their folders with one another; 0 means 3
	Network   int          // 127.NETWORK.0.1 is the first daemon's address, 1 to 255; 0 means 64
	First     int          // how many addresses of the network other farms have: the first daemon has the one after these
	Port      int          // of every daemon's API; 0: each its own free one (one free one for all, with Shared)
	Shared    bool         // one socket for all addresses: for farms that would run out of file descriptors
	Memory    bool         // no sockets at all: reach the daemons with Farm.Dial; works inside testing/synctest
	Sync      bool         // a sync port per daemon, which proves its identity by a TLS handshake (ALPN bep/1.0)
	UseTLS    bool         // gui.useTLS: plain http is redirected; https is answered whatever it says
	Quiet     bool         // discovery, relays, NAT and reports are off, as test/daemon sets real daemons
	Fixed     bool         // the command line sets the API's address (guiAddressOverridden), whatever gui.address is
	NoRestart bool         // a restart asked for over the API ends the daemon, as with --no-restart
	Broken    []string     // a folder whose path begins so goes into state error; nil: /broken, /proc, /dev
	EnrollKey fleet.Secret // Agents give it to the server; zero: none.
	Timing    Timing
	Log       *slog.Logger // nil: no log
}

// Timing holds what a real daemon waits. Zero members are the real daemon's.
type Timing struct {
	SavedAgain time.Duration // time from a change to the second ConfigSaved; 5 s
	Idle       time.Duration // time until an idle connection is closed; 15 s
	Sniff      time.Duration // time for which a silent connection blocks the accept loop; 1 s
	Drain      time.Duration // time that requests have to finish when the API or the daemon restarts; 100 ms
	Backoff    time.Duration // time for which the API is down after too many gui changes; 15 s
	Down       time.Duration // time for which the daemon is down when it restarts; 1 s
	Scan       time.Duration // per state of a folder that starts; 200 ms
	Summary    time.Duration // time from a change in a folder to its FolderSummary; 2 s
}

func (t Timing) withDefaults() Timing {
	for _, d := range []struct {
		at   *time.Duration
		real time.Duration
	}{
		{&t.SavedAgain, 5 * time.Second}, {&t.Idle, 15 * time.Second}, {&t.Sniff, time.Second},
		{&t.Drain, 100 * time.Millisecond}, {&t.Backoff, 15 * time.Second}, {&t.Down, time.Second},
		{&t.Scan, 200 * time.Millisecond}, {&t.Summary, 2 * time.Second},
	} {
		if *d.at == 0 {
			*d.at = d.real
		}
	}
	return t
}

// Farm is a number of simulated daemons.
type Farm struct {
	options   Options
	log       *slog.Logger
	daemons   []*Daemon
	byID      map[fleet.DeviceID]*Daemon
	contents  *contents
	links     *links
	transport transport
	restarts  sync.WaitGroup // daemons that are down for a moment
	closing   chan struct{}  // closed by Close

	mu     sync.Mutex // guards closed
	closed bool
}

// New makes the daemons with their keys and configurations. They answer after Start.
func New(o Options) (*Farm, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	certificates, err := deviceCertificates(o.Count)
	if err != nil {
		return nil, fmt.Errorf("make the keys of %d daemons: %w", o.Count, err)
	}
	f := &Farm{options: o, log: o.Log, byID: make(map[fleet.DeviceID]*Daemon, o.Count), contents: newContents(o.Seed),
		closing: make(chan struct{})}
	f.links = newLinks()
	f.transport = newTransport(f)
	for i, certificate := range certificates {
		d := newDaemon(f, i, certificate)
		f.daemons = append(f.daemons, d)
		f.byID[d.id] = d
	}
	return f, f.configure()
}

func (o Options) withDefaults() (Options, error) {
	if o.Count == 0 {
		o.Count = 1
	}
	if len(o.Versions) == 0 {
		o.Versions = []Version{V2, V1}
	}
	for _, v := range o.Versions {
		if v != V1 && v != V2 {
			return o, fleet.Invalidf("versions", "a daemon of version %q cannot be simulated, only %s and %s", v, V1, V2)
		}
	}
	if len(o.Systems) == 0 {
		o.Systems = []System{Linux}
	}
	for _, s := range o.Systems {
		if _, known := machines[s]; !known {
			return o, fleet.Invalidf("systems", "a daemon on %q cannot be simulated", s)
		}
	}
	if o.Folders == 0 {
		o.Folders = 1
	}
	o.Folders = max(o.Folders, 0)
	if o.Group <= 0 {
		o.Group = 3
	}
	if o.Network == 0 {
		o.Network = 64
	}
	if o.Count < 0 || o.First < 0 || o.First+o.Count > maxDaemons ||
		o.Network < 1 || o.Network > 255 || o.Port < 0 || o.Port > 65535 {
		return o, fleet.Invalidf("count", "a farm has 1 to %d daemons in one of the networks 127.1 to 127.255", maxDaemons)
	}
	if o.Broken == nil {
		o.Broken = []string{"/broken", "/proc", "/dev"}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Timing = o.Timing.withDefaults()
	return o, nil
}

// Start binds the addresses and starts every daemon that does not run. Close ends it.
func (f *Farm) Start() error {
	if err := f.transport.open(); err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(4 * runtime.GOMAXPROCS(0))
	for _, d := range f.daemons {
		g.Go(d.Start)
	}
	if err := g.Wait(); err != nil {
		return errors.Join(err, f.Close())
	}
	f.log.Info("simulated daemons are running", "count", len(f.daemons))
	return nil
}

// Close ends every daemon and waits for all goroutines. It may be called twice.
func (f *Farm) Close() error {
	f.mu.Lock()
	if !f.closed {
		close(f.closing)
	}
	f.closed = true
	f.mu.Unlock()
	f.restarts.Wait()
	var g errgroup.Group
	g.SetLimit(4 * runtime.GOMAXPROCS(0))
	for _, d := range f.daemons {
		g.Go(func() error {
			d.end(abrupt)
			return nil
		})
	}
	return errors.Join(g.Wait(), f.transport.close())
}

// later runs something in its own goroutine that Close waits for, unless the farm is closed already.
func (f *Farm) later(run func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.restarts.Go(run)
	}
}

// Daemons are all daemons, in order of their number.
func (f *Farm) Daemons() []*Daemon { return f.daemons }

// Daemon is daemon i.
func (f *Farm) Daemon(i int) *Daemon { return f.daemons[i] }

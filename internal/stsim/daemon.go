package stsim

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Daemon is one simulated Syncthing daemon. Its configuration, folders and what asks to be let in outlive a restart.
type Daemon struct {
	farm        *Farm
	number      int
	id          fleet.DeviceID
	name        string
	version     atomic.Pointer[Version] // another one after Upgrade
	system      System
	address     netip.Addr
	certificate *tls.Certificate // certificate whose hash is the ID
	gui         guiIdentity
	counters    counters
	readings    readings
	faults      atomic.Pointer[Faults]
	disks       atomic.Pointer[agentDisks] // report of its agent; nil: no report
	oldList     atomic.Int32               // version of the list of an older agent; 0: the agent is as new as the server

	running sync.Mutex // held over Start, Stop and their kin, before mu
	started time.Time  // of the last process; guarded by running

	mu              sync.Mutex // guards everything below
	doc             stconfig.Value
	onDisk          stconfig.Value // content of the configuration file; Absent: doc
	apiPort         int            // given by the kernel at the first start, when Options.Port is 0
	syncPort        int
	folders         map[string]*folder
	pendingDevices  []pendingDevice
	pendingFolders  []pendingFolder
	process         *process  // nil while the daemon is down
	endpoint        *endpoint // nil while the API is down
	apiOn           bool      // gui.enabled at the start of the process
	supervisor      supervisor
	apiRestarting   bool
	apiRestartAgain bool
	savePending     bool // the second ConfigSaved is on its way
	requiresRestart bool
}

func newDaemon(f *Farm, number int, certificate *tls.Certificate) *Daemon {
	d := &Daemon{
		farm: f, number: number, certificate: certificate, id: deviceIDOf(certificate),
		name:    nameOf(f.options.Seed, number),
		system:  f.options.Systems[number/len(f.options.Versions)%len(f.options.Systems)],
		address: addressOf(f.options.Network, f.options.First+number), apiPort: f.options.Port, folders: map[string]*folder{},
	}
	d.version.Store(&f.options.Versions[number%len(f.options.Versions)])
	d.gui.name = d.name
	return d
}

// maxDaemons have an address each.
const maxDaemons = 250 * 250

// addressOf leaves out .0 and .255, which some tools take for networks and broadcasts.
func addressOf(network, number int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(network), byte(number / 250), byte(1 + number%250)})
}

func (d *Daemon) ID() fleet.DeviceID { return d.id }

// Name is the device's name, and its machine's host name.
func (d *Daemon) Name() string     { return d.name }
func (d *Daemon) Version() Version { return *d.version.Load() }

func (d *Daemon) schema() *schema { return d.Version().schema() }

// Host and Port are where the API was when the daemon was made: what one would register in Muster.
func (d *Daemon) Host() string { return d.address.String() }

func (d *Daemon) Port() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.apiPort
}

// URL is https://HOST:PORT.
func (d *Daemon) URL() string {
	return "https://" + net.JoinHostPort(d.Host(), strconv.Itoa(d.Port()))
}

// syncAddress is HOST:PORT of the sync port, "" without Options.Sync.
func (d *Daemon) syncAddress() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.syncPort == 0 {
		return ""
	}
	return net.JoinHostPort(d.Host(), strconv.Itoa(d.syncPort))
}

// APIKey is the one that is valid now.
func (d *Daemon) APIKey() string { return d.Config().Get("gui").Get("apiKey").Str() }

// Pin is the SHA-256 of the API's certificate, "sha256:<hex>".
func (d *Daemon) Pin() (string, error) {
	certificate, err := d.gui.get()
	if err != nil {
		return "", err
	}
	return pinOf(certificate), nil
}

// Config is the configuration as GET /rest/config gives it, with its secrets.
func (d *Daemon) Config() stconfig.Value {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.doc
}

// Saved is the configuration that the daemon has after its next start.
func (d *Daemon) Saved() stconfig.Value {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.onDisk.Exists() {
		return d.onDisk
	}
	return d.doc
}

// Running reports whether the process runs. Its API may be off all the same.
func (d *Daemon) Running() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.process != nil
}

// Start starts a daemon that is down. Like the real one it refuses a configuration of a version that it does not know.
func (d *Daemon) Start() error {
	d.running.Lock()
	defer d.running.Unlock()
	if d.Running() {
		return nil
	}
	p := newProcess(d.startTime(time.Now()))
	if err := d.boot(p); err != nil {
		p.end()
		return err
	}
	d.started = p.started
	d.relink()
	return nil
}

// startTime is when a process that starts now says that it started. The status tells it in whole seconds, and a real
// daemon takes longer than one to come up: two runs of one daemon never tell the same.
func (d *Daemon) startTime(now time.Time) time.Time {
	if next := d.started.Truncate(time.Second).Add(time.Second); now.Before(next) {
		return next
	}
	return now
}

func (d *Daemon) boot(p *process) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v := integerOf(d.doc.Get("version")); v > d.schema().version {
		return fmt.Errorf("config file version (%d) is newer than supported version (%d)", v, d.schema().version)
	}
	if d.onDisk.Exists() {
		d.doc, d.onDisk = d.onDisk, stconfig.Value{}
	}
	d.process, d.requiresRestart, d.savePending = p, false, false
	d.supervisor, d.apiRestarting, d.apiRestartAgain = supervisor{}, false, false
	p.log("Starting", stconfig.Obj(stconfig.Member{Name: "home", Value: stconfig.Text(d.machine().home)},
		stconfig.Member{Name: "myID", Value: stconfig.Text(string(d.id))}))
	d.startFolders(p)
	if err := d.listenSync(p); err != nil {
		d.process = nil
		return err
	}
	d.apiOn = d.doc.Get("gui").Get("enabled").IsTrue()
	if d.apiOn {
		if err := d.openAPI(p); err != nil {
			d.process = nil
			return fmt.Errorf("start the API of daemon %d: %w", d.number, err)
		}
	}
	p.log("StartupComplete", object1("myID", stconfig.Text(string(d.id))))
	return nil
}

// manner is how a daemon ends.
type manner uint8

const (
	gentle manner = iota // running requests have a moment to finish
	abrupt               // connections are closed at once
	broken               // connections are reset
)

// Stop ends the daemon as a shutdown does: its connections close.
func (d *Daemon) Stop() { d.end(gentle) }

// Crash ends the daemon as kill -9 does: connections are reset. Nothing is lost: a daemon saves before it answers.
func (d *Daemon) Crash() { d.end(broken) }

func (d *Daemon) end(how manner) {
	d.running.Lock()
	defer d.running.Unlock()
	d.mu.Lock()
	p, e := d.process, d.endpoint
	d.process, d.endpoint = nil, nil
	d.mu.Unlock()
	if p == nil {
		return
	}
	if e != nil {
		e.close(how, d.farm.options.Timing.Drain)
	}
	p.end()
	d.relink()
}

// restartLater is a restart asked for over the API: the answer is sent first.
func (d *Daemon) restartLater() {
	d.farm.later(func() {
		d.Stop()
		if d.farm.options.NoRestart {
			return
		}
		select {
		case <-time.After(d.farm.options.Timing.Down):
		case <-d.farm.closing:
			return
		}
		d.comeUp()
	})
}

// comeUp starts the daemon, and tries again until it runs or the farm is closed, as the monitor of a real daemon does:
// another program may have taken its port while it was down.
func (d *Daemon) comeUp() {
	for tries := 0; ; tries++ {
		err := d.Start()
		if err == nil {
			return
		}
		if tries == 0 {
			d.farm.log.Warn("simulated daemon does not start", "device", d.id, "err", err)
		}
		select {
		case <-time.After(d.farm.options.Timing.Down + 100*time.Millisecond):
		case <-d.farm.closing:
			return
		}
	}
}

// RemakeCertificate gives the API a new certificate, at once, as when its file was lost or near its end.
func (d *Daemon) RemakeCertificate() error {
	d.gui.forget()
	if _, err := d.gui.get(); err != nil {
		return err
	}
	d.restartAPI()
	return nil
}

// Edit is a person at the daemon's own GUI: the changed document is saved as a PUT /rest/config would save it.
func (d *Daemon) Edit(change func(stconfig.Value) stconfig.Value) error {
	d.mu.Lock()
	p := d.process
	doc := d.doc
	d.mu.Unlock()
	if p == nil {
		return errors.New("edit the configuration: the daemon is not running")
	}
	return d.putConfig(p, change(doc))
}

// Emit puts an event on the daemon's event stream.
func (d *Daemon) Emit(eventType string, data stconfig.Value) {
	if p := d.current(); p != nil {
		p.log(eventType, data)
	}
}

// current is the process, nil while the daemon is down.
func (d *Daemon) current() *process {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.process
}

func (d *Daemon) owner() owner { return owner{id: d.id, name: d.name, newKey: randomKey} }

// randomKey returns an API key in the daemon's own form: 32 letters and digits.
func randomKey() string {
	const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789"
	key := make([]byte, 32)
	for i := range key {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil { // crypto/rand does not fail
			panic(err)
		}
		key[i] = alphabet[n.Int64()]
	}
	return string(key)
}

func object1(name string, value stconfig.Value) stconfig.Value {
	return stconfig.Obj(stconfig.Member{Name: name, Value: value})
}

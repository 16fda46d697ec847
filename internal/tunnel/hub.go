package tunnel

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Options say what a Hub is connected to. Callbacks come from the tunnels' goroutines.
type Options struct {
	Log *slog.Logger

	// Known tells whether a device is registered: strangers take no places of such. It must be quick. Nil: none is.
	Known func(fleet.DeviceID) bool
	// Admit decides about a device whose agent has connected. An error closes the connection; the agent tries again.
	Admit func(ctx context.Context, request Request) (Status, error)
	// Changed is called after the tunnel of a device came, went, or got another status. It must be quick.
	Changed func(fleet.DeviceID)
	// News is told what becomes of the connections of agents that introduced themselves. It must be quick.
	News func(News)
	// Measured is told how long each PING took. It must be quick.
	Measured func(roundTrip time.Duration)

	Limits Limits // zero members are the defaults
}

// Request is what is known of an agent when it is to be admitted. The certificate proves the device; the rest is the
// agent's own word.
type Request struct {
	Device  fleet.DeviceID
	Hello   Hello
	Address string // HOST:PORT from where the agent connected
}

// Info is one tunnel as it is now.
type Info struct {
	Request   // without the enrol key
	Since     time.Time
	Status    Status
	RoundTrip time.Duration // of the last PING; 0: there was none yet
	Rival     string        // from where another agent connected lately with the same certificate; "": there is none
}

// Hub holds the tunnels of all devices, one for each.
type Hub struct {
	o         Options
	log       *slog.Logger
	transport *http2.Transport //nolint:staticcheck // see Tunnel.connect
	crowds    crowds

	received, sent atomic.Int64
	ended          [len(endings)]atomic.Int64 // by reason

	serving sync.WaitGroup
	mu      sync.Mutex                 // guards what follows, and the status of every tunnel
	stopped bool                       // nothing is added to serving any more
	open    map[*Tunnel]bool           // that are served
	tunnels map[fleet.DeviceID]*Tunnel // of them, those whose Hello was read
	cutOff  map[fleet.DeviceID]error   // why the last tunnel of an accepted device was ended, where its agent misbehaved
}

// New makes a Hub without tunnels.
func New(o Options) *Hub {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Known == nil {
		o.Known = func(fleet.DeviceID) bool { return false }
	}
	o.Limits = o.Limits.withDefaults()
	return &Hub{o: o, log: o.Log.With(logkey.Component, "tunnel"), transport: newTransport(),
		crowds: newCrowds(o.Limits), open: map[*Tunnel]bool{}, tunnels: map[fleet.DeviceID]*Tunnel{},
		cutOff: map[fleet.DeviceID]error{}}
}

// Run ends all tunnels when ctx ends, and waits for that.
func (h *Hub) Run(ctx context.Context) error {
	<-ctx.Done()
	h.mu.Lock()
	h.stopped = true
	for t := range h.open {
		t.end(errStopped)
	}
	h.mu.Unlock()
	h.serving.Wait()
	return ctx.Err()
}

// begin counts a tunnel among those that Run waits for.
func (h *Hub) begin(t *Tunnel) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return errStopped
	}
	h.open[t] = true
	h.serving.Add(1)
	return nil
}

func (h *Hub) finish(t *Tunnel) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, t)
	h.serving.Done()
}

// Serve takes a connection after its TLS handshake and blocks until the tunnel has ended, and the connection is closed.
// Known is called once when the device turns out to be registered.
func (h *Hub) Serve(conn *tls.Conn, known func()) {
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	t, err := h.newTunnel(conn, end)
	if err != nil {
		_ = conn.NetConn().Close()
		h.count(err)
		return
	}
	if err = h.begin(t); err == nil {
		defer h.finish(t)
		stop := context.AfterFunc(ctx, t.close)
		defer stop()
		t.isKnown = sync.OnceFunc(known)
		err = h.attend(ctx, t)
	}
	t.close()
	h.count(err)
	h.log.Debug("connection of an agent ended", logkey.Device, t.device, logkey.Err(err))
}

// deviceOf is the device that the connection's certificate proves. Dates and issuer of the certificate say nothing:
// the ID is its digest.
func deviceOf(state tls.ConnectionState) (fleet.DeviceID, error) {
	switch {
	case state.NegotiatedProtocol != ALPN, state.Version < tls.VersionTLS13, state.DidResume:
		return "", fmt.Errorf("%w: not TLS 1.3 with a new session of %s", errProtocol, ALPN)
	case len(state.PeerCertificates) == 0:
		return "", fmt.Errorf("%w: no client certificate", errProtocol)
	}
	return fleet.DeviceIDOf(sha256.Sum256(state.PeerCertificates[0].Raw)), nil
}

// attend admits a tunnel and keeps it until it ends. The error says why it ended.
func (h *Hub) attend(ctx context.Context, t *Tunnel) (err error) {
	if err := h.arrive(t); err != nil {
		return err
	}
	defer func() { t.leave() }()
	if err := t.connect(h.transport); err != nil {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	if err := t.askHello(ctx, h.helloTimeout(t)); err != nil {
		return ended(ctx, err)
	}
	if err := h.claim(ctx, t); err != nil {
		if errors.Is(err, errCloned) {
			_ = t.tell(ctx, clonedStatus)
			h.tell(t, NewsCloned, clonedStatus.Message)
		}
		return ended(ctx, err)
	}
	defer h.changed(t.device)
	defer func() { h.tellEnd(t, h.release(t, err), err) }()
	if err := h.admit(ctx, t); err != nil {
		return ended(ctx, err)
	}
	return ended(ctx, h.keep(ctx, t))
}

// ended prefers the reason for which the tunnel was ended to what failed because of that.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

var clonedStatus = Status{State: Cloned,
	Message: "another agent is connected with the same device certificate",
	Hint: "Two machines have a copy of the same Syncthing home. Remove cert.pem and key.pem from one of them while its " +
		"daemon is stopped, so that it becomes a device of its own."}

// claim makes t the tunnel of its device. One that is there already keeps its place if it answers a PING in time.
func (h *Hub) claim(ctx context.Context, t *Tunnel) error {
	for {
		h.mu.Lock()
		old := h.tunnels[t.device]
		if old == nil {
			h.tunnels[t.device] = t
			h.mu.Unlock()
			return nil
		}
		h.mu.Unlock()
		if old.ping(ctx, duplicateTimeout) == nil {
			h.noteRival(old, t.address)
			return errCloned
		}
		old.end(errReplaced)
		select {
		case <-old.gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// release ends the claim of a tunnel, and remembers why it ended. It gives the status that the device had.
func (h *Hub) release(t *Tunnel, err error) Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	if reason := cutOffFor(err); reason != nil && t.status.State == Accepted {
		h.cutOff[t.device] = reason
	} else {
		delete(h.cutOff, t.device)
	}
	if h.tunnels[t.device] == t {
		delete(h.tunnels, t.device)
	}
	close(t.gone)
	return t.status
}

func (h *Hub) noteRival(t *Tunnel, address string) {
	h.mu.Lock()
	isNew := t.rival == ""
	t.rival, t.rivalAt = address, time.Now()
	h.mu.Unlock()
	if isNew {
		h.changed(t.device)
	}
}

// forgetRival ends the memory of another agent that has not connected for a while.
func (h *Hub) forgetRival(t *Tunnel) {
	h.mu.Lock()
	over := t.rival != "" && time.Since(t.rivalAt) > rivalMemory
	if over {
		t.rival = ""
	}
	h.mu.Unlock()
	if over {
		h.changed(t.device)
	}
}

// admit asks what becomes of a new tunnel. What Tell says meanwhile is newer.
func (h *Hub) admit(ctx context.Context, t *Tunnel) error {
	asking, cancel := context.WithTimeout(ctx, admitTimeout)
	status, err := h.o.Admit(asking, Request{Device: t.device, Hello: t.hello, Address: t.address})
	cancel()
	if err != nil {
		return fmt.Errorf("admit the device: %w", err)
	}
	h.mu.Lock()
	t.hello.Key = ""
	if t.status.State == "" {
		t.setStatus(status)
	}
	h.mu.Unlock()
	return nil
}

// keep tells the agent each status, and finds out whether the connection still works, until it does not.
func (h *Hub) keep(ctx context.Context, t *Tunnel) error {
	for {
		pause := time.NewTimer(jittered(pingEvery))
		select {
		case <-t.changed:
			pause.Stop()
			if err := h.pass(ctx, t); err != nil {
				return err
			}
		case <-pause.C:
			if err := t.ping(ctx, pingTimeout); err != nil {
				return errors.Join(errSilent, err)
			}
			if h.o.Measured != nil {
				h.o.Measured(time.Duration(t.roundTrip.Load()))
			}
			h.forgetRival(t)
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// pass passes the status on to the agent. A refused one ends the tunnel.
func (h *Hub) pass(ctx context.Context, t *Tunnel) error {
	h.mu.Lock()
	status := t.status
	h.mu.Unlock()
	if err := h.settle(t, status.State); err != nil {
		return err
	}
	h.changed(t.device)
	if err := t.tell(ctx, status); err != nil {
		return err
	}
	h.tellStatus(t, status)
	if status.State != Accepted && status.State != Waiting {
		return errRefused
	}
	return nil
}

// Tell gives the tunnel of a device another status. There may be none.
func (h *Hub) Tell(device fleet.DeviceID, status Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tunnels[device]; t != nil && t.status != status {
		t.setStatus(status)
	}
}

// Connected is the tunnel over which a device is managed. It is an error where there is none.
func (h *Hub) Connected(device fleet.DeviceID) (*Tunnel, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.tunnels[device]; t != nil && t.status.State == Accepted {
		return t, nil
	}
	e := &fleet.Error{Code: fleet.CodeUnavailable, Message: "the device's agent is not connected",
		Hint: "Check that `muster agent` runs on the daemon's machine: `muster agent status`."}
	if reason := h.cutOff[device]; reason != nil {
		e.Message += "; its last connection was cut off: " + reason.Error()
	}
	return nil, e
}

// CutOff is why the last tunnel of a device was cut off, where its agent misbehaved or did not answer; else "".
func (h *Hub) CutOff(device fleet.DeviceID) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if reason := h.cutOff[device]; reason != nil {
		return reason.Error()
	}
	return ""
}

// Info is the tunnel of a device, accepted or not.
func (h *Hub) Info(device fleet.DeviceID) (Info, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tunnels[device]
	if t == nil {
		return Info{}, false
	}
	return t.info(), true
}

// Waiting are the tunnels of devices that ask to be accepted, by device ID.
func (h *Hub) Waiting() []Info {
	h.mu.Lock()
	defer h.mu.Unlock()
	var waiting []Info
	for _, id := range slices.SortedFunc(maps.Keys(h.tunnels), cmp.Compare[fleet.DeviceID]) {
		if t := h.tunnels[id]; t.status.State == Waiting {
			waiting = append(waiting, t.info())
		}
	}
	return waiting
}

func (h *Hub) changed(device fleet.DeviceID) {
	if h.o.Changed != nil {
		h.o.Changed(device)
	}
}

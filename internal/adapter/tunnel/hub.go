package tunnel

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Options connect a Hub to the rest of the program. The tunnels' goroutines call the functions.
type Options struct {
	Log *slog.Logger

	// Known reports whether a device is registered, so that unregistered devices cannot use the places of registered
	// ones. It must be fast. Nil: no device is registered.
	Known func(fleet.DeviceID) bool
	// Admit decides about a device whose agent has connected. When it returns an error the hub closes the connection,
	// and the agent tries again.
	Admit func(ctx context.Context, request Request) (Status, error)
	// Changed is called after the tunnel of a device was opened, ended, or got another status. It must be fast.
	Changed func(fleet.DeviceID)
	// Event is called when the connection of an agent that has sent its Hello changes. It must be fast.
	Event func(Event)
	// Measured is called with the round-trip time of each PING. It must be fast.
	Measured func(roundTrip time.Duration)

	Limits Limits // zero fields mean DefaultLimits
}

// Request is what the hub knows of an agent that wants to be admitted. The certificate proves the device. Everything
// else is a claim of the agent.
type Request struct {
	Device  fleet.DeviceID
	Hello   Hello
	Address string // HOST:PORT from which the agent connected
}

// Hub serves the connections of agents, with one tunnel for each device. DESIGN.md describes its parts: admission,
// claims and reporter.
type Hub struct {
	o         Options
	log       *slog.Logger
	transport *http2.Transport //nolint:staticcheck // see Tunnel.introduce
	admission
	*claims
	reporter *reporter

	received, sent atomic.Int64

	serving sync.WaitGroup
	openMu  sync.Mutex       // guards the fields below
	stopped bool             // Run has begun to stop; no further tunnel may start
	open    map[*Tunnel]bool // the tunnels that are being served
}

// New makes a Hub.
func New(o Options) *Hub {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Known == nil {
		o.Known = func(fleet.DeviceID) bool { return false }
	}
	o.Limits = o.Limits.withDefaults()
	h := &Hub{o: o, log: o.Log.With(logkey.Component, "tunnel"), transport: newTransport(), open: map[*Tunnel]bool{}}
	h.admission = admission{&h.o, newQuotas(o.Limits)}
	h.reporter = &reporter{options: &h.o}
	h.claims = newClaims(h.reporter.changed)
	return h
}

// Run waits until ctx ends, then ends all tunnels and waits for them.
func (h *Hub) Run(ctx context.Context) error {
	<-ctx.Done()
	h.openMu.Lock()
	h.stopped = true
	for t := range h.open {
		t.end(errStopped)
	}
	h.openMu.Unlock()
	h.serving.Wait()
	return ctx.Err()
}

// begin adds a tunnel to those that Run waits for.
func (h *Hub) begin(t *Tunnel) error {
	h.openMu.Lock()
	defer h.openMu.Unlock()
	if h.stopped {
		return errStopped
	}
	h.open[t] = true
	h.serving.Add(1)
	return nil
}

func (h *Hub) finish(t *Tunnel) {
	h.openMu.Lock()
	defer h.openMu.Unlock()
	delete(h.open, t)
	h.serving.Done()
}

// Serve serves a connection whose TLS handshake is done. It returns when the tunnel has ended and the connection is
// closed. It calls known once when the device turns out to be registered.
func (h *Hub) Serve(conn *tls.Conn, known func()) {
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	t, err := h.newTunnel(conn, end)
	if err != nil {
		_ = conn.NetConn().Close()
		h.reporter.count(err)
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
	h.reporter.count(err)
	h.log.Debug("connection of an agent ended", logkey.Device, t.device, logkey.Err(err))
}

// attend admits a tunnel and serves it until it ends. The error says why it ended.
func (h *Hub) attend(ctx context.Context, t *Tunnel) (err error) {
	within, err := h.arrive(t)
	if err != nil {
		return err
	}
	defer func() { t.leave() }()
	if err := t.introduce(ctx, h.transport, within); err != nil {
		return ended(ctx, err)
	}
	if err := h.claim(ctx, t); err != nil {
		if errors.Is(err, errCloned) {
			h.refuseRival(ctx, t)
			return errCloned
		}
		return ended(ctx, err)
	}
	defer func() { h.reporter.gone(t, h.release(t, err), err) }()
	if err := h.decide(ctx, t); err != nil {
		return ended(ctx, err)
	}
	return ended(ctx, h.keep(ctx, t))
}

// ended returns the reason for which the tunnel was ended, rather than the error that followed from ending it.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// keep serves an admitted tunnel until its connection fails. It sends each new status to the agent, reads the agent's
// facts, and sends PINGs.
func (h *Hub) keep(ctx context.Context, t *Tunnel) error {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		pause := time.NewTimer(jittered(pingEvery))
		select {
		case <-t.changed:
			pause.Stop()
			if err := h.pass(ctx, t); err != nil {
				return err
			}
		case <-t.disksReader.due:
			pause.Stop()
			h.readDisks(ctx, t)
		case <-t.daemonReturn.away:
			pause.Stop()
			h.awaitReturn(ctx, t, &waiting)
		case <-pause.C:
			if err := t.ping(ctx, pingTimeout); err != nil {
				return errors.Join(errSilent, err)
			}
			h.reporter.pinged(time.Duration(t.roundTrip.Load()))
			h.forgetRival(t)
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// pass sends the current status to the agent. The status "refused" ends the tunnel.
func (h *Hub) pass(ctx context.Context, t *Tunnel) error {
	status := t.currentStatus()
	if err := h.moveTo(t, status.State); err != nil {
		return err
	}
	h.reporter.changed(t.device)
	if err := t.tell(ctx, status); err != nil {
		return err
	}
	h.reporter.told(t, status)
	if status.State != Accepted && status.State != Waiting {
		return errRefused
	}
	return nil
}

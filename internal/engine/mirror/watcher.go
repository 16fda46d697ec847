package mirror

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// watcher follows one device with the settings that Put was given. If Put is given different settings, a new watcher
// replaces this one.
type watcher struct {
	m       *Mirror
	log     *slog.Logger
	device  fleet.Device
	plain   bool // Settings.AllowPlain: connections without TLS are allowed
	way     fleet.Way
	paused  bool
	altered bool // the device is not contacted
	origin  fleet.PinOrigin

	cancel context.CancelFunc // nil until the watcher is started; guarded by Mirror.mu
	done   chan struct{}      // closed when the goroutine has ended
	wake   chan struct{}
	pace   *rate.Limiter // limits polls, because a daemon may answer every poll at once
	reread *rate.Limiter // limits the readings of configurations that events announce

	// Only the watcher's goroutine uses the fields below.

	summarised   map[string]bool      // whether a folder was paused when its summary was read, by folder ID
	itemsAsked   map[string]time.Time // the time of the last reading of a folder's failed items; nil without any
	disbelieved  map[string]bool      // the folders whose last summary cannot be true
	rested       map[string]time.Time // the time at which a folder became idle; see noteScan
	contactBegan time.Time            // the start of the present visit
	homeAsked    string               // the start time of the daemon when its home was read last

	// The next reading of the status also reads what these fields say.

	pendingDue   bool // pending devices and folders
	connectedDue bool // connected peers
	conflictsDue bool // conflict files
	countsDue    bool // the daemon's own count of conflicts

	conflictsSince int64 // the number of the newest change of a file that was searched for conflicts

	snapshot atomic.Pointer[Snapshot] // stored under mu

	mu           sync.Mutex // guards what follows
	ended        bool
	daemon       Daemon
	target       Target
	pin          string                  // the pin in use: given, or the certificate of the first use
	given        string                  // the pin in the registry; a pin of the first use gets there when it is stored
	configBegan  time.Time               // the time of the request that read the current configuration
	configSum    stconfig.TextSum        // sum of the text of the current configuration; zero when unknown
	restart      expectation             // the restart of the API that a write of Muster causes
	held         chan struct{}           // closed when the open session ends; nil without a session
	visiting     context.CancelCauseFunc // ends the present visit; nil without one
	routeChanged bool                    // ends the visit as soon as no session holds the watcher
	viewedUntil  map[string]time.Time    // the time until which a folder counts as viewed; nil when no folder does
	endPoll      context.CancelFunc      // ends the present poll; nil without one
	readdressed  bool                    // the daemon's address changed, and Changed was not called for it yet
}

// newWatcher makes a watcher that starts with the snapshot of old, the device's former watcher. If old is nil, it
// starts with the device's seed, or without any knowledge. The caller holds Mirror.mu.
func (m *Mirror) newWatcher(d fleet.Registered, paused bool, old *watcher) *watcher {
	w := &watcher{
		m: m, log: m.log.With(logkey.Device, d.ID), device: d.Device, plain: d.Settings.AllowPlain,
		way: d.Settings.Way, given: d.Settings.Pin,
		pin: d.Settings.Pin, origin: d.Settings.PinOrigin, paused: paused, altered: d.Altered, done: make(chan struct{}),
		wake:   make(chan struct{}, 1),
		pace:   rate.NewLimiter(rate.Every(500*time.Millisecond), 20),
		reread: rate.NewLimiter(rate.Every(2*time.Second), 10), summarised: map[string]bool{},
		rested: map[string]time.Time{}, disbelieved: map[string]bool{},
	}
	s := Snapshot{Device: d.ID, Reason: "not contacted since Muster started", Next: "It is contacted now."}
	switch seed, seeded := m.seed[d.ID]; {
	case old != nil:
		s = *old.snapshot.Load()
		s.Reason = "its settings changed, so it is contacted anew"
		if given, used := old.pins(); d.Settings.Pin == given {
			w.pin = used // A pin of the first use may not be in the registry yet.
		}
	case seeded:
		reason, next := s.Reason, s.Next
		s = seed
		s.Device, s.Reason, s.Next = d.ID, reason, next
		if delete(m.seed, d.ID); len(m.seed) == 0 {
			m.seed = nil
		}
	}
	s.Connection, s.Restarting, s.ConnectedAt = fleet.Unreachable, false, time.Time{}
	if s.LastSeen.IsZero() {
		s.Connection = fleet.NeverSeen
	}
	if old != nil && !paused {
		w.inheritRestart(old, &s)
	}
	if paused {
		s.Reason = "the device is not watched (mode paused)"
		s.Next = "Set its mode, its tags' or the fleet's to on or observe."
	}
	if s.NextTry = (time.Time{}); !s.Restarting {
		s.Since = time.Now()
	}
	w.snapshot.Store(&s)
	return w
}

// same reports whether the running watcher already has these settings. It makes no difference whether the registry
// already has the pin of the first use.
func (w *watcher) same(d fleet.Registered, paused bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.APIKey != w.device.APIKey || d.APIAddress != w.device.APIAddress || d.APIPort != w.device.APIPort ||
		d.Settings.AllowPlain != w.plain || d.Settings.Way != w.way || paused != w.paused || d.Altered != w.altered ||
		(d.Settings.Pin != w.given && d.Settings.Pin != w.pin) {
		return false
	}
	w.given = d.Settings.Pin
	return true
}

// pinStored records that the pin of the first use is now in the registry. If the registry has another pin or none
// after that, a person decided so.
func (w *watcher) pinStored(pin string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pin == pin {
		w.given = pin
	}
}

func (w *watcher) pins() (given, used string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.given, w.pin
}

// end stops the watcher. Its later observations are discarded. The caller holds Mirror.mu, or is the last to use the
// watcher.
func (w *watcher) end() {
	w.mu.Lock()
	w.ended = true
	daemon := w.daemon
	w.daemon = nil
	w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
	if daemon != nil {
		daemon.Close()
	}
}

func (w *watcher) run(ctx context.Context) {
	if w.paused {
		return
	}
	pause := backoff{fixed: w.m.o.RetryPause}
	restarting := 0 // the number of attempts to reach an API that is restarting
	for ctx.Err() == nil {
		w.contactBegan = time.Now()
		err := w.visit(ctx)
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, errRouteChanged) {
			pause.reset()
			continue
		}
		s := w.snapshot.Load()
		if s.Connection == fleet.Online && time.Since(s.Since) >= steadyFor {
			pause.reset()
		}
		if !s.Restarting {
			if restarting > 0 && s.Connection == fleet.Online {
				pause.reset() // The API came back as expected.
			}
			restarting = 0
		}
		wait := restartPause(restarting)
		if w.awaitsRestart(err, wait) {
			restarting++
		} else {
			wait = pause.next()
			w.lost(err, wait)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-w.wake:
			pause.reset()
		case <-ctx.Done():
		}
		timer.Stop()
	}
	w.mu.Lock()
	daemon := w.daemon
	w.daemon = nil
	w.mu.Unlock()
	if daemon != nil {
		daemon.Close()
	}
}

// visit finds the daemon and follows it until an error ends the visit.
func (w *watcher) visit(ctx context.Context) error {
	if w.altered {
		return alteredDevice(w.device.ID)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.beginVisit(cancel)
	err := w.contact(ctx)
	if w.endVisit(); errors.Is(context.Cause(ctx), errRouteChanged) {
		return errRouteChanged
	}
	return err
}

// contact finds the daemon and follows it.
func (w *watcher) contact(ctx context.Context) error {
	d, err := w.find(ctx)
	if err != nil {
		return err
	}
	defer d.CloseIdle()
	return w.follow(ctx, d)
}

// find returns the client of the daemon at the address where the daemon is now.
func (w *watcher) find(ctx context.Context) (Daemon, error) {
	_, pin := w.pins()
	found, err := w.m.o.Resolver.Resolve(ctx, w.device, pin != "")
	if err != nil {
		return nil, err
	}
	if err := w.m.connects.Wait(ctx); err != nil {
		return nil, err
	}
	if err := w.beforeOtherRoute(ctx, found); err != nil {
		return nil, err
	}
	d := w.dial(found)
	if d == nil {
		return nil, context.Canceled
	}
	return d, nil
}

// alteredDevice returns the error for a device whose record was altered in the database. It is not contacted, because
// another program may have written its address, pin or key.
func alteredDevice(id fleet.DeviceID) error {
	return &fleet.Error{Code: fleet.CodeUnconfirmed, During: "contact the daemon", Message: fleet.AlteredReason,
		Hint: fleet.AlteredNext(id)}
}

// dial makes the client of the daemon. If the target has not changed, it returns the present client. It returns nil if
// the watcher has ended.
func (w *watcher) dial(found Found) Daemon {
	address := cmp.Or(found.Agent, hostPort(found.Host, w.device.APIPort))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return nil
	}
	t := Target{Device: w.device.ID, APIKey: w.device.APIKey, Address: address, Introduced: w.introduction(found),
		Pin: w.pin, AllowPlain: w.plain, SyncAddresses: found.SyncAddresses}
	if w.daemon == nil || !sameTarget(t, w.target) {
		if w.daemon != nil {
			w.daemon.Close()
		}
		w.daemon = w.m.o.Dial(t)
	}
	w.target = t
	if s := w.snapshot.Load(); s.Address != address || s.FoundBy != found.By ||
		s.TooOldFor != found.AgentTooOldFor {
		next := *s
		next.Address, next.FoundBy, next.TooOldFor = address, found.By, found.AgentTooOldFor
		w.readdressed = true
		w.snapshot.Store(&next)
	}
	return w.daemon
}

// introduction returns who named the address in found. If a person has removed the device's pin, an address from a
// discovery server counts as named by anybody, so no new pin is learnt from it.
func (w *watcher) introduction(found Found) fleet.Introduction {
	if found.Introduced == fleet.ByServer && w.origin == fleet.PinForgotten {
		return fleet.ByAnybody
	}
	return found.Introduced
}

// sameTarget reports whether two targets are equal apart from the pin. A client learns the pin of the first use by
// itself, and a device whose pin is changed gets a new watcher.
func sameTarget(a, b Target) bool {
	return a.APIKey == b.APIKey && a.Address == b.Address && a.Introduced == b.Introduced &&
		a.AllowPlain == b.AllowPlain &&
		slices.Equal(a.SyncAddresses, b.SyncAddresses)
}

// online returns the connection to the daemon. It returns an error while the daemon is not followed.
func (w *watcher) online() (Daemon, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.snapshot.Load()
	if s.Connection == fleet.Online && w.daemon != nil {
		return w.daemon, nil
	}
	return nil, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the device is not online: " + s.Reason, Hint: s.Next}
}

// update changes the snapshot, and calls Changed with the new one unless change returns 0. Only dial changes the
// snapshot without update: it sets the address, which connected reports later.
func (w *watcher) update(change func(*Snapshot) Aspect) {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return
	}
	next := *w.snapshot.Load()
	aspect := change(&next)
	w.snapshot.Store(&next)
	w.mu.Unlock()
	if aspect != 0 && w.m.o.Changed != nil {
		w.m.o.Changed(&next, aspect)
	}
}

// observe adds an observation to the outbox, unless the watcher has ended.
func (w *watcher) observe(o fleet.Observation, tell bool) {
	o.Device = w.device.ID
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.FoundBy = w.snapshot.Load().FoundBy; !w.ended {
		w.m.outbox.add(o, tell)
	}
}

const reasonConnected, nextConnected = "connected", "Its events are followed."

func (w *watcher) connected(s *Snapshot) Aspect {
	var aspect Aspect
	if w.readdressed {
		w.readdressed, aspect = false, ConnectionChanged
	}
	if s.Connection == fleet.Online {
		return aspect | w.answeredAgain(s)
	}
	s.Connection, s.Since, s.NextTry = fleet.Online, time.Now(), time.Time{}
	s.Reason, s.Next = reasonConnected, nextConnected
	w.log.Info("daemon online", logkey.Address, s.Address)
	return ConnectionChanged
}

// lost records why the daemon is not followed. It logs the reason if it differs from the last one. wait is the pause
// before the next attempt.
func (w *watcher) lost(err error, wait time.Duration) {
	state, reason, hint := explain(err)
	w.update(func(s *Snapshot) Aspect {
		s.NextTry = time.Now().Add(wait)
		s.Restarting = false
		if w.daemon != nil && trustable[state] {
			if shown, _ := w.daemon.Shown(); state != fleet.PinMismatch || shown.Fingerprint != w.pin {
				s.Shown = fleet.Shown{Certificate: shown, Address: s.Address, FoundBy: s.FoundBy, At: time.Now()}
			}
		}
		if s.Connection == state && s.Reason == reason {
			return 0
		}
		if s.Connection != state {
			s.Since = time.Now()
		}
		s.Connection, s.Reason, s.Next = state, reason, hint
		w.log.Warn("daemon not followed", slog.String(logkey.Reason, reason), logkey.Err(err))
		return ConnectionChanged
	})
}

// trustable has the states in which the certificate that was shown may belong to the device. Muster never asks a
// person to trust a certificate that is known to belong to a different daemon.
var trustable = map[fleet.Connection]bool{fleet.PinMismatch: true, fleet.Unconfirmed: true, fleet.KeyRefused: true}

func explain(err error) (fleet.Connection, string, string) {
	reason, hint := "the daemon could not be followed", "Muster tries again by itself."
	if e := (*fleet.Error)(nil); errors.As(err, &e) {
		reason = fleet.Reason(err)
		if e.Hint != "" {
			hint = e.Hint
		}
	}
	switch fleet.CodeOf(err) {
	case fleet.CodeKeyRefused:
		return fleet.KeyRefused, reason, hint
	case fleet.CodeWrongDevice:
		return fleet.IdentityMismatch, reason, hint
	case fleet.CodeWrongPin:
		return fleet.PinMismatch, reason, hint
	case fleet.CodeUnconfirmed:
		return fleet.Unconfirmed, reason, hint
	case fleet.CodeNotFound:
		return fleet.NotFound, reason, hint
	}
	return fleet.Unreachable, reason, hint
}

// noteAnswer records the time of the daemon's last answer. It calls Changed only if the answer ends a restart.
func (w *watcher) noteAnswer() {
	w.update(func(s *Snapshot) Aspect {
		s.LastSeen = time.Now()
		return w.answeredAgain(s)
	})
}

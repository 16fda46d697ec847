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

// watcher follows one device as it was put. When the device is put differently, another watcher replaces this one.
type watcher struct {
	m       *Mirror
	log     *slog.Logger
	device  fleet.Device
	plain   bool // AllowPlain
	way     fleet.Way
	paused  bool
	altered bool // the device is not contacted
	origin  fleet.PinOrigin

	cancel context.CancelFunc // nil before it was started; guarded by Mirror.mu
	done   chan struct{}      // closed when the goroutine has ended
	wake   chan struct{}
	pace   *rate.Limiter // of polls: a daemon whose polls return at once costs only so much
	reread *rate.Limiter // of what events ask to be read, likewise

	// The goroutine's own:
	summarised   map[string]bool      // by folder, whether it was paused when its summary was read
	itemsAsked   map[string]time.Time // by folder, when its failed items were read; nil: none were
	disbelieved  map[string]bool      // folders whose last summary cannot be true
	rested       map[string]time.Time // by folder, when it came to rest; see noteScan
	contactBegan time.Time            // of the visit under way
	homeAsked    string               // the start time of the daemon at which it was asked for its home
	pendingDue   bool                 // what is pending is to be read with the next status
	connectedDue bool                 // to whom the daemon is connected, likewise
	conflictsDue bool                 // which files of conflicts came and went, likewise
	countsDue    bool                 // how many conflicts the daemon counted, likewise

	conflictsSince int64 // the number of the last change of a file that was read

	snapshot atomic.Pointer[Snapshot] // stored under mu

	mu           sync.Mutex // guards what follows
	ended        bool
	daemon       Daemon
	target       Target
	pin          string                  // in use: as given, or that of the first use
	given        string                  // the pin in the registry, as far as is known: what was learnt comes there
	configBegan  time.Time               // when the request of the current configuration was sent
	configSum    stconfig.TextSum        // of the current configuration as the daemon wrote it; zero when unknown
	restart      expectation             // of the API, because of what Muster sends
	held         chan struct{}           // closed when the session that changes the configuration is done; nil without one
	visiting     context.CancelCauseFunc // ends the visit under way; nil without one
	routeChanged bool                    // the visit ends as soon as no session holds the watcher
	looks        map[string]time.Time    // until when somebody looks at folders, by folder; nil: nobody does
	endPoll      context.CancelFunc      // ends the poll that hangs; nil without one
	readdressed  bool                    // the daemon's address changed, and Changed was not called for it yet
}

// newWatcher takes over what the device's former watcher knew. The caller holds Mirror.mu.
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
			w.pin = used // where it is another one it was learnt, and is not in the registry yet
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
		s.Reason, s.Next = "watching is paused", "Set its mode, its tags' or the fleet's to on or observe."
	}
	if s.NextTry = (time.Time{}); !s.Restarting {
		s.Since = time.Now()
	}
	w.snapshot.Store(&s)
	return w
}

// same tells whether the running watcher already does what is asked. A pin that the watcher learnt counts as no change,
// whether the registry has it already or not.
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

// pinKept notes that the registry has the pin that the watcher learnt. From then on a different pin in the registry, or
// no pin, is a person's decision.
func (w *watcher) pinKept(pin string) {
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

// end stops the watcher; whatever it still learns is dropped. The caller holds Mirror.mu or is its last user.
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
	var pause backoff
	restarting := 0 // attempts to reach an API that restarts
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
				pause.reset() // the API came back as expected
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

// visit finds the daemon and follows it until something breaks. The error says what.
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
	_, pin := w.pins()
	found, err := w.m.o.Resolver.Resolve(ctx, w.device, pin != "")
	if err != nil {
		return err
	}
	if err := w.m.connects.Wait(ctx); err != nil {
		return err
	}
	if err := w.beforeOtherRoute(ctx, found); err != nil {
		return err
	}
	d := w.dial(found)
	if d == nil {
		return context.Canceled
	}
	defer d.CloseIdle()
	return w.follow(ctx, d)
}

// alteredDevice is the reason that a device is not contacted: its address, pin or key may be another program's.
func alteredDevice(id fleet.DeviceID) error {
	return &fleet.Error{Code: fleet.CodeUnconfirmed, During: "contact the daemon", Message: fleet.AlteredReason,
		Hint: fleet.AlteredNext(id)}
}

// dial makes the daemon's client, or keeps the one there is when nothing about it changed.
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

// introduction says who named the address at which the device is looked for. After a person forgot the pin, a discovery
// server's word does not suffice to learn a new one.
func (w *watcher) introduction(found Found) fleet.Introduction {
	if found.Introduced == fleet.ByServer && w.origin == fleet.PinForgotten {
		return fleet.ByAnybody
	}
	return found.Introduced
}

// sameTarget leaves the pin out: a client learns the pin of the first use by itself, and a device that is put with
// another pin gets another watcher.
func sameTarget(a, b Target) bool {
	return a.APIKey == b.APIKey && a.Address == b.Address && a.Introduced == b.Introduced &&
		a.AllowPlain == b.AllowPlain &&
		slices.Equal(a.SyncAddresses, b.SyncAddresses)
}

// online is the daemon while it is followed.
func (w *watcher) online() (Daemon, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.snapshot.Load()
	if s.Connection == fleet.Online && w.daemon != nil {
		return w.daemon, nil
	}
	return nil, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the device is not online: " + s.Reason, Hint: s.Next}
}

// update changes the snapshot and calls Changed. Only dial changes a snapshot without it: the address.
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
		w.m.o.Changed(w.device.ID, aspect)
	}
}

// observe hands an observation to the outbox, unless the watcher has ended.
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

// lost marks the device with the reason, which is logged when it begins and when it changes.
func (w *watcher) lost(err error, wait time.Duration) {
	state, reason, hint := explain(err)
	w.update(func(s *Snapshot) Aspect {
		s.NextTry = time.Now().Add(wait)
		s.Restarting = false
		if w.daemon != nil && trustable[state] {
			shown, _ := w.daemon.Shown()
			s.Shown = fleet.Shown{Certificate: shown, Address: s.Address, FoundBy: s.FoundBy, At: time.Now()}
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

// trustable are the states in which the certificate that was shown may be the device's. A certificate that is known to
// be another daemon's is not offered to be trusted.
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

// seen notes that the daemon answered. Changed is not called for it.
func (w *watcher) seen() {
	w.update(func(s *Snapshot) Aspect {
		s.LastSeen = time.Now()
		return 0
	})
}

package reconcile

import (
	"maps"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

const (
	contendedAfter  = 3         // times that a person set a managed key back
	contendedWithin = time.Hour // also for values of our own that alternate
	maxTracked      = 1000      // keys of a device that are watched for these
	unmovedAfter    = 2         // times that a daemon took a write and showed another value
)

// item is one registration of a device.
type item struct {
	id fleet.DeviceID

	// guarded by Engine.mu
	registered             time.Time // when the device was; zero until the first pass
	queued, working, again bool
	failures               int
	timer                  timer
	requests               []*request
	version                [3]string // os, architecture and version, as last seen by Online
	// kept a moment ago; nil when a pass has it, or when it is to be read from the store
	handed *fleet.ObservedConfig

	history history
}

// request is work that a person waits for: an apply of the plan that they saw, or a change of their own.
type request struct {
	change *change // nil: an apply

	by      string // who asks
	digest  string
	consent []string
	keep    []string
	done    chan error // of capacity 1

	armed []int64 // the consents that it gave

	sent, waiting []plan.Change // what was done, and what was not; to be read after done
}

func newItem(id fleet.DeviceID) *item {
	return &item{id: id, history: history{
		stops: map[string]fleet.Stop{}, kept: map[string]fleet.Stop{}, consents: map[string]fleet.Consent{},
		drifts:    map[string][]time.Time{},
		driftSeen: map[string]string{}, sent: map[string][]sentValue{}, unmoved: map[string]int{},
		wrote: map[string]time.Time{},
	}}
}

// answer tells everybody who waits for an apply how it went. The caller holds Engine.mu.
func (m *item) answer(err error) {
	for _, r := range m.requests {
		r.done <- err
	}
	m.requests = nil
}

// moved tells whether the daemon is another than when this was asked last. The caller holds Engine.mu.
func (m *item) moved(v fleet.Version) bool {
	is := [3]string{v.OS, v.Arch, v.Version}
	moved := is != m.version
	m.version = is
	return moved
}

// timer queues a device later, at most once.
type timer struct{ t *time.Timer }

func (t *timer) start(after time.Duration, f func()) {
	t.stop()
	t.t = time.AfterFunc(after, f)
}

func (t *timer) stop() {
	if t.t != nil {
		t.t.Stop()
		t.t = nil
	}
}

// history is what is remembered of a device between two passes. It is lost with the process, but for the stops and
// the consents.
type history struct {
	mu sync.Mutex // guards the rest

	print     fingerprint // of what was planned from last
	observed  string      // digest of the document that was planned from last; "": look again
	forgotten int         // how often forgetInputs was called

	readAt time.Time // when the daemon was last read here
	read   string    // digest of what was read

	ignores   map[string][]string // as last read
	ignoresAt time.Time

	stops     map[string]fleet.Stop    // keys not to be written now
	kept      map[string]fleet.Stop    // the stops that the store has
	consents  map[string]fleet.Consent // held changes that a person consented to, by key
	drifts    map[string][]time.Time   // when a person set a key back
	driftSeen map[string]string        // digest of the document in which a key's drift was counted, until it is corrected
	sent      map[string][]sentValue   // the last two values sent at a key, newest last
	unmoved   map[string]int           // how often a write at a key had no effect
	wrote     map[string]time.Time     // folders that were written to a moment ago

	restart restarting
	pass    fleet.Pass // the last finished one; not to be changed

	overConsents   []int64 // that the store has open still
	unreadConsents bool    // an undo gave consents that are not in consents yet

	unfinished []fleet.Intent // left open by a crash or a lost connection
}

func (m *history) forgetInputs() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.observed = ""
	m.forgotten++
}

func (m *history) timesForgotten() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forgotten
}

// stopped says why a key is not to be written now, for plan.Input.
func (m *history) stopped(key stconfig.Key) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stops[key.String()].Reason
}

// clearStops takes a person's apply: what stopped the keys of the plan's changes is forgotten.
func (m *history) clearStops() {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.stops, func(_ string, s fleet.Stop) bool { return s.Kind.StopsKey() })
	clear(m.drifts)
	clear(m.sent)
	clear(m.unmoved)
}

// countDrift notes that a person set these keys back in a document, once per document, and stops what is contended.
func (m *history) countDrift(changes []plan.Change, observed string, now time.Time) (contended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range changes {
		key := c.Key.String()
		if !c.Drift || m.driftSeen[key] == observed || m.driftSeen[key] == "" && len(m.driftSeen) >= maxTracked {
			continue
		}
		m.driftSeen[key] = observed
		recent := slices.DeleteFunc(m.drifts[key], func(t time.Time) bool { return now.Sub(t) >= contendedWithin })
		m.drifts[key] = append(recent, now)
		if len(m.drifts[key]) >= contendedAfter {
			reason := "a person at the daemon set it back three times within an hour"
			if by := c.Introducer(); by != "" {
				reason = "the introducer " + by + " added it again three times within an hour, and templates have revoked it"
			}
			m.stop(fleet.Stop{Key: key, Kind: fleet.StopContended, Since: now, Reason: reason})
			contended = true
		}
	}
	return contended
}

// sentValue is a value that was sent.
type sentValue struct {
	digest string
	at     time.Time
}

// countSent notes the values that are about to be sent, and stops what alternates.
func (m *history) countSent(changes []plan.Change, now time.Time) (unstable bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range changes {
		key, value := c.Key.String(), valueDigest(c.Sending())
		delete(m.driftSeen, key)
		if m.sent[key] == nil && len(m.sent) >= maxTracked {
			continue
		}
		last := slices.DeleteFunc(m.sent[key], func(v sentValue) bool { return now.Sub(v.at) >= contendedWithin })
		if n := len(last); n >= 2 && last[n-2].digest == value && last[n-1].digest != value {
			m.stop(fleet.Stop{Key: key, Kind: fleet.StopUnstable, Since: now,
				Reason: "what the templates ask for here changes back and forth by itself"})
			unstable = true
			continue
		}
		if n := len(last); n == 0 || last[n-1].digest != value {
			last = append(last, sentValue{value, now})
		}
		m.sent[key] = last[max(0, len(last)-2):]
	}
	return unstable
}

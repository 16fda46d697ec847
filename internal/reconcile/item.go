package reconcile

import (
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
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
	return &item{id: id, history: history{stops: plan.NewStops(), answers: plan.NewAnswers()}}
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
	stops   *plan.Stops
	answers *plan.Answers

	// Of the worker, or of Run before there is one:
	restart    restarting
	unfinished []fleet.Intent // left open by a crash or a lost connection

	mu sync.Mutex // guards the rest

	print     fingerprint // of what was planned from last
	observed  string      // digest of the document that was planned from last; "": look again
	forgotten int         // how often forgetInputs was called

	readAt time.Time // when the daemon was last read here
	read   string    // digest of what was read

	ignores      map[string][]string // as last read
	ignoresUntil time.Time           // when they are read again

	pass fleet.Pass // the last finished one; not to be changed
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

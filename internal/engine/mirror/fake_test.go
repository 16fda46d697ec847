package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// fake is a small daemon: an event ring that behaves like the real one, and whatever a test makes it say.
type fake struct {
	mu      sync.Mutex
	status  fleet.Status
	version fleet.Version

	directories []string
	home        string

	folders       []fakeFolder
	old           bool // no /rest/config
	fail          map[string]error
	hang          map[string]bool          // until the connection breaks
	gate          map[string]chan struct{} // until it is closed
	pin           string
	crowded       bool   // there are too many connections to keep one
	tooLarge      string // this folder's summary: reading it ends the connection
	redialled     bool   // since the status was read: polls are not sent
	redialsAlways bool
	pending       []fleet.Pending
	connected     []fleet.DeviceID
	conflicts     []fleet.ConflictChange // the number of each is its place
	counted       map[string]int64       // conflicts, by folder
	items         map[string][]fleet.FailedItem
	summaries     map[string]fleet.FolderSummary // in place of what its folders would say

	events  []fleet.DaemonEvent
	primed  bool // the ring starts with the first request
	last    int64
	changed chan struct{} // closed when something happened
	cut     chan struct{} // closed when the connection breaks
	script  [][]fleet.DaemonEvent

	calls   []string
	at      []time.Time
	running int
	overlap bool
	closed  int
}

type fakeFolder struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Paused bool   `json:"paused"`
	Size   int64  `json:"size"`
	Note   string `json:"note,omitempty"`

	With []fleet.DeviceID `json:"with,omitempty"`
}

func id(n int) fleet.DeviceID { return fleet.DeviceIDOf(sha256.Sum256(fmt.Append(nil, n))) }

func newFake(n int, folders ...string) *fake {
	f := &fake{status: fleet.Status{MyID: id(n), StartTime: "first"},
		version:     fleet.Version{Version: "v1.30.0", OS: "linux"},
		directories: []string{"/home/sample/st"},
		fail:        map[string]error{}, hang: map[string]bool{}, gate: map[string]chan struct{}{},
		changed: make(chan struct{}), cut: make(chan struct{}), pin: "sha256:aa"}
	for _, folder := range folders {
		f.folders = append(f.folders, fakeFolder{ID: folder, Label: "Label of " + folder})
	}
	return f
}

// do is one request: it is noted, and hangs or fails as the test wants.
func (f *fake) do(ctx context.Context, name string) error {
	f.mu.Lock()
	f.calls, f.at = append(f.calls, name), append(f.at, time.Now())
	f.running++
	f.overlap = f.overlap || f.running > 1
	err, hang, gate, cut := f.fail[name], f.hang[name], f.gate[name], f.cut
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.mu.Unlock()
	}()
	if gate != nil {
		<-gate
	}
	if hang {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-cut:
			return errCut
		}
	}
	return err
}

var errCut = &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon closed the connection", Hint: "Wait."}

func (f *fake) Status(ctx context.Context) (fleet.Status, error) {
	if err := f.do(ctx, "status"); err != nil {
		return fleet.Status{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.redialled = f.redialsAlways
	return f.status, nil
}

func (f *fake) Version(ctx context.Context) (fleet.Version, error) {
	err := f.do(ctx, "version")
	return f.version, err
}

func (f *fake) Directories(context.Context) ([]string, error) { return f.directories, nil }

func (f *fake) Home(ctx context.Context) (string, error) {
	err := f.do(ctx, "home")
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.home, err
}

// says is the home that it names from now on.
func (f *fake) says(home string) {
	f.mu.Lock()
	f.home = home
	f.mu.Unlock()
}

func (f *fake) Summary(ctx context.Context, folder string) (fleet.FolderSummary, error) {
	if err := f.do(ctx, "summary "+folder); err != nil {
		return fleet.FolderSummary{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if folder == f.tooLarge {
		f.redialled = true
		return fleet.FolderSummary{}, &fleet.Error{Code: fleet.CodeUnbelievable, Message: "larger than it may be"}
	}
	if summary, told := f.summaries[folder]; told {
		return summary, nil
	}
	for _, known := range f.folders {
		if known.ID == folder {
			return fleet.FolderSummary{GlobalBytes: known.Size, State: "idle"}, nil
		}
	}
	return fleet.FolderSummary{}, fleet.NotFoundf("no such folder")
}

func (f *fake) Config(ctx context.Context) ([]byte, error) {
	if err := f.do(ctx, "config"); err != nil {
		return nil, err
	}
	if f.old {
		return nil, &fleet.Error{Code: fleet.CodeUnsupported, Message: "too old"}
	}
	return f.document(), nil
}

func (f *fake) SystemConfig(ctx context.Context) ([]byte, error) {
	if err := f.do(ctx, "system config"); err != nil {
		return nil, err
	}
	return f.document(), nil
}

func (f *fake) document() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	text, err := json.Marshal(f.folders)
	if err != nil {
		panic(err)
	}
	return text
}

func readFake(_ fleet.DeviceID, document []byte) (Reading, error) {
	var folders []fakeFolder
	if err := json.Unmarshal(document, &folders); err != nil {
		return Reading{}, &fleet.Error{Code: fleet.CodeUnbelievable, Message: "not a usable configuration", Hint: "Look."}
	}
	r := Reading{Digest: fmt.Sprintf("%x", sha256.Sum256(document))}
	for _, f := range folders {
		r.Folders = append(r.Folders, fleet.FolderLabel{Folder: f.ID, Label: f.Label})
		r.Shares = append(r.Shares, fleet.SharedFolder{Folder: f.ID, Paused: f.Paused, With: fleet.PeersOf(f.With)})
	}
	fleet.SortShares(r.Shares)
	return r, nil
}

func (f *fake) Events(ctx context.Context, since int64, limit int, wait time.Duration) ([]fleet.DaemonEvent, error) {
	if err := f.do(ctx, fmt.Sprintf("events since %d limit %d wait %s", since, limit, wait)); err != nil {
		return nil, err
	}
	f.mu.Lock()
	if f.redialled {
		f.mu.Unlock()
		return nil, &fleet.Error{Code: fleet.CodeUnavailable, Message: "another connection", Err: fleet.ErrReconnected}
	}
	f.running++
	f.primed = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.mu.Unlock()
	}()
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for {
		f.mu.Lock()
		if len(f.script) > 0 && wait > 0 {
			next := f.script[0]
			f.script = f.script[1:]
			f.mu.Unlock()
			return next, nil
		}
		var news []fleet.DaemonEvent
		for _, e := range f.events {
			if e.ID > since {
				news = append(news, e)
			}
		}
		if limit > 0 && len(news) > limit {
			news = news[len(news)-limit:]
		}
		changed, cut := f.changed, f.cut
		f.mu.Unlock()
		if len(news) > 0 {
			return news, nil
		}
		select {
		case <-changed:
		case <-timeout.C:
			return nil, nil
		case <-cut:
			return nil, errCut
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (f *fake) Pending(ctx context.Context) ([]fleet.Pending, error) {
	err := f.do(ctx, "pending")
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.pending), err
}

func (f *fake) ConnectedPeers(ctx context.Context) (fleet.Peers, error) {
	err := f.do(ctx, "connections")
	f.mu.Lock()
	defer f.mu.Unlock()
	return fleet.PeersOf(f.connected), err
}

func (f *fake) FailedItems(ctx context.Context, folder string, page, size int) ([]fleet.FailedItem, bool, error) {
	err := f.do(ctx, fmt.Sprintf("failed items of %s, page %d of %d", folder, page, size))
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.items[folder], false, err
}

func (f *fake) Conflicts(ctx context.Context, since int64) ([]fleet.ConflictChange, int64, error) {
	err := f.do(ctx, fmt.Sprint("conflicts since ", since))
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conflicts[since:], int64(len(f.conflicts)), err
}

func (f *fake) ConflictCounts(ctx context.Context) (map[string]int64, error) {
	err := f.do(ctx, "conflict counts")
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counted), err
}

func (f *fake) Ignores(context.Context, string) ([]string, error) { return nil, nil }
func (f *fake) Discovery(context.Context) ([]byte, error)         { return nil, nil }
func (f *fake) Connections(context.Context) ([]byte, error)       { return nil, nil }
func (f *fake) File(context.Context, string, string) (fleet.File, error) {
	return fleet.File{}, nil
}
func (f *fake) FolderIndexes(context.Context, string) (fleet.FolderSummary, map[fleet.DeviceID]int64, error) {
	return fleet.FolderSummary{}, nil, nil
}

func (f *fake) Started(context.Context) (time.Time, error) { return time.Time{}, nil }

func (f *fake) Completion(context.Context, string, fleet.DeviceID) (fleet.Completion, error) {
	return fleet.Completion{}, nil
}

func (f *fake) Log(context.Context, time.Time) ([]fleet.LogLine, error) { return nil, nil }
func (f *fake) Open(context.Context) (Channel, error)                   { return channel{f}, nil }

// channel is a second connection to the daemon.
type channel struct{ f *fake }

func (c channel) Config(ctx context.Context) ([]byte, error)        { return c.f.Config(ctx) }
func (c channel) SystemConfig(ctx context.Context) ([]byte, error)  { return c.f.SystemConfig(ctx) }
func (c channel) Status(ctx context.Context) (fleet.Status, error)  { return c.f.Status(ctx) }
func (c channel) Ignores(context.Context, string) ([]string, error) { return nil, nil }
func (c channel) Summary(context.Context, string) (fleet.FolderSummary, error) {
	return fleet.FolderSummary{}, nil
}
func (c channel) SetIgnores(ctx context.Context, _ string, _ []string) error {
	return c.f.do(ctx, "set ignores")
}
func (c channel) RestartRequired(context.Context) (bool, error)  { return false, nil }
func (c channel) Restart(ctx context.Context) error              { return c.f.do(ctx, "restart") }
func (c channel) Release(context.Context) (fleet.Release, error) { return fleet.Release{}, nil }
func (c channel) DismissPending(ctx context.Context, _ fleet.Pending) error {
	return c.f.do(ctx, "dismiss")
}
func (c channel) Close() {}
func (c channel) Write(ctx context.Context, _, path string, _ []byte) error {
	return c.f.do(ctx, "write "+path)
}

func (f *fake) Shown() (fleet.Certificate, bool) { return fleet.Certificate{Fingerprint: f.pin}, true }
func (f *fake) CloseIdle()                       {}

func (f *fake) Keep() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.crowded
}

func (f *fake) Visit(ctx context.Context) error { return f.do(ctx, "visit") }

func (f *fake) Close() {
	f.mu.Lock()
	f.closed++
	f.mu.Unlock()
}

func (f *fake) closes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

func (f *fake) overlapped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.overlap
}

// emit puts events into the ring, as far as anybody has asked for it yet.
func (f *fake) emit(events ...fleet.DaemonEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.primed {
		return
	}
	for _, e := range events {
		if e.ID == 0 {
			e.ID = f.last + 1
		}
		f.last = e.ID
		f.events = append(f.events, e)
	}
	f.wake()
}

func (f *fake) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// breakConnection cuts every call that runs.
func (f *fake) breakConnection() {
	f.mu.Lock()
	close(f.cut)
	f.cut = make(chan struct{})
	f.mu.Unlock()
}

// restart is a new process: ids begin again and nothing is buffered until somebody asks.
func (f *fake) restart(start string) {
	f.mu.Lock()
	f.events, f.last, f.primed, f.status.StartTime, f.status.Uptime = nil, 0, false, start, 0
	f.mu.Unlock()
}

func (f *fake) change(folders ...fakeFolder) {
	f.mu.Lock()
	f.folders = folders
	f.mu.Unlock()
}

func (f *fake) set(name string, err error) {
	f.mu.Lock()
	f.fail[name] = err
	f.mu.Unlock()
}

// take gives the calls so far and forgets them.
func (f *fake) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls, f.at = nil, nil
	return calls
}

func (f *fake) times(name string) []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	var at []time.Time
	for i, call := range f.calls {
		if call == name {
			at = append(at, f.at[i])
		}
	}
	return at
}

// world is a mirror with its fakes, sink and hooks, in a bubble of its own.
type world struct {
	t       *testing.T
	m       *Mirror
	daemons map[fleet.DeviceID]*fake

	mu       sync.Mutex
	targets  []Target
	kept     []fleet.Observation
	groups   []int
	sinkErr  error
	refuse   fleet.DeviceID // what the sink never takes
	seen     []string
	keptThen []int    // how many observations were kept when a configuration was announced
	taken    []string // digests of the configurations that the sink took
	changes  map[fleet.DeviceID]Aspect
	resolve  func(fleet.Device) (Found, error)
	unusable bool // no configuration makes sense
	cancel   context.CancelFunc
	done     chan error
}

func (w *world) SaveObservations(ctx context.Context, observations []fleet.Observation) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sinkErr != nil {
		return w.sinkErr
	}
	if slices.ContainsFunc(observations, func(o fleet.Observation) bool { return o.Device == w.refuse }) {
		return errors.New("it cannot be stored")
	}
	w.kept, w.groups = append(w.kept, observations...), append(w.groups, len(observations))
	return ctx.Err()
}

func (w *world) Resolve(ctx context.Context, d fleet.Device, pinned bool) (Found, error) {
	w.mu.Lock()
	resolve := w.resolve
	w.mu.Unlock()
	if resolve != nil {
		return resolve(d)
	}
	return Explicit{}.Resolve(ctx, d, pinned)
}

// inWorld runs a test in a bubble where time passes only while everybody waits.
func inWorld(t *testing.T, seed map[fleet.DeviceID]Snapshot, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, daemons: map[fleet.DeviceID]*fake{}, changes: map[fleet.DeviceID]Aspect{},
			done: make(chan error, 1)}
		w.m = New(Options{
			Dial: func(target Target) Daemon {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.targets = append(w.targets, target)
				return w.daemons[target.Device]
			},
			Resolver: w, Sink: w, Seed: seed,
			Read: func(own fleet.DeviceID, document []byte) (Reading, error) {
				if w.nothingMakesSense() {
					document = nil
				}
				return readFake(own, document)
			},
			Changed: func(s *Snapshot, a Aspect) {
				w.mu.Lock()
				w.changes[s.Device] |= a
				w.mu.Unlock()
			},
			ConfigObserved: func(id fleet.DeviceID) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.keptThen = append(w.keptThen, len(w.kept))
				if c := w.m.TakeConfig(id); c != nil {
					w.seen = append(w.seen, string(c.JSON))
				}
			},
			ConfigStored: func(_ fleet.DeviceID, c fleet.ObservedConfig) {
				w.mu.Lock()
				w.taken = append(w.taken, c.Digest)
				w.mu.Unlock()
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		w.cancel = cancel
		go func() { w.done <- w.m.Run(ctx) }()
		synctest.Wait()
		test(t, w)
		w.stop()
	})
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) resolveWith(r func(fleet.Device) (Found, error)) { w.set(func() { w.resolve = r }) }

func look[T any](w *world, at func() T) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return at()
}

func (w *world) nothingMakesSense() bool { return look(w, func() bool { return w.unusable }) }
func (w *world) observations() []fleet.Observation {
	return look(w, func() []fleet.Observation { return slices.Clone(w.kept) })
}
func (w *world) groupSizes() []int   { return look(w, func() []int { return slices.Clone(w.groups) }) }
func (w *world) keptBefore() []int   { return look(w, func() []int { return slices.Clone(w.keptThen) }) }
func (w *world) announced() []string { return look(w, func() []string { return slices.Clone(w.seen) }) }
func (w *world) dialled() []Target {
	return look(w, func() []Target { return slices.Clone(w.targets) })
}
func (w *world) changed(d fleet.DeviceID) Aspect {
	return look(w, func() Aspect { return w.changes[d] })
}

func (w *world) stop() {
	w.t.Helper()
	w.cancel()
	began := time.Now()
	select {
	case err := <-w.done:
		if !errors.Is(err, context.Canceled) {
			w.t.Errorf("Run ended with %v", err)
		}
		if took := time.Since(began); took > time.Second {
			w.t.Errorf("Run took %s to end", took)
		}
		w.done <- err
	case <-time.After(time.Minute):
		w.t.Error("Run did not end")
	}
}

func device(n int) fleet.Registered {
	return fleet.Registered{Device: fleet.Device{ID: id(n), APIKey: fleet.NewSecret("key"), APIAddress: "daemon.example",
		APIPort: 8384}}
}

// put registers device n with a daemon and waits until everybody has done what can be done at this moment.
func (w *world) put(n int, f *fake) fleet.DeviceID {
	w.mu.Lock()
	w.daemons[id(n)] = f
	w.mu.Unlock()
	w.m.Put(device(n), false)
	synctest.Wait()
	return id(n)
}

func (w *world) snapshot(device fleet.DeviceID) Snapshot {
	w.t.Helper()
	s := w.m.Snapshot(device)
	if s == nil {
		w.t.Fatal("no snapshot")
	}
	return *s
}

func (w *world) wantConnection(device fleet.DeviceID, want fleet.Connection) Snapshot {
	w.t.Helper()
	s := w.snapshot(device)
	if s.Connection != want {
		w.t.Fatalf("connection %s (%s), want %s", s.Connection, s.Reason, want)
	}
	if s.Reason == "" || s.Next == "" {
		w.t.Fatalf("%s without reason or next step: %q, %q", s.Connection, s.Reason, s.Next)
	}
	return s
}

func wantCalls(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("the daemon was asked\n  %q\nwant\n  %q", got, want)
	}
}

// pass lets time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

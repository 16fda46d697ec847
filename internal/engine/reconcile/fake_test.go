package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/engine/budget"
	"muster/internal/engine/health"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

// store is a reconcile.Store in memory.
type store struct {
	documents int // that were asked for
	mu        sync.Mutex
	registry  *fleet.Registry
	looks     int // at the registry
	observed  map[fleet.DeviceID]fleet.ObservedConfig
	entries   map[fleet.DeviceID][]fleet.BaseEntry
	consents  []fleet.Consent
	closed    []int64
	used      []int64 // of closed
	groups    []fleet.GroupConsent
	rollouts  map[fleet.DeviceID]int64
	intents   []fleet.Intent
	stops     map[fleet.DeviceID][]fleet.Stop
	revision  stconfig.Value // the only one that is kept
	puts      int            // of stops
	fail      func(call string) error
	letGoBy   func(generation int64) (fleet.Role, error) // nil: an admin did

	revisionReads, unlimitedReads int // of revision; unlimitedReads outside a memory limit
}

// Admission admits every device to the newest generation.
func (s *store) Admission(context.Context) (*fleet.Admission, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fleet.NewAdmission(s.registry, nil, nil), nil
}

func (s *store) Registry(context.Context) (*fleet.Registry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return s.registry, nil
}

func (s *store) ObservedConfig(_ context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.documents++
	if o, ok := s.observed[id]; ok {
		return o, nil
	}
	return fleet.ObservedConfig{}, fleet.NotFoundf("never read")
}

func (s *store) BaseEntries(_ context.Context, id fleet.DeviceID) ([]fleet.BaseEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries[id]), nil
}

func (s *store) LetGoBy(_ context.Context, _ fleet.DeviceID, _, generation int64) (fleet.Role, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.letGoBy == nil {
		return fleet.RoleAdmin, nil
	}
	return s.letGoBy(generation)
}
func (s *store) FolderPaths(context.Context, fleet.DeviceID) ([]string, error) { return nil, nil }

func (s *store) PutBaseEntries(_ context.Context, id fleet.DeviceID, entries []fleet.BaseEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[id] = slices.Clone(entries)
	return nil
}

func (s *store) BeginIntent(_ context.Context, intent fleet.Intent, entries []fleet.BaseEntry) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail("begin"); err != nil {
			return 0, err
		}
	}
	intent.ID = int64(len(s.intents) + 1)
	s.intents = append(s.intents, intent)
	s.entries[intent.Device] = slices.Clone(entries)
	return intent.ID, nil
}

func (s *store) FinishIntent(_ context.Context, id int64, e fleet.Ending) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail("finish"); err != nil {
			return err
		}
	}
	intent := &s.intents[id-1]
	intent.Outcome, intent.Detail = e.Outcome, e.Detail
	s.entries[intent.Device] = slices.Clone(e.Base)
	return nil
}

func (s *store) Revision(ctx context.Context, _ fleet.DeviceID, _ int64) (fleet.Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revisionReads++
	if !new(budget.WorkMemory).Limited(ctx) {
		s.unlimitedReads++
	}
	return fleet.Revision{Number: 1, JSON: s.revision.JSON()}, nil
}

func (s *store) OpenIntents(context.Context) ([]fleet.Intent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []fleet.Intent
	for _, intent := range s.intents {
		if intent.Outcome == fleet.OutcomeOpen {
			open = append(open, intent)
		}
	}
	return open, nil
}

func (s *store) PutConsents(_ context.Context, consents []fleet.Consent) (kept []fleet.Consent, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putConsents(consents), nil
}

func (s *store) putConsents(consents []fleet.Consent) (kept []fleet.Consent) {
	for _, c := range consents {
		if s.registry.Devices[c.Device] == nil {
			continue
		}
		i := slices.IndexFunc(s.consents, func(old fleet.Consent) bool {
			return c.Group != 0 && old.Group == c.Group && old.Device == c.Device && old.Key == c.Key
		})
		if i < 0 {
			c.ID = int64(len(s.consents) + 1)
			s.consents = append(s.consents, c)
		} else if slices.Contains(s.closed, s.consents[i].ID) {
			continue
		} else {
			s.consents[i].Change, c.ID = c.Change, s.consents[i].ID
		}
		kept = append(kept, c)
	}
	return kept
}

func (s *store) OpenConsents(context.Context) ([]fleet.Consent, error) {
	return s.openConsents(""), nil
}

func (s *store) OpenConsentsOf(_ context.Context, device fleet.DeviceID) ([]fleet.Consent, error) {
	return s.openConsents(device), nil
}

func (s *store) openConsents(device fleet.DeviceID) (open []fleet.Consent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.consents {
		if !slices.Contains(s.closed, c.ID) && (device == "" || c.Device == device) {
			open = append(open, c)
		}
	}
	return open
}

func (s *store) PutGroupConsents(_ context.Context, given []fleet.GroupConsent) ([]fleet.GroupConsent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	given = slices.Clone(given)
	for i := range given {
		g := given[i]
		now := slices.Clone(g.Now)
		g.ID, g.Now = int64(len(s.groups)+1), nil
		s.groups = append(s.groups, g)
		for i := range now {
			now[i].Group = g.ID
		}
		g.Now = s.putConsents(now)
		given[i] = g
	}
	return given, nil
}

func (s *store) GroupConsents(_ context.Context, device fleet.DeviceID) (groups []fleet.GroupConsent, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.groups {
		if s.rollouts[device] == g.Rollout {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

func (s *store) RolloutsOfDevices(context.Context) (map[fleet.DeviceID]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.rollouts), nil
}

func (s *store) PutConsentTimes(_ context.Context, consents []fleet.Consent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range consents {
		s.consents[c.ID-1].Until, s.consents[c.ID-1].UnreachableSince = c.Until, c.UnreachableSince
	}
	return nil
}

func (s *store) EndConsents(_ context.Context, ids []int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = append(s.closed, ids...)
	return nil
}

func (s *store) CloseConsents(_ context.Context, ids []int64, _ int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail("close consents"); err != nil {
			return err
		}
	}
	s.used = append(s.used, ids...)
	s.closed = append(s.closed, ids...)
	return nil
}

func (s *store) ReopenConsents(_ context.Context, ids []int64, _ int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = slices.DeleteFunc(s.closed, func(id int64) bool { return slices.Contains(ids, id) })
	return nil
}

func (s *store) Stops(context.Context) (map[fleet.DeviceID][]fleet.Stop, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.stops), nil
}

func (s *store) PutStops(_ context.Context, id fleet.DeviceID, stops []fleet.Stop) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail("stops"); err != nil {
			return err
		}
	}
	if s.stops == nil {
		s.stops = map[fleet.DeviceID][]fleet.Stop{}
	}
	s.stops[id] = slices.Clone(stops)
	s.puts++
	return nil
}

func (s *store) outcomes() []fleet.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []fleet.Outcome
	for _, intent := range s.intents {
		all = append(all, intent.Outcome)
	}
	return all
}

// daemon is one Syncthing, as far as configurations go.
type daemon struct {
	mu          sync.Mutex
	id          fleet.DeviceID
	store       *store
	doc         stconfig.Value
	ignores     map[string][]string
	noIgnores   bool // they cannot be read
	ignoresRead int  // how often they were read
	online      bool
	known       reconcile.Known
	calls       []string // writes that arrived
	dismissed   []fleet.Pending
	busy        bool // a session is open
	reads       int
	run         int // how often it was started anew

	restarts         bool // it says that it has to start anew
	asked, restarted int
	release          fleet.Release
	summary          fleet.FolderSummary

	opened func()                             // runs with mu held, when a session was opened
	before func(d *daemon, call string) error // runs with mu held, before a write takes effect
	lies   func(stconfig.Value) stconfig.Value
	key    string // of its API; "" takes any

	kept *fleet.ObservedConfig // to be taken
}

func (d *daemon) Known(fleet.DeviceID) reconcile.Known {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.known
	k.Online = d.online
	return k
}

func (d *daemon) TakeConfig(fleet.DeviceID) *fleet.ObservedConfig {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := d.kept
	d.kept = nil
	return kept
}

func (d *daemon) Config(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	d.mu.Lock()
	if d.busy {
		panic("a call beside the session")
	}
	d.mu.Unlock()
	return d.read(ctx, id)
}

func (d *daemon) read(_ context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.online {
		return fleet.ObservedConfig{}, unreachable()
	}
	d.reads++
	doc := d.doc
	if d.lies != nil {
		doc = d.lies(doc)
	}
	o := fleet.ObservedConfig{JSON: doc.JSON(), Digest: stconfig.Digest(doc), SeenAt: time.Now()}
	d.store.mu.Lock()
	d.store.observed[id] = o
	d.store.mu.Unlock()
	return o, nil
}

func unreachable() error { return &fleet.Error{Code: fleet.CodeUnavailable, Message: "not reached"} }

func (d *daemon) Ignores(_ context.Context, _ fleet.DeviceID, folder string) ([]string, error) {
	d.mu.Lock()
	if d.busy {
		panic("a call beside the session")
	}
	d.mu.Unlock()
	return d.readIgnores(folder)
}

func (d *daemon) readIgnores(folder string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.online || d.noIgnores {
		return nil, unreachable()
	}
	d.ignoresRead++
	return slices.Clone(d.ignores[folder]), nil
}

// Session counts as one connection; the daemon is asked for another only when it is closed.
func (d *daemon) Session(context.Context, fleet.DeviceID) (reconcile.Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.online {
		return nil, unreachable()
	}
	if d.busy {
		panic("a second session at the same time")
	}
	d.busy = true
	if d.opened != nil {
		d.opened()
	}
	return &session{d}, nil
}

type session struct{ d *daemon }

func (s *session) Config(ctx context.Context) (fleet.ObservedConfig, stconfig.Value, error) {
	observed, err := s.d.read(ctx, s.d.id)
	if err != nil {
		return observed, stconfig.Value{}, err
	}
	doc, err := stconfig.Parse(observed.JSON)
	return observed, doc, err
}

func (s *session) Run(context.Context) (string, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if !s.d.online {
		return "", unreachable()
	}
	return fmt.Sprint("run ", s.d.run), nil
}

func (s *session) Ignores(ctx context.Context, folder string) ([]string, error) {
	return s.d.readIgnores(folder)
}

func (s *session) SetIgnores(ctx context.Context, folder string, lines []string) error {
	return s.d.SetIgnores(ctx, s.d.id, folder, lines)
}

func (s *session) Summary(context.Context, string) (fleet.FolderSummary, error) {
	return s.d.summary, nil
}

func (s *session) Write(ctx context.Context, method, path string, body []byte) error {
	return s.d.Write(ctx, s.d.id, method, path, body)
}

func (s *session) DismissPending(_ context.Context, asks fleet.Pending) error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.dismissed = append(s.d.dismissed, asks)
	return nil
}

func (s *session) RestartRequired(context.Context) (bool, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.asked++
	return s.d.restarts, nil
}

func (s *session) Release(context.Context) (fleet.Release, error) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return s.d.release, nil
}

func (s *session) Restart(context.Context) error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.restarted++
	return nil
}

func (s *session) Close() {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.busy = false
}

func (d *daemon) SetIgnores(_ context.Context, _ fleet.DeviceID, folder string, lines []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.arrives("ignores " + folder); err != nil {
		return err
	}
	d.ignores[folder] = slices.Clone(lines)
	return nil
}

func (d *daemon) arrives(call string) error {
	if !d.online {
		return unreachable()
	}
	if d.before != nil {
		if err := d.before(d, call); err != nil {
			return err
		}
	}
	d.calls = append(d.calls, call)
	return nil
}

func (d *daemon) Write(_ context.Context, _ fleet.DeviceID, method, path string, body []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.arrives(method + " " + path + " " + string(body)); err != nil {
		return err
	}
	names := strings.Split(strings.TrimPrefix(path, "/rest/config"), "/")[1:]
	for i := range names {
		names[i], _ = url.PathUnescape(names[i])
	}
	value := stconfig.Value{}
	if body != nil {
		var err error
		if value, err = stconfig.Parse(body); err != nil {
			return err
		}
	}
	d.doc = d.normalised(d.after(method, names, value))
	return nil
}

// after is the document after a call.
func (d *daemon) after(method string, names []string, value stconfig.Value) stconfig.Value {
	key := stconfig.Key{}
	for _, name := range names {
		key = key.Child(name)
	}
	switch {
	case len(names) == 0:
		return value
	case method == "DELETE":
		return stconfig.Replace(d.doc, key, stconfig.Value{})
	case method == "PUT" && (names[0] == "folders" || names[0] == "devices"):
		doc := d.doc
		for member := range value.Values() {
			id := member.Get("id").Str() + member.Get("deviceID").Str()
			doc = stconfig.Replace(doc, key.Child(id), member)
		}
		return doc
	case method == "PUT":
		return stconfig.Replace(d.doc, key, value)
	}
	return stconfig.Replace(d.doc, key, mergedDeeply(stconfig.Lookup(d.doc, key), value))
}

// mergedDeeply is what PATCH makes: objects deeply, everything else replaced.
func mergedDeeply(old, laid stconfig.Value) stconfig.Value {
	if old.Kind() != stconfig.Object || laid.Kind() != stconfig.Object {
		return laid
	}
	for name, member := range laid.Members() {
		old = old.With(name, mergedDeeply(old.Get(name), member))
	}
	return old
}

// normalised does what a daemon does to whatever it is sent.
func (d *daemon) normalised(doc stconfig.Value) stconfig.Value {
	password := doc.Get("gui").Get("password").Str()
	isNew := password != d.doc.Get("gui").Get("password").Str() // An empty one is hashed as well (1.19.2 and 2.x).
	if isNew && !strings.HasPrefix(password, "$2") {
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			panic(err)
		}
		doc = doc.With("gui", doc.Get("gui").With("password", stconfig.Text(string(hash))))
	}
	has := map[string]bool{}
	for device := range doc.Get("devices").Values() {
		has[device.Get("deviceID").Str()] = true
	}
	for folder := range doc.Get("folders").Values() {
		for share := range folder.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); !has[id] {
				doc = stconfig.Replace(doc, keyOf("folders."+quoted(folder.Get("id").Str())+".devices."+id), stconfig.Value{})
			}
		}
	}
	d.key = doc.Get("gui").Get("apiKey").Str()
	return stconfig.Normalise(doc)
}

func quoted(name string) string { return `"` + name + `"` }

func keyOf(s string) stconfig.Key {
	key, err := stconfig.ParseKey(s)
	if err != nil {
		panic(err)
	}
	return key
}

// edit is a person's, at the daemon.
func (d *daemon) edit(key, json string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.editLocked(key, json)
}

func (d *daemon) editLocked(key, json string) {
	value := stconfig.Value{}
	if json != "" {
		var err error
		if value, err = stconfig.Parse([]byte(json)); err != nil {
			panic(err)
		}
	}
	d.doc = d.normalised(stconfig.Replace(d.doc, keyOf(key), value))
}

func (d *daemon) at(key string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := stconfig.Lookup(d.doc, keyOf(key))
	if !v.Exists() {
		return "absent"
	}
	return string(v.JSON())
}

func (d *daemon) written() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// answersWrites runs before each write takes effect from now on; nil: every write takes effect.
func (d *daemon) answersWrites(before func(d *daemon, call string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = before
}

// evaluator runs programs in this process.
type evaluator struct {
	mu    sync.Mutex
	fail  error
	takes map[string]time.Duration // The text of a program gives how long it runs.
	runs  int
}

func (e *evaluator) fails(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fail = err
}

func (e *evaluator) Evaluate(ctx context.Context, text string, in template.Input) (template.Result, error) {
	e.mu.Lock()
	err, takes := e.fail, e.takes[text]
	e.runs++
	e.mu.Unlock()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return template.Result{}, ctx.Err()
		}
	}
	if err != nil {
		return template.Result{}, err
	}
	program, err := template.Compile(text)
	if err != nil {
		return template.Result{}, err
	}
	in.Config = template.Conceal(in.Config)
	return program.Evaluate(in, template.Limits{})
}

type secrets map[string]string

func (s secrets) Secret(_ context.Context, name string) (fleet.StoredSecret, error) {
	if text, ok := s[name]; ok {
		return fleet.StoredSecret{Name: name, Value: fleet.NewSecret(text)}, nil
	}
	return fleet.StoredSecret{}, fleet.NotFoundf("no secret %q", name)
}

// bench is one device with everything around it.
type bench struct {
	t      *testing.T
	id     fleet.DeviceID
	store  *store
	daemon *daemon
	evals  *evaluator
	engine *reconcile.Engine
	health *health.Health
	step   func(name string)
	access reconcile.Access
	stop   func()

	secrets secrets
	copies  func(folder string) fleet.FolderCopies // may be nil
	take    func() error                           // called before memory is taken; may be nil
	cancel  context.CancelFunc                     // tells the engine to stop
}

func newBench(t *testing.T, templates ...fleet.TaggedTemplate) *bench {
	id := stconfig.SampleID
	s := &store{observed: map[fleet.DeviceID]fleet.ObservedConfig{}, entries: map[fleet.DeviceID][]fleet.BaseEntry{}}
	doc := stconfig.Normalise(stconfig.Sample())
	b := &bench{t: t, id: id, store: s, evals: &evaluator{}, secrets: secrets{"pw": "correct horse"},
		daemon: &daemon{id: id, store: s, doc: doc, ignores: map[string][]string{}, online: true,
			key: doc.Get("gui").Get("apiKey").Str(),
			known: reconcile.Known{Address: "127.0.0.1", Version: fleet.Version{Version: "v2.1.3", OS: "linux"},
				System: fleet.System{OS: "linux", PathSeparator: "/", Tilde: "/home/one"}}}}
	b.register(templates...)
	if _, err := b.daemon.Config(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return b
}

// register makes these the templates; the device carries the tag "all".
func (b *bench) register(templates ...fleet.TaggedTemplate) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	generation, revoked := int64(1), map[fleet.DeviceID]fleet.Revocation(nil)
	if b.store.registry != nil {
		generation, revoked = b.store.registry.Generation+1, b.store.registry.Revocations
	}
	b.store.registry = &fleet.Registry{Generation: generation, Mode: fleet.ModeOn, TagModes: map[fleet.Tag]fleet.Mode{},
		Devices: map[fleet.DeviceID]*fleet.Registered{
			b.id: {Device: fleet.Device{ID: b.id, Label: "one", APIKey: fleet.NewSecret("old"), APIAddress: "127.0.0.1",
				APIPort: 8384, CreatedAt: time.Unix(1, 0)}, Tags: []fleet.Tag{"all"},
				Settings: fleet.DeviceSettings{Mode: fleet.ModeOn}},
			nora: {Device: fleet.Device{ID: nora, Label: "Nora", APIPort: 8384},
				Settings: fleet.DeviceSettings{Mode: fleet.ModePaused}},
		},
		Templates: templates, Revocations: revoked}
}

const nora fleet.DeviceID = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"

func tmpl(id int64, op fleet.Op, key, text string) fleet.TaggedTemplate {
	return fleet.TaggedTemplate{Template: fleet.Template{ID: id, Op: op, Key: key, Text: text,
		SavedRole: fleet.RoleAdmin}, Tags: []fleet.Tag{"all"}}
}

// scantMemory refuses memory where take does.
type scantMemory struct {
	*budget.WorkMemory
	take func() error
}

func (m scantMemory) Take(ctx context.Context, bytes int64) error {
	if m.take != nil {
		if err := m.take(); err != nil {
			return err
		}
	}
	return m.WorkMemory.Take(ctx, bytes)
}

// start runs an engine until stop, or until the test ends. It is called inside a synctest bubble.
func (b *bench) start() {
	ctx, cancel := context.WithCancel(b.t.Context())
	b.cancel = cancel
	b.health = health.New()
	standing := b.health
	memory := budget.NewWorkMemory()
	b.engine = reconcile.New(
		reconcile.Options{Memory: scantMemory{memory, b.take}, Store: b.store, Daemon: b.daemon, Evaluator: b.evals,
			Access:  b.access,
			Found:   func(id fleet.DeviceID, f plan.Findings) { standing.Found(id, f) },
			Secrets: b.secrets, DigestKey: []byte("k"), Copies: b.copies,
			Step: func(name string) {
				if b.step != nil {
					b.step(name)
				}
			}},
	)
	memory.Freed = b.engine.MemoryFreed
	done := make(chan error, 1)
	engine := b.engine
	go func() { done <- engine.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			b.t.Errorf("Run: %v", err)
		}
	})
	synctest.Wait()
}

func (b *bench) changed(templates ...fleet.TaggedTemplate) {
	b.register(templates...)
	b.engine.RegistryChanged()
	synctest.Wait()
}

// seen reads the daemon as the mirror would after an event.
func (b *bench) seen() {
	if _, err := b.daemon.Config(b.t.Context(), b.id); err != nil {
		b.t.Fatal(err)
	}
	b.engine.ConfigObserved(b.id)
	synctest.Wait()
}

// later lets time pass, and waits for what follows.
func (b *bench) later(by time.Duration) {
	time.Sleep(by)
	synctest.Wait()
}

func (b *bench) want(key, json string) {
	b.t.Helper()
	if got := b.daemon.at(key); got != json {
		b.t.Errorf("%s is %s, want %s", key, got, json)
	}
}

// state is what health makes of what the engine found.
func (b *bench) state() fleet.State { return b.health.Condition(b.id) }

func (b *bench) wantState(want fleet.Configuration, part string) {
	b.t.Helper()
	s := b.state()
	if s.Configuration != want || !strings.Contains(s.Reason+" "+s.Next, part) {
		b.t.Errorf("state is %s (%s; %s), want %s with %q", s.Configuration, s.Reason, s.Next, want, part)
	}
}

func (b *bench) wantWrites(n int) {
	b.t.Helper()
	if got := b.daemon.written(); len(got) != n {
		b.t.Errorf("%d writes, want %d:\n%s", len(got), n, strings.Join(got, "\n"))
	}
}

func (b *bench) plan() plan.Plan {
	b.t.Helper()
	p, err := b.engine.Plan(b.t.Context(), b.id)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func rejected(why string) error { return &fleet.Error{Code: fleet.CodeRejected, Message: why} }

// in runs a test in a bubble and ends the engine there.
func in(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// killed ends the goroutine that calls it, as a kill of the process does: nothing after it runs.
func killed() { runtime.Goexit() }

func outcomesOf(all []fleet.Outcome) string { return fmt.Sprint(all) }

// consent consents to the changes of these keys.
func consent(keys ...string) map[string]fleet.Answer { return sameAnswer(fleet.AnswerConsent, keys) }

// keep keeps what is at these keys.
func keep(keys ...string) map[string]fleet.Answer { return sameAnswer(fleet.AnswerKeep, keys) }

func sameAnswer(answer fleet.Answer, keys []string) map[string]fleet.Answer {
	all := map[string]fleet.Answer{}
	for _, key := range keys {
		all[key] = answer
	}
	return all
}

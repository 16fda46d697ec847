package reconcile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/engine/budget"
	"muster/internal/engine/health"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

func TestUnstable(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "options.maxSendKbps",
			"def template(config):\n    return 100 if config['options']['maxRecvKbps'] == 0 else 200\n"))
		b.start()
		defer b.stop()
		b.want("options.maxSendKbps", "100")
		b.daemon.edit("options.maxRecvKbps", "1")
		b.seen()
		b.want("options.maxSendKbps", "200")
		b.daemon.edit("options.maxRecvKbps", "0")
		b.seen()
		b.want("options.maxSendKbps", "200")
		b.wantState(fleet.ConfigUnstable, "options.maxSendKbps")
		b.wantWrites(2)
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, nil); err != nil {
			t.Fatal(err)
		}
		b.want("options.maxSendKbps", "100")
		b.wantState(fleet.ConfigInSync, "")
	})
}

// keys is the daemon's access as Muster knows it.
type keys struct {
	mu      sync.Mutex
	d       *daemon
	adopted []string
	away    time.Time // until then the API does not answer
}

func (k *keys) TryAccess(_ context.Context, _ fleet.DeviceID, access fleet.Access) error {
	k.d.mu.Lock()
	defer k.d.mu.Unlock()
	if time.Now().Before(k.away) {
		return unreachable()
	}
	if k.d.key != access.Key.Reveal() {
		return &fleet.Error{Code: fleet.CodeKeyRefused, Message: "the daemon does not take this key"}
	}
	return nil
}

func (k *keys) AdoptAccess(_ context.Context, _ fleet.DeviceID, _, after fleet.Access) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.adopted = append(k.adopted, after.Key.Reveal())
	return nil
}

var newKey = tmpl(1, fleet.OpSet, "gui.apiKey", `"brand-new-key-0123456789"`)

func TestAnAPIKeyChangesWithConsent(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, newKey)
		access := &keys{d: b.daemon}
		b.access = access
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigHeld, "gui.apiKey")
		b.wantWrites(0)
		access.away = time.Now().Add(17 * time.Second) // the API restarts
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("gui.apiKey")); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(access.adopted); got != "[brand-new-key-0123456789]" {
			t.Errorf("adopted %s", got)
		}
		b.wantState(fleet.ConfigInSync, "")
		b.wantWrites(1)
	})
}

func TestAnAPIKeyThatIsNotTakenIsNotAdopted(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, newKey)
		access := &keys{d: b.daemon}
		b.access = access
		b.daemon.key = "old" // what stands in the record
		b.daemon.before = func(*daemon, string) error { return rejected("no") }
		b.start()
		defer b.stop()
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("gui.apiKey")); err != nil {
			t.Fatal(err)
		}
		if len(access.adopted) > 0 {
			t.Errorf("adopted %v", access.adopted)
		}
		b.wantState(fleet.ConfigFailed, "refused")
	})
}

func TestAccessLostIsSaid(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, newKey)
		access := &keys{d: b.daemon}
		b.access = access
		b.daemon.before = func(d *daemon, call string) error {
			d.before = nil
			d.calls = append(d.calls, call)
			d.key, d.online = "somebody else's", false
			return unreachable()
		}
		b.start()
		defer b.stop()
		_, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("gui.apiKey"))
		if fleet.CodeOf(err) != fleet.CodeUnavailable && fleet.CodeOf(err) != fleet.CodeKeyRefused {
			t.Errorf("apply: %v", err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		b.wantState(fleet.ConfigFailed, "access lost")
		if len(access.adopted) > 0 {
			t.Errorf("adopted %v", access.adopted)
		}
		b.wantWrites(1)
	})
}

// The API moves and is not there: whatever happens next, both ways to reach it are said until the daemon is back.
func TestALostAddressIsSaidUntilTheDaemonIsBack(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpMerge, "gui", `{address: "0.0.0.0:8384", useTLS: true}`))
		b.daemon.before = func(d *daemon, _ string) error { // taken, and nobody listens any more
			d.before = nil
			d.online = false
			return nil
		}
		b.start()
		defer func() { b.stop() }()
		_, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("gui.address", "gui.useTLS"))
		if fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Errorf("apply: %v", err)
		}
		for range 2 {
			for _, part := range []string{"access lost", "https://0.0.0.0:8384", "http://127.0.0.1:8384"} {
				b.wantState(fleet.ConfigFailed, part)
			}
			time.Sleep(10 * time.Minute)
			synctest.Wait()
		}
		b.stop()
		b.start() // another process knows it as well
		b.wantState(fleet.ConfigFailed, "access lost")
		b.daemon.mu.Lock()
		b.daemon.online = true
		b.daemon.mu.Unlock()
		b.engine.Online(b.id)
		synctest.Wait()
		b.wantState(fleet.ConfigInSync, "")
		b.wantWrites(1)
		if got := outcomesOf(b.store.outcomes()); got != "[applied]" {
			t.Error(got)
		}
	})
}

// Muster is killed after the daemon took the new key and before it knew: the record still has the old one.
func TestANewAPIKeySurvivesACrash(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, newKey)
		access := &keys{d: b.daemon}
		b.access = access
		b.step = func(name string) {
			if name == reconcile.StepAfterWrite+"1" {
				b.daemon.mu.Lock()
				b.daemon.online = false // with the old key
				b.daemon.mu.Unlock()
				killed()
			}
		}
		b.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := b.engine.Apply(ctx, b.id, b.plan().Digest, consent("gui.apiKey")); err == nil {
			t.Error("the apply answered although it was killed")
		}
		b.stop()
		b.step = nil
		b.start()
		defer func() { b.stop() }()
		if got := fmt.Sprint(access.adopted); got != "[brand-new-key-0123456789]" {
			t.Errorf("adopted %s", got)
		}
		b.daemon.mu.Lock()
		b.daemon.online = true
		b.daemon.mu.Unlock()
		b.engine.Online(b.id)
		synctest.Wait()
		b.wantState(fleet.ConfigInSync, "")
		b.wantWrites(1)
	})
}

// The API of a daemon is refused for a while after a change of `gui`.
func TestTheAPIRestarts(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "gui.theme", `"black"`))
		b.step = func(name string) {
			if name != reconcile.StepAfterWrite+"1" {
				return
			}
			b.daemon.mu.Lock()
			b.daemon.online = false
			b.daemon.mu.Unlock()
			time.AfterFunc(18*time.Second, func() {
				b.daemon.mu.Lock()
				defer b.daemon.mu.Unlock()
				b.daemon.online = true
			})
		}
		b.start()
		defer b.stop()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		b.wantState(fleet.ConfigInSync, "")
		b.wantWrites(1)
		if got := outcomesOf(b.store.outcomes()); got != "[applied]" {
			t.Error(got)
		}
	})
}

// A folder whose id holds a slash is removed by the whole document as it is then: what a person wrote meanwhile stays.
func TestTheWholeDocumentIsReadRightBefore(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpMerge, "folders", `[{"id": "a/b", "path": "/srv/ab"}]`))
		b.start()
		defer b.stop()
		b.want(`folders."a/b".path`, `"/srv/ab"`)
		b.changed()
		b.wantState(fleet.ConfigHeld, "")
		before := b.daemon.written()
		digest := b.plan().Digest
		edited := false
		b.step = func(name string) {
			if name == reconcile.StepBeforeWrite+"1" && !edited {
				edited = true
				b.daemon.edit("gui.theme", `"black"`)
			}
		}
		if _, _, err := b.engine.Apply(t.Context(), b.id, digest, consent(`folders."a/b"`)); err != nil {
			t.Fatal(err)
		}
		b.want(`folders."a/b"`, "absent")
		b.want("gui.theme", `"black"`)
		b.want("folders.photos-x4kd.path", `"/srv/photos"`)
		b.wantWrites(len(before) + 1)
	})
}

// What does not concern a device costs it nothing.
func TestOtherTemplatesLeaveADeviceAlone(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.start()
		defer b.stop()
		reads := b.daemon.reads
		other := tmpl(7, fleet.OpSet, "options.maxSendKbps", "1")
		other.Tags = []fleet.Tag{"elsewhere"}
		for range 5 {
			b.changed(noNAT, other)
			b.changed(noNAT)
		}
		if b.daemon.reads != reads {
			t.Errorf("%d reads", b.daemon.reads-reads)
		}
		b.wantWrites(1)
	})
}

const encryptedAt = "folders.crypt.devices." + string(nora) + ".encryptionPassword"

// encrypted is a folder that is shared under the password that is kept as a secret.
func encrypted(secret string) fleet.TaggedTemplate {
	return tmpl(1, fleet.OpMerge, "folders.crypt", `{"path": "/srv/crypt", "devices": [{"deviceID": "`+string(nora)+
		`", "encryptionPassword": "${secret:`+secret+`}"}]}`)
}

func TestSecretsChange(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, encrypted("pw"))
		b.start()
		defer b.stop()
		b.want(encryptedAt, `"correct horse"`)
		p := b.plan()
		if len(p.Changes) > 0 {
			t.Errorf("a secret that is there already is in the plan: %v", p.Changes[0])
		}
		b.changed(encrypted("gone"))
		b.wantState(fleet.ConfigFailed, `no secret "gone"`)
	})
}

func TestEvaluate(t *testing.T) {
	evaluate := func(t *testing.T, b *bench, tt fleet.TaggedTemplate) template.Evaluation {
		t.Helper()
		ev, err := b.engine.Evaluate(t.Context(), tt, "")
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "options.maxRecvKbps", "5"))
		b.start()
		defer b.stop()

		ev := evaluate(t, b, tmpl(0, fleet.OpSet, "options.maxSendKbps",
			"def template(config):\n    print('hello')\n    return config['options']['maxRecvKbps'] + 1\n"))
		if ev.Device != b.id || ev.Language != template.Starlark || ev.Value.Str() != "6" ||
			fmt.Sprint(ev.Output) != "[hello]" || ev.Steps == 0 {
			t.Errorf("got %+v", ev)
		}
		if len(ev.Changes) != 1 || ev.Changes[0].Key.String() != "options.maxSendKbps" || len(ev.Warnings) > 0 {
			t.Errorf("changes %v, warnings %v", ev.Changes, ev.Warnings)
		}
		for text, want := range map[string]string{
			`folders.nowhere.paused true`:        "would be skipped",
			`gui.user "x"`:                       "would be held",
			`gui.enabled false`:                  "would be refused",
			`options.natEnabled "yes"`:           "takes true or false",
			`options.nonsense 1`:                 "a field of no daemon that Muster knows",
			`gui.theme "drak"`:                   "did you mean dark?",
			`folders [{"id": "x", "path": "~"}]`: "would be",
		} {
			key, body, _ := strings.Cut(text, " ")
			ev := evaluate(t, b, tmpl(0, fleet.OpSet, key, body))
			if !slices.ContainsFunc(ev.Warnings, func(w string) bool { return strings.Contains(w, want) }) ||
				!ev.Value.Exists() {
				t.Errorf("%s: value %v, warnings %q, want %q", text, ev.Value.Kind(), ev.Warnings, want)
			}
		}
		if _, err := b.engine.Evaluate(t.Context(), tmpl(0, fleet.OpSet, "", "{"),
			""); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("a body that is none: %v", err)
		}
		if _, err := b.engine.Evaluate(t.Context(), noNAT, "AAAAAAA"); fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Errorf("an unknown device: %v", err)
		}
		elsewhere := noNAT
		elsewhere.Tags = []fleet.Tag{"elsewhere"}
		if ev := evaluate(t, b, elsewhere); ev.Device == "" {
			t.Error("no device picked")
		}
		b.store.mu.Lock()
		b.store.registry = &fleet.Registry{Mode: fleet.ModeOn}
		b.store.mu.Unlock()
		if ev := evaluate(t, b, noNAT); ev.Device != "" || len(ev.Warnings) != 1 ||
			!strings.Contains(ev.Warnings[0], "sample") || len(ev.Changes) != 1 {
			t.Errorf("without devices: %+v", ev)
		}
		b.wantWrites(1)
	})
}

// Many devices at once: each is brought there, with bounded work at a time.
func TestManyDevices(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		r := *b.store.registry
		r.Devices = map[fleet.DeviceID]*fleet.Registered{}
		many := &farm{daemons: map[fleet.DeviceID]*daemon{}}
		for i := range 200 {
			id := fleet.DeviceIDOf([32]byte{byte(i), 1})
			doc := strings.ReplaceAll(string(stconfig.Sample().JSON()), string(stconfig.SampleID), string(id))
			parsed, err := stconfig.Parse([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			many.daemons[id] = &daemon{id: id, store: b.store, doc: stconfig.Normalise(parsed), online: true,
				ignores: map[string][]string{}}
			r.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id, APIPort: 8384}, Tags: []fleet.Tag{"all"},
				Settings: fleet.DeviceSettings{Mode: fleet.ModeOn}}
			if _, err := many.Config(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		r.Templates = []fleet.TaggedTemplate{noNAT}
		b.store.registry = &r
		standing := health.New()
		e := reconcile.New(
			reconcile.Options{Memory: budget.NewWorkMemory(), Store: b.store, Daemon: many, Evaluator: b.evals, Workers: 8,
				Found: func(id fleet.DeviceID, f plan.Findings) { standing.Found(id, f) }},
		)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx) }()
		synctest.Wait()
		time.Sleep(10 * time.Second) // every write takes 100 ms
		synctest.Wait()
		for id, d := range many.daemons {
			if got := d.at("options.natEnabled"); got != "false" || len(d.written()) != 1 {
				t.Errorf("%s: %s after %d writes", id.Short(), got, len(d.written()))
			}
			if s := standing.Condition(id); s.Configuration != fleet.ConfigInSync {
				t.Errorf("%s is %s", id.Short(), s.Configuration)
			}
		}
		if many.most > 8 {
			t.Errorf("%d writes at once", many.most)
		}
		cancel()
		<-done
	})
}

// farm is many daemons; it counts how many are written at the same time.
type farm struct {
	mu        sync.Mutex
	daemons   map[fleet.DeviceID]*daemon
	now, most int
}

func (f *farm) Known(id fleet.DeviceID) reconcile.Known { return f.daemons[id].Known(id) }

func (f *farm) TakeConfig(id fleet.DeviceID) *fleet.ObservedConfig {
	return f.daemons[id].TakeConfig(id)
}

func (f *farm) Config(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	return f.daemons[id].Config(ctx, id)
}

func (f *farm) Ignores(ctx context.Context, id fleet.DeviceID, folder string) ([]string, error) {
	return f.daemons[id].Ignores(ctx, id, folder)
}

func (f *farm) Session(ctx context.Context, id fleet.DeviceID) (reconcile.Session, error) {
	s, err := f.daemons[id].Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return slowSession{s, f}, nil
}

type slowSession struct {
	reconcile.Session
	f *farm
}

func (s slowSession) Write(ctx context.Context, method, path string, body []byte) error {
	f := s.f
	f.mu.Lock()
	f.now++
	f.most = max(f.most, f.now)
	f.mu.Unlock()
	<-time.After(100 * time.Millisecond)
	f.mu.Lock()
	f.now--
	f.mu.Unlock()
	return s.Session.Write(ctx, method, path, body)
}

package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// memoryStore keeps generations as registries, and what was written.
type memoryStore struct {
	mu       sync.Mutex // guards the rest
	history  []*fleet.Registry
	changes  []fleet.GenerationChange
	settled  *fleet.Registry // nil: the first
	holds    map[fleet.DeviceID]fleet.Hold
	rollouts []fleet.Rollout
	broken   error
}

func (m *memoryStore) now() *fleet.Registry { return m.history[len(m.history)-1] }

func (m *memoryStore) Registry(context.Context) (*fleet.Registry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now(), nil
}

func (m *memoryStore) RegistryAt(_ context.Context, generation int64) (*fleet.Registry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.history[generation], nil
}

func (m *memoryStore) GenerationChanges(_ context.Context, after int64) ([]fleet.GenerationChange, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.changes[after:]), nil
}

func (m *memoryStore) Admission(context.Context) (*fleet.Admission, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	holds, pasts := slices.Collect(maps.Values(m.holds)), map[int64]*fleet.Registry{}
	for _, h := range holds {
		pasts[h.Generation] = m.history[h.Generation]
	}
	settled := m.settled
	if settled == nil {
		settled = m.history[0]
	}
	return fleet.NewAdmission(settled, holds, pasts), nil
}

func (m *memoryStore) Rollouts(context.Context) ([]fleet.Rollout, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rollouts), nil
}
func (m *memoryStore) OpenRollouts(context.Context) (open []fleet.Rollout, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.rollouts {
		if !r.Status.Over() {
			open = append(open, r)
		}
	}
	return open, nil
}
func (m *memoryStore) Rollout(_ context.Context, id int64) (fleet.Rollout, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rollouts[id-1], nil
}

func (m *memoryStore) PutRollouts(_ context.Context, w fleet.RolloutWrite) (created int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return 0, m.broken
	}
	for _, r := range w.Rollouts {
		if r.ID == 0 {
			created = int64(len(m.rollouts) + 1)
			r.ID = created
			m.rollouts = append(m.rollouts, r)
			continue
		}
		if r.Members == nil {
			r.Members = m.rollouts[r.ID-1].Members
		}
		m.rollouts[r.ID-1] = r
	}
	for _, id := range w.Release {
		delete(m.holds, id)
	}
	for _, h := range w.Hold {
		if h.Rollout == 0 {
			h.Rollout = created
		}
		m.holds[h.Device] = h
	}
	if w.Settled != nil {
		m.settled = w.Settled
	}
	return created, nil
}

// UndoRollout takes tags of templates back, and nothing else.
func (m *memoryStore) UndoRollout(ctx context.Context, r fleet.Rollout) (int64, error) {
	var back fleet.GenerationChange
	for _, carried := range r.Carries {
		for _, t := range m.changes[carried-1].TemplateTags {
			t.Carried = !t.Carried
			back.TemplateTags = append(back.TemplateTags, t)
		}
	}
	m.change(back)
	r.UndoneBy = m.now().Generation
	_, err := m.PutRollouts(ctx, fleet.RolloutWrite{Rollouts: []fleet.Rollout{r}})
	return r.UndoneBy, err
}

func (m *memoryStore) Touched(context.Context, int64) (map[fleet.DeviceID]bool, error) {
	return nil, nil
}

// change makes a generation.
func (m *memoryStore) change(c fleet.GenerationChange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := *m.now()
	next.Generation++
	c.Number, c.Cause = next.Generation, fmt.Sprint("change ", next.Generation)
	next.Templates = slices.Clone(next.Templates)
	for _, t := range c.Templates {
		i := slices.IndexFunc(next.Templates, func(v fleet.TaggedTemplate) bool { return v.ID == t.Template.ID })
		if i < 0 {
			next.Templates = append(next.Templates, fleet.TaggedTemplate{Template: t.Template})
		} else {
			next.Templates[i].Template = t.Template
		}
	}
	for _, t := range c.TemplateTags {
		i := slices.IndexFunc(next.Templates, func(v fleet.TaggedTemplate) bool { return v.ID == t.Template })
		next.Templates[i].Tags = retagged(next.Templates[i].Tags, t.Tag, t.Carried)
	}
	next.Devices = maps.Clone(next.Devices)
	for _, t := range c.DeviceTags {
		d := *next.Devices[t.Device]
		d.Tags = retagged(d.Tags, t.Tag, t.Carried)
		next.Devices[t.Device] = &d
	}
	m.history, m.changes = append(m.history, &next), append(m.changes, c)
}

func retagged(tags []fleet.Tag, tag fleet.Tag, carried bool) []fleet.Tag {
	tags = slices.DeleteFunc(slices.Clone(tags), func(t fleet.Tag) bool { return t == tag })
	if carried {
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	return tags
}

func (m *memoryStore) template(t fleet.Template) {
	t.Reads.Known = t.Reads.Known || strings.HasPrefix(t.Text, "{")
	m.change(fleet.GenerationChange{Templates: []fleet.TemplateChange{{Template: t}}})
}

func (m *memoryStore) tagTemplate(id int64, tag fleet.Tag, carried bool) {
	m.change(fleet.GenerationChange{TemplateTags: []fleet.TemplateTagChange{{Template: id, Tag: tag, Carried: carried}}})
}

func (m *memoryStore) tagDevice(n int, tag fleet.Tag) { m.retagDevice(n, tag, true) }

func (m *memoryStore) retagDevice(n int, tag fleet.Tag, carried bool) {
	m.change(fleet.GenerationChange{DeviceTags: []fleet.DeviceTagChange{{Device: deviceN(n), Tag: tag, Carried: carried}}})
}

// quietFleet cannot be reached, and notes who is to be looked at.
type quietFleet struct{ woken map[fleet.DeviceID]bool }

func (quietFleet) Standing(fleet.DeviceID) Standing   { return Standing{Tried: true, Mode: fleet.ModeOn} }
func (quietFleet) Waiting(fleet.DeviceID) []plan.Wish { return nil }
func (quietFleet) Plan(context.Context, fleet.DeviceID) (plan.Plan, error) {
	return plan.Plan{}, nil
}
func (quietFleet) Apply(context.Context, fleet.DeviceID, string, []string, []string) error {
	return nil
}
func (f quietFleet) Wake(ids []fleet.DeviceID) {
	for _, id := range ids {
		f.woken[id] = true
	}
}
func (quietFleet) Facts(r *fleet.Registry) (all []template.Facts) {
	for id, d := range r.Devices {
		all = append(all, template.Facts{DeviceID: id, Tags: d.Tags})
	}
	return all
}

// counting is a program language of one word: `devices` is their number with the tag x, `device` the tags of one's own.
type counting struct{ runs int }

func (c *counting) Evaluate(_ context.Context, text string, in template.Input) (template.Result, error) {
	c.runs++
	switch {
	case strings.HasPrefix(text, "{"):
		return template.Result{Language: template.HJSON, Value: stconfig.Text(text)}, nil
	case text == "device":
		return template.Result{Language: template.Starlark, Value: stconfig.Text(fmt.Sprint(in.Device.Tags))}, nil
	}
	n := 0
	for _, d := range in.Fleet.Devices() {
		if slices.Contains(d.Tags, "x") {
			n++
		}
	}
	return template.Result{Language: template.Starlark, Value: stconfig.Text(fmt.Sprint(n))}, nil
}

type bench struct {
	*Runner
	t        *testing.T
	store    *memoryStore
	fleet    quietFleet
	language *counting
}

// newBench has n devices with the tag "all", and a template 1 without tags.
func newBench(t *testing.T, n int, o Options) *bench {
	t.Helper()
	first := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}
	for i := range n {
		first.Devices[deviceN(i)] = &fleet.Registered{Device: fleet.Device{ID: deviceN(i), CreatedAt: t0}, Tags: []fleet.Tag{"all"}}
	}
	first.Templates = []fleet.TaggedTemplate{{Template: fleet.Template{ID: 1, Op: fleet.OpSet, Key: "options.x", Text: "{}",
		Reads: fleet.Inputs{Known: true}}}}
	b := &bench{t: t, store: &memoryStore{history: []*fleet.Registry{first}, holds: map[fleet.DeviceID]fleet.Hold{}},
		fleet: quietFleet{map[fleet.DeviceID]bool{}}, language: &counting{}}
	o.Store, o.Fleet, o.Evaluator = b.store, b.fleet, b.language
	b.Runner = New(o)
	if err := b.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) settleNow() {
	b.t.Helper()
	clear(b.fleet.woken)
	if err := b.settle(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// at is the generation that a device is planned against.
func (b *bench) at(n int) int64 {
	b.t.Helper()
	current, _ := b.store.Registry(b.t.Context())
	a, err := b.store.Admission(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return a.For(deviceN(n), current).Generation
}

func TestNobodyIsAdmittedBeforeItIsDecided(t *testing.T) {
	b := newBench(t, 3, Options{})
	b.store.tagTemplate(1, "all", true)
	if got := b.at(0); got != 0 {
		t.Errorf("got generation %d before it was settled", got)
	}
	b.settleNow()
	if got := b.at(0); got != 1 || len(b.fleet.woken) != 3 || len(b.store.rollouts) != 0 {
		t.Errorf("got generation %d, %d woken, %d rollouts", got, len(b.fleet.woken), len(b.store.rollouts))
	}
}

func TestAChangeForManyIsARolloutAndOthersAreNotConcerned(t *testing.T) {
	b := newBench(t, 20, Options{})
	b.store.tagDevice(0, "other")
	b.settleNow()
	b.store.tagTemplate(1, "all", true)
	b.settleNow()
	r := b.store.rollouts[0]
	if len(r.Members) != 20 || r.Generation != 2 || r.Before != 1 || !slices.Equal(r.Carries, []int64{2}) || r.Cause != "change 2" {
		t.Errorf("got %+v", r)
	}
	if b.at(0) != 1 || len(b.fleet.woken) != 0 || b.store.settled.Generation != 2 {
		t.Errorf("device at %d, %d woken, settled %d", b.at(0), len(b.fleet.woken), b.store.settled.Generation)
	}
	// After a restart it is the same.
	again := New(b.o)
	if err := again.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Runner = again
	if b.at(0) != 1 || len(again.live) != 1 {
		t.Errorf("after a restart: device at %d, %d rollouts", b.at(0), len(again.live))
	}
}

// Ten thousand devices that are tagged one by one are no rollout, however many tags are settled together.
func TestManyChangesForOneDeviceEachAreForAllAtOnce(t *testing.T) {
	b := newBench(t, 50, Options{})
	b.store.tagTemplate(1, "site", true)
	for n := range 50 {
		b.store.tagDevice(n, "site")
	}
	b.settleNow()
	if len(b.store.rollouts) != 0 || len(b.fleet.woken) != 50 || b.at(7) != 51 {
		t.Errorf("got %d rollouts, %d woken, device at %d", len(b.store.rollouts), len(b.fleet.woken), b.at(7))
	}
}

func TestANewLabelConcernsNobody(t *testing.T) {
	b := newBench(t, 20, Options{})
	b.store.tagTemplate(1, "none yet", true)
	b.settleNow()
	b.store.template(fleet.Template{ID: 1, Label: "new", Op: fleet.OpSet, Key: "options.x", Text: "{}"})
	b.settleNow()
	if len(b.store.rollouts) != 0 || len(b.fleet.woken) != 0 {
		t.Errorf("got %d rollouts, %d woken", len(b.store.rollouts), len(b.fleet.woken))
	}
}

func TestWhatIsTakenBackBeforeAnybodyGotItEndsTheRollout(t *testing.T) {
	b := newBench(t, 20, Options{})
	b.store.tagTemplate(1, "all", true)
	b.settleNow()
	b.store.tagTemplate(1, "all", false)
	b.settleNow()
	if got := b.store.rollouts; len(got) != 1 || got[0].Status != fleet.RolloutSuperseded || got[0].SupersededBy != 2 {
		t.Errorf("got %+v", got)
	}
	if len(b.store.holds) != 0 || b.at(3) != 2 {
		t.Errorf("%d devices are held, one is at %d", len(b.store.holds), b.at(3))
	}
}

// A change of one member takes over what the others still wait for.
func TestAChangeOfOneMemberTakesOverTheRest(t *testing.T) {
	b := newBench(t, 20, Options{})
	b.store.tagTemplate(1, "all", true)
	b.settleNow()
	b.store.template(fleet.Template{ID: 2, Op: fleet.OpSet, Key: "options.y", Text: "{}"})
	b.store.tagTemplate(2, "one", true)
	b.store.tagDevice(5, "one")
	b.settleNow()
	if len(b.store.rollouts) != 2 || b.store.rollouts[0].Status != fleet.RolloutSuperseded {
		t.Fatalf("got %+v", b.store.rollouts)
	}
	r := b.store.rollouts[1]
	if len(r.Members) != 20 || r.Before != 0 || !slices.Equal(r.Carries, []int64{1, 4}) || b.at(0) != 0 {
		t.Errorf("got %+v, device at %d", r, b.at(0))
	}
}

// A program that named config in a comment only counted as another one on each device: every change of a tag became a
// rollout.
func TestProgramsThatReadTheFleetAreEvaluatedTwiceNotForEveryDevice(t *testing.T) {
	b := newBench(t, 40, Options{})
	b.store.template(fleet.Template{ID: 2, Op: fleet.OpSet, Key: "options.y", Text: "devices # config",
		Reads: fleet.Inputs{Known: true, Devices: true}})
	b.store.tagTemplate(2, "all", true)
	b.settleNow()
	b.language.runs = 0
	b.store.tagDevice(0, "y") // that nobody counts
	b.settleNow()
	if len(b.store.rollouts) != 1 || b.language.runs != 2 {
		t.Errorf("got %d rollouts after %d evaluations", len(b.store.rollouts), b.language.runs)
	}
	b.store.tagDevice(0, "x")
	b.settleNow()
	if got := b.store.rollouts; len(got) != 2 || len(got[1].Members) != 40 {
		t.Errorf("got %d rollouts", len(got))
	}
}

// Inputs that are the same in both generations need no evaluation.
func TestAProgramWhoseInputsAreTheSameIsNotEvaluated(t *testing.T) {
	for name, reads := range map[string]fleet.Inputs{
		"nothing": {}, "the names of tags": {Tags: true}, "its own label": {Device: "label deviceID"}, "config": {Config: true},
	} {
		b := newBench(t, 20, Options{})
		reads.Known = true
		b.store.template(fleet.Template{ID: 2, Op: fleet.OpSet, Key: "options.y", Text: "devices # tags", Reads: reads})
		b.store.tagTemplate(2, "all", true)
		b.store.tagDevice(0, "x")
		b.settleNow()
		b.language.runs = 0
		b.store.tagDevice(1, "x")
		b.settleNow()
		if len(b.store.rollouts) != 1 || b.language.runs != 0 {
			t.Errorf("%s: got %d rollouts after %d evaluations", name, len(b.store.rollouts), b.language.runs)
		}
	}
}

// A template that was saved before inputs were kept counts as reading everything.
func TestATemplateOfUnknownInputsTakesTheCarefulWay(t *testing.T) {
	b := newBench(t, 20, Options{})
	b.store.template(fleet.Template{ID: 2, Op: fleet.OpSet, Key: "options.y", Text: "devices"})
	b.store.tagTemplate(2, "all", true)
	b.settleNow()
	b.store.tagDevice(1, "x")
	b.settleNow()
	if len(b.store.rollouts) != 2 {
		t.Errorf("got %d rollouts", len(b.store.rollouts))
	}
}

func TestAProgramThatLooksAtItsOwnTagsConcernsItsDeviceOnly(t *testing.T) {
	b := newBench(t, 5, Options{})
	b.store.template(fleet.Template{ID: 2, Op: fleet.OpSet, Key: "options.y", Text: "device",
		Reads: fleet.Inputs{Known: true, Device: "tags"}})
	b.store.tagTemplate(2, "all", true)
	b.settleNow()
	b.store.tagDevice(3, "mine")
	b.settleNow()
	if len(b.fleet.woken) != 1 || !b.fleet.woken[deviceN(3)] {
		t.Errorf("woken: %v", b.fleet.woken)
	}
}

// Who is deleted and registered again is another device: nothing of the old one holds it.
func TestADeletedDeviceIsHeldNoMore(t *testing.T) {
	b := newBench(t, 20, Options{})
	b.store.tagTemplate(1, "all", true)
	b.settleNow()
	next := *b.store.now()
	next.Devices = maps.Clone(next.Devices)
	delete(next.Devices, deviceN(1))
	again := *next.Devices[deviceN(2)]
	again.CreatedAt, again.Tags = t0.Add(time.Hour), nil
	next.Devices[deviceN(2)] = &again
	b.store.history[1] = &next
	delete(b.store.holds, deviceN(1)) // as the store does
	delete(b.store.holds, deviceN(2))
	if err := b.forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(b.holds) != 18 || b.at(2) != 1 || b.at(3) != 0 {
		t.Errorf("%d are held, at %d and %d", len(b.holds), b.at(2), b.at(3))
	}
}

// There is no way back into a daemon whose API moved out of reach: one first, however few they are.
func TestWhatMayMoveTheAPIIsRolledOutToTwo(t *testing.T) {
	for key, text := range map[string]string{"gui.apiKey": `"x"`, "gui": `{address: "0.0.0.0:8384"}`, "": `{gui: {useTLS: true}}`} {
		b := newBench(t, 2, Options{})
		b.store.template(fleet.Template{ID: 2, Op: fleet.OpMerge, Key: key, Text: text})
		b.store.tagTemplate(2, "all", true)
		b.settleNow()
		if len(b.store.rollouts) != 1 {
			t.Errorf("key %q: got %d rollouts", key, len(b.store.rollouts))
		}
	}
}

func TestTheBlastLimitMakesARolloutThatHolds(t *testing.T) {
	limit, err := ParseLimit("40%")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, 5, Options{BlastLimit: limit})
	b.store.tagTemplate(1, "all", true)
	b.settleNow()
	if r := b.store.rollouts; len(r) != 1 || !strings.Contains(r[0].Blast, "40%") {
		t.Fatalf("got %+v", r)
	}
	if b.HoldAll(deviceN(0)) != "" {
		t.Error("a device is held that was not admitted: its drift would not be corrected")
	}
	delete(b.holds, deviceN(0))
	if b.HoldAll(deviceN(0)) == "" {
		t.Error("an admitted device is not held")
	}
}

func TestASettlementThatCannotBeKeptDidNotHappen(t *testing.T) {
	b := newBench(t, 20, Options{})
	b.store.tagTemplate(1, "all", true)
	b.store.broken = &fleet.Error{Code: fleet.CodeUnavailable, Message: "read-only"}
	if err := b.settle(t.Context()); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Fatalf("got %v", err)
	}
	if b.at(0) != 0 {
		t.Errorf("a device is at %d", b.at(0))
	}
	b.store.broken = nil
	b.settleNow()
	if len(b.store.rollouts) != 1 || len(b.store.rollouts[0].Members) != 20 {
		t.Errorf("got %+v", b.store.rollouts)
	}
}

func TestLimitsAreNumbersOrShares(t *testing.T) {
	for text, exceeded := range map[string]bool{"": false, "5": true, "6": false, "50%": true, "60%": false, "0.5%": true} {
		limit, err := ParseLimit(text)
		if err != nil || limit.Exceeded(6, 10) != exceeded {
			t.Errorf("%q: got exceeded %v (%v), want %v", text, limit.Exceeded(6, 10), err, exceeded)
		}
	}
	for _, text := range []string{"0", "-1", "x", "0%", "101%", "%", "NaN%", "1.5"} {
		if _, err := ParseLimit(text); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%q: got %v, want invalid", text, err)
		}
	}
}

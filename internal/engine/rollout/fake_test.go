package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

var t0 = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func deviceN(n int) fleet.DeviceID {
	var hash [32]byte
	hash[0], hash[1] = byte(n), byte(n>>8)
	return fleet.DeviceIDOf(hash)
}

// memoryStore keeps generations as registries, and what was written.
type memoryStore struct {
	history    []*fleet.Registry
	changes    []fleet.GenerationChange
	admission  *fleet.Admission
	rollouts   []fleet.Rollout
	superseded map[int64]map[fleet.DeviceID]bool
	consents   []fleet.GroupConsent
	woken      []fleet.DeviceID
	touched    map[fleet.DeviceID]int64 // the newest generation of which something was sent
	broken     error                    // of writes that are not kept
	refused    int                      // writes that were not kept
	lost       error                    // of the next write, which is kept
	writes     int
	users      map[string]fleet.User
}

// newStore has n devices with the tag "all", and templates from 1 on, without tags, for these keys and texts.
func newStore(n int, templates ...fleet.Template) *memoryStore {
	first := &fleet.Registry{Mode: fleet.ModeOn, Devices: map[fleet.DeviceID]*fleet.Registered{}}
	for i := range n {
		id := deviceN(i)
		first.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id, CreatedAt: t0}, Tags: []fleet.Tag{"all"}}
	}
	for i, t := range templates {
		t.ID, t.Reads.Known = int64(i+1), true
		first.Templates = append(first.Templates, fleet.TaggedTemplate{Template: t})
	}
	return &memoryStore{history: []*fleet.Registry{first}, admission: fleet.NewAdmission(first, nil, nil),
		superseded: map[int64]map[fleet.DeviceID]bool{}, touched: map[fleet.DeviceID]int64{}}
}

func (m *memoryStore) current() *fleet.Registry { return m.history[len(m.history)-1] }

func (m *memoryStore) Registry(context.Context) (*fleet.Registry, error)   { return m.current(), nil }
func (m *memoryStore) Admission(context.Context) (*fleet.Admission, error) { return m.admission, nil }
func (m *memoryStore) GenerationChanges(_ context.Context, after int64) ([]fleet.GenerationChange, error) {
	return slices.Clone(m.changes[after:]), nil
}

func (m *memoryStore) Rollouts(context.Context) ([]fleet.Rollout, error) {
	all := slices.Clone(m.rollouts)
	slices.Reverse(all)
	return all, nil
}

func (m *memoryStore) OpenRollouts(context.Context) (open []fleet.Rollout, err error) {
	for _, r := range m.rollouts {
		if !r.Status.Over() {
			open = append(open, r)
		}
	}
	return open, nil
}

func (m *memoryStore) Rollout(_ context.Context, id int64) (fleet.Rollout, error) {
	return m.rollouts[id-1], nil
}

func (m *memoryStore) PutRollouts(_ context.Context, w fleet.RolloutWrite) (created []int64, err error) {
	if m.broken != nil {
		if m.refused++; m.refused > 1000 {
			panic("the store is asked again and again")
		}
		return nil, m.broken
	}
	defer func() {
		if m.lost != nil {
			created, err, m.lost = nil, m.lost, nil
		}
	}()
	m.writes++
	for _, id := range w.Touched {
		for r := range m.superseded {
			m.superseded[r][id] = true
		}
	}
	for _, r := range w.Rollouts {
		if r.ID == 0 {
			r.ID = int64(len(m.rollouts) + 1)
			r.Members = slices.DeleteFunc(slices.Clone(r.Members), m.isDeleted)
			created = append(created, r.ID)
			m.rollouts, m.superseded[r.ID] = append(m.rollouts, r), map[fleet.DeviceID]bool{}
			continue
		}
		if r.Members == nil {
			r.Members = m.rollouts[r.ID-1].Members
		}
		r.Members = slices.DeleteFunc(slices.Clone(r.Members), m.isDeleted)
		m.rollouts[r.ID-1] = r
	}
	change := fleet.AdmissionChange{Settled: w.Settled, Release: w.Release, Pasts: map[int64]*fleet.Registry{}}
	for _, h := range w.Hold {
		if h.Rollout == 0 {
			h.Rollout = created[len(created)-1]
		}
		if _, is := m.rollouts[h.Rollout-1].Member(h.Device); is {
			change.Hold = append(change.Hold, h)
		}
		change.Pasts[h.Generation] = m.history[h.Generation]
	}
	m.admission = m.admission.After(change)
	for _, g := range w.Consents {
		if g.Rollout == 0 {
			g.Rollout = created[0]
		}
		m.consents = append(m.consents, g)
	}
	m.woken = append(m.woken, w.Wake...)
	return created, nil
}

func (m *memoryStore) isDeleted(member fleet.RolloutMember) bool {
	return !isRegistered(m.current(), member)
}

// putDevices changes the devices without a generation.
func (m *memoryStore) putDevices(change func(devices map[fleet.DeviceID]*fleet.Registered)) {
	next := *m.current()
	next.Devices = maps.Clone(next.Devices)
	change(next.Devices)
	m.history[len(m.history)-1] = &next
}

// deleteDevice deletes a device with what is kept of it.
func (m *memoryStore) deleteDevice(id fleet.DeviceID) {
	m.putDevices(func(devices map[fleet.DeviceID]*fleet.Registered) { delete(devices, id) })
	m.admission = m.admission.After(fleet.AdmissionChange{Gone: []fleet.DeviceID{id}})
	for i := range m.rollouts {
		m.rollouts[i].Members = slices.DeleteFunc(slices.Clone(m.rollouts[i].Members), m.isDeleted)
	}
}

// register registers a device without tags.
func (m *memoryStore) register(id fleet.DeviceID, at time.Time) {
	m.putDevices(func(devices map[fleet.DeviceID]*fleet.Registered) {
		devices[id] = &fleet.Registered{Device: fleet.Device{ID: id, CreatedAt: at}}
	})
}

// undone is a change that takes the tags of templates and devices back that some generations changed.
func (m *memoryStore) undone(carries []int64) fleet.GenerationChange {
	var back fleet.GenerationChange
	before := m.history[carries[0]-1]
	templates, devices := map[int64]bool{}, map[fleet.DeviceTagChange]bool{}
	for _, g := range carries {
		for _, t := range m.changes[g-1].TemplateTags {
			templates[t.Template] = true
		}
		for _, t := range m.changes[g-1].DeviceTags {
			devices[fleet.DeviceTagChange{Device: t.Device, Tag: t.Tag}] = true
		}
	}
	for id := range templates {
		back.TemplateTags = append(back.TemplateTags, fleet.TemplateTagChange{Template: id, Tag: "all",
			Carried: slices.Contains(before.Templates[id-1].Tags, "all")})
	}
	for t := range devices {
		if m.current().Devices[t.Device] == nil {
			continue
		}
		was := before.Devices[t.Device]
		t.Carried = was != nil && slices.Contains(was.Tags, t.Tag)
		back.DeviceTags = append(back.DeviceTags, t)
	}
	return back
}

// Apply takes rollouts back, and makes no other edit.
func (m *memoryStore) Apply(ctx context.Context, edit fleet.Edit, basis fleet.Basis) (done fleet.Applied, err error) {
	undo := edit.Undo
	switch {
	case basis.Trial:
		done.Then, _ = m.next(m.undone(undo.Rollout.Carries))
		return done, nil
	case m.broken != nil:
		return done, m.broken
	case undo.Write.Settled.Generation != m.current().Generation+1:
		return done, &fleet.Error{Code: fleet.CodePrecondition, Message: "another generation"}
	}
	m.change(m.undone(undo.Rollout.Carries))
	m.history[len(m.history)-1] = undo.Write.Settled
	done.Rollouts, err = m.PutRollouts(ctx, undo.Write)
	return done, err
}

func (m *memoryStore) Touched(_ context.Context, id fleet.DeviceID, generation int64) (bool, error) {
	touched, ok := m.touched[id]
	return ok && touched >= generation, nil
}

// MadeBy returns makers whose name is that of a person, or of a person's token: "token of anna".
func (m *memoryStore) MadeBy(_ context.Context, generations []int64) (by []fleet.Maker, err error) {
	for _, g := range generations {
		change := m.changes[g-1]
		by = append(by, fleet.Maker{Generation: g, Name: change.By, At: change.At,
			Person: strings.TrimPrefix(change.By, "token of ")})
	}
	return by, nil
}

func (m *memoryStore) User(_ context.Context, name string) (fleet.User, error) {
	if user, ok := m.users[name]; ok {
		return user, nil
	}
	return fleet.User{}, fleet.NotFoundf("there is no user %q", name)
}

// next is the registry after a change.
func (m *memoryStore) next(c fleet.GenerationChange) (*fleet.Registry, fleet.GenerationChange) {
	next := *m.current()
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
		if next.Devices[t.Device] == nil {
			continue
		}
		d := *next.Devices[t.Device]
		d.Tags = retagged(d.Tags, t.Tag, t.Carried)
		next.Devices[t.Device] = &d
	}
	next.TagVars = maps.Clone(next.TagVars)
	for _, v := range c.Vars {
		if v.Device == "" {
			maps.Copy(next.TagVars, map[fleet.Tag]fleet.SavedVars{v.Tag: v.SavedVars})
			continue
		}
		d := *next.Devices[v.Device]
		d.Vars = v.SavedVars
		next.Devices[v.Device] = &d
	}
	return &next, c
}

func (m *memoryStore) change(c fleet.GenerationChange) {
	next, c := m.next(c)
	m.history, m.changes = append(m.history, next), append(m.changes, c)
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
	m.change(fleet.GenerationChange{Templates: []fleet.TemplateChange{{Template: t}}})
}

func (m *memoryStore) tagTemplate(id int64, tag fleet.Tag, carried bool) {
	m.change(fleet.GenerationChange{TemplateTags: []fleet.TemplateTagChange{{Template: id, Tag: tag, Carried: carried}}})
}

func (m *memoryStore) vars(of fleet.VarsOwner, vars fleet.Vars) {
	m.change(fleet.GenerationChange{Vars: []fleet.VarsChange{{VarsOwner: of, SavedVars: fleet.SavedVars{Vars: vars}}}})
}

func (m *memoryStore) tagDevice(n int, tag fleet.Tag, carried bool) {
	m.change(fleet.GenerationChange{DeviceTags: []fleet.DeviceTagChange{{Device: deviceN(n), Tag: tag,
		Carried: carried}}})
}

// answer is a person's answer to one removal or re-creation, for all members of a rollout; 0 for those of none.
type answer struct {
	rollout int64
	wish    string
}

// daemons are simulated devices with what brings them where their templates ask. A template with the op set asks for
// its text at its key, one with the op remove that nothing is there.
type daemons struct {
	t       interface{ Fatalf(string, ...any) }
	store   *memoryStore
	runner  *Runner
	o       Options
	clock   time.Time
	sites   map[fleet.DeviceID]*site
	all     []fleet.DeviceID
	answers map[answer]bool
	used    map[string]bool // which device used which answer for which wish
	given   int             // answers of people
}

// site is one device.
type site struct {
	has, base map[string]string // values at keys; base: what was there before Muster wrote
	away      bool
	untried   bool
	stuck     bool   // nothing that is sent gets there
	fails     string // why no plan can be made of its templates
	mode      fleet.Mode
	errors    map[string]string
	pass      fleet.Pass
	passes    int
}

func newDaemons(t interface{ Fatalf(string, ...any) }, n int, o Options, templates ...fleet.Template) *daemons {
	d := &daemons{t: t, store: newStore(n, templates...), o: o, clock: t0, sites: map[fleet.DeviceID]*site{},
		answers: map[answer]bool{}, used: map[string]bool{}}
	for i := range n {
		id := deviceN(i)
		d.all = append(d.all, id)
		d.sites[id] = &site{has: map[string]string{"folders.own": "own"}, base: map[string]string{}, mode: fleet.ModeOn}
	}
	d.restart()
	return d
}

// restart starts another Runner on what is kept.
func (d *daemons) restart() {
	d.o.Store, d.o.Changes, d.o.Fleet, d.o.Evaluator = d.store, d.store, d, words{}
	d.runner = New(d.o)
	d.runner.now = func() time.Time { return d.clock }
	if err := d.runner.Load(context.Background()); err != nil {
		d.t.Fatalf("load: %v", err)
	}
	for _, id := range d.all {
		d.pass(id)
	}
	d.run()
}

// run does all that is due now.
func (d *daemons) run() {
	for range 1000 {
		d.runner.step(context.Background())
		woken := d.store.woken
		d.store.woken = nil
		if len(woken) == 0 {
			d.runner.changes.mu.Lock()
			left := len(d.runner.changes.changed)
			d.runner.changes.mu.Unlock()
			if left == 0 {
				return
			}
		}
		for _, id := range woken {
			d.pass(id)
		}
	}
	d.t.Fatalf("it never comes to rest")
}

// after lets time pass, in steps in which something may be due.
func (d *daemons) after(length time.Duration) {
	end := d.clock.Add(length)
	for d.clock.Before(end) {
		d.run()
		next := d.runner.step(context.Background())
		if next.After(end) || !next.After(d.clock) {
			next = end
		}
		d.clock = next
	}
	d.run()
}

// pass is one pass of reconcile over a device.
func (d *daemons) pass(id fleet.DeviceID) {
	s := d.sites[id]
	if s.mode == fleet.ModePaused || s.untried || s.away {
		return
	}
	current := d.store.current()
	admitted := d.store.admission.For(id, current)
	wanted := maps.Clone(s.has)
	for key, value := range s.base {
		wanted[key] = value
	}
	asked := map[string]bool{}
	for _, t := range admitted.TemplatesOf(id) {
		asked[t.Key] = true
		wanted[t.Key] = t.Text
		if t.Op == fleet.OpRemove {
			wanted[t.Key] = ""
		}
	}
	pass := fleet.Pass{Generation: admitted.Generation, Failed: s.fails}
	if s.fails != "" {
		wanted = nil
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		d.change(id, key, wanted[key], asked[key], admitted.Generation, &pass)
	}
	pass.Observed = s.digest()
	s.pass = pass
	s.passes++
	d.runner.DeviceChanged(id)
}

// change brings a key of a device to a value, if it may.
func (d *daemons) change(id fleet.DeviceID, key, want string, asked bool, generation int64, pass *fleet.Pass) {
	s := d.sites[id]
	if s.has[key] == want {
		if _, owned := s.base[key]; owned && !asked {
			delete(s.base, key)
		}
		return
	}
	wish := key + "=" + want
	holds := strings.HasPrefix(key, "folders.") && (want == "" || !asked)
	switch {
	case holds && s.mode != fleet.ModeOn, holds && !d.consented(id, wish, !asked):
		pass.Waiting = append(pass.Waiting, fleet.WaitingChange{Wish: wish, Key: key, Reason: "it costs a folder"})
	case s.mode != fleet.ModeOn, s.stuck:
		pass.Unsent = key
	default:
		if _, owned := s.base[key]; !owned {
			s.base[key] = s.has[key]
		}
		s.has[key] = want
		if !asked {
			delete(s.base, key)
		}
		d.store.touched[id] = generation
	}
}

// consented tells whether a person or an undo answered for the rollout that speaks for a device. It is used once.
func (d *daemons) consented(id fleet.DeviceID, wish string, returns bool) bool {
	rollout := d.speaksFor(id)
	if d.use(id, wish, answer{rollout, wish}) {
		return true
	}
	for i, g := range d.store.consents {
		if g.Rollout != rollout || !returns || !g.Shows(id, wish) {
			continue
		}
		once := fmt.Sprint(i, id, wish)
		if !d.used[once] {
			d.used[once] = true
			return true
		}
	}
	return false
}

// undo takes a rollout back. The person saw everything that comes back then, but for what waits already. A wish is its
// own digest here.
func (d *daemons) undo(ctx context.Context, id int64) (fleet.Rollout, error) {
	var approval fleet.UndoApproval
	for _, device := range d.all {
		s := d.sites[device]
		for key, was := range s.base {
			wish := key + "=" + was
			if !slices.ContainsFunc(s.pass.Waiting, func(w fleet.WaitingChange) bool { return w.Wish == wish }) {
				approval.Shown = append(approval.Shown, fleet.ShownChange{Device: device, Digest: wish})
			}
		}
	}
	undone, _, err := d.runner.Undo(ctx, id, approval)
	return undone, err
}

func (d *daemons) use(id fleet.DeviceID, wish string, a answer) bool {
	once := fmt.Sprint(a, id, wish)
	if !d.answers[a] || d.used[once] {
		return false
	}
	d.used[once] = true
	return true
}

func (d *daemons) speaksFor(id fleet.DeviceID) (rollout int64) {
	for _, r := range d.store.rollouts {
		if _, is := r.Member(id); is && !d.store.superseded[r.ID][id] {
			rollout = max(rollout, r.ID)
		}
	}
	return rollout
}

// consent answers yes to all that waits now, one answer for each rollout and wish. It gives how many that were.
func (d *daemons) consent() (answers int) {
	for _, id := range d.all {
		for _, w := range d.sites[id].pass.Waiting {
			a := answer{d.speaksFor(id), w.Wish}
			if !d.answers[a] || d.used[fmt.Sprint(a, id, w.Wish)] {
				maps.DeleteFunc(d.used, func(once string, _ bool) bool { return strings.HasPrefix(once, fmt.Sprint(a)) })
				d.answers[a] = true
				answers++
			}
		}
	}
	d.given += answers
	for _, id := range d.all {
		d.pass(id)
	}
	d.run()
	return answers
}

func (s *site) digest() string { return fmt.Sprint(s.has) }

func (d *daemons) Standing(id fleet.DeviceID) fleet.Standing {
	s := d.sites[id]
	if d.store.current().Devices[id] == nil {
		return fleet.Standing{Gone: true, Tried: true}
	}
	standing := fleet.Standing{Tried: true, Online: !s.away, Mode: s.mode, Digest: s.digest(), Errors: s.errors,
		NotFine:    slices.Sorted(maps.Keys(s.errors)),
		Summarised: true, Pass: s.pass,
		Configuration: fleet.ConfigInSync, Reason: "reason"}
	if len(s.pass.Waiting) > 0 {
		standing.Configuration = fleet.ConfigHeld
	}
	if s.mode == fleet.ModePaused || s.untried {
		standing.Tried, standing.Online, standing.Configuration = false, false, ""
	}
	return standing
}

func (d *daemons) Version(fleet.DeviceID) fleet.Version { return fleet.Version{} }

// set changes how a device is and has it planned.
func (d *daemons) set(id fleet.DeviceID, do func(*site)) {
	do(d.sites[id])
	d.pass(id)
	d.runner.DeviceChanged(id)
	d.run()
}

func (d *daemons) changed() {
	d.runner.Wake()
	d.run()
}

func (d *daemons) having(key, value string) (n int) {
	for _, s := range d.sites {
		if s.has[key] == value {
			n++
		}
	}
	return n
}

func (d *daemons) newest() fleet.Rollout {
	if len(d.store.rollouts) == 0 {
		return fleet.Rollout{}
	}
	r, err := d.runner.Rollout(context.Background(), int64(len(d.store.rollouts)))
	if err != nil {
		d.t.Fatalf("%v", err)
	}
	return r
}

// is fails unless a rollout has a status.
func (d *daemons) is(id int64, want fleet.RolloutStatus) {
	if got := d.store.rollouts[id-1]; got.Status != want {
		d.t.Fatalf("rollout %d is %s: %s (%s); want %s", id, got.Status, got.Reason, got.Next, want)
	}
}

// arrived tells which device has not got what the newest generation wants.
func (d *daemons) arrived() error {
	for _, id := range d.all {
		s := d.sites[id]
		want := map[string]string{"folders.own": "own"}
		for _, t := range d.store.current().TemplatesOf(id) {
			want[t.Key] = t.Text
			if t.Op == fleet.OpRemove {
				want[t.Key] = ""
			}
		}
		for key, value := range s.has {
			if value != want[key] {
				return fmt.Errorf("%s has %q at %s, want %q; it waits for %+v", id.Short(), value, key, want[key], s.pass.Waiting)
			}
		}
		for key, value := range want {
			if s.has[key] != value {
				return fmt.Errorf("%s has %q at %s, want %q; it waits for %+v", id.Short(), s.has[key], key, value, s.pass.Waiting)
			}
		}
	}
	return nil
}

// words is a program language of one word: `devices` is their number with the tag x, `device` the tags of one's own,
// `vars` one's own vars, and `access` an address for the API where there are any.
type words struct{ runs *int }

func (w words) Evaluate(_ context.Context, text string, in template.Input) (template.Result, error) {
	if w.runs != nil {
		*w.runs++
	}
	switch {
	case strings.HasPrefix(text, "{"):
		value, err := stconfig.Parse([]byte(text))
		return template.Result{Language: template.HJSON, Value: value}, err
	case text == "broken":
		return template.Result{}, errors.New("broken")
	case text == "vars":
		return template.Result{Language: template.Starlark, Value: stconfig.Text(string(in.Device.Vars))}, nil
	case text == "access":
		return template.Result{Value: stconfig.Obj(stconfig.Member{Name: "address",
			Value: stconfig.Text(string(in.Device.Vars))})}, nil
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

func wantCode(t *testing.T, err error, want fleet.Code) {
	t.Helper()
	if fleet.CodeOf(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

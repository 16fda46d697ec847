package rollout

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// daemons are simulated devices with what brings them where their templates ask. A template asks for its key to be there,
// and for nothing else.
type daemons struct {
	quietFleet
	t     *testing.T
	o     Options
	store *memoryStore
	all   []fleet.DeviceID
	pace  time.Duration // that bringing one device takes, one after the other; 0: all at once

	waking sync.WaitGroup
	mu     sync.Mutex // guards the rest
	runner *Runner
	sites  map[fleet.DeviceID]*site
	apply  func() error // instead of what an apply does
	tries  int          // how often
}

// site is one device.
type site struct {
	has       map[string]bool // the keys that are there; true: Muster brought them
	away      bool
	idle      bool       // nobody brings it anywhere
	mode      fleet.Mode // on when empty; one that is paused is not watched
	untried   bool       // nobody knows yet whether it can be reached: Muster began to watch it just now
	state     fleet.Configuration
	waiting   []plan.Change
	consented []string
}

// newDaemons has n devices with the tag "all", and templates from 1 on for these keys. Every device has the tag that a
// key is named with, and what it asks for: "folders.own@own".
func newDaemons(t *testing.T, n int, o Options, keys ...string) *daemons {
	t.Helper()
	first := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}
	d := &daemons{t: t, o: o, store: &memoryStore{history: []*fleet.Registry{first}, holds: map[fleet.DeviceID]fleet.Hold{}}, sites: map[fleet.DeviceID]*site{}}
	tags, has := []fleet.Tag{"all"}, map[string]bool{}
	for i, key := range keys {
		key, tag, tagged := strings.Cut(key, "@")
		made := fleet.TaggedTemplate{Template: fleet.Template{ID: int64(i + 1), Op: fleet.OpSet, Key: key, Text: "{}",
			Reads: fleet.Inputs{Known: true}}}
		if tagged {
			made.Tags, tags, has[key] = []fleet.Tag{fleet.Tag(tag)}, append(tags, fleet.Tag(tag)), true
		}
		first.Templates = append(first.Templates, made)
	}
	for i := range n {
		id := deviceN(i)
		first.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id, CreatedAt: t0}, Tags: tags}
		d.sites[id], d.all = &site{has: maps.Clone(has), state: fleet.ConfigInSync}, append(d.all, id)
	}
	return d
}

// run starts a Runner on what is kept, and gives what stops it.
func (d *daemons) run() (stop func()) {
	d.t.Helper()
	d.o.Store, d.o.Fleet, d.o.Evaluator, d.o.DigestKey = d.store, d, &counting{}, []byte("k")
	r := New(d.o)
	if err := r.Load(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	d.runner = r
	d.mu.Unlock()
	ctx, cancel := context.WithCancel(d.t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) })
	return func() { cancel(); running.Wait() }
}

// after lets simulated time pass.
func after(d time.Duration) { <-time.After(d); synctest.Wait() }

// becomes waits until a rollout has a status.
func (d *daemons) becomes(id int64, want fleet.RolloutStatus, within time.Duration) {
	d.t.Helper()
	var got fleet.Rollout
	for until := time.Now().Add(within); time.Now().Before(until); {
		after(time.Second)
		var err error
		if got, err = d.runner.Rollout(d.t.Context(), id); err == nil && got.Status == want {
			return
		}
	}
	d.t.Fatalf("rollout %d is %s after %v: %s (%s); want %s", id, got.Status, within, got.Reason, got.Next, want)
}

// settled has the Runner decide what was committed, and everybody looked at.
func (d *daemons) settled() {
	d.runner.Wake()
	after(time.Second)
	d.look(d.all...)
	after(10 * time.Second)
}

func (d *daemons) away(n int, away bool) {
	d.mu.Lock()
	d.sites[deviceN(n)].away = away
	d.mu.Unlock()
	d.look(deviceN(n))
	d.runner.Notice(deviceN(n))
}

// mode sets how far Muster may go with some devices.
func (d *daemons) mode(mode fleet.Mode, ids ...fleet.DeviceID) {
	d.mu.Lock()
	for _, id := range ids {
		d.sites[id].mode = mode
	}
	d.mu.Unlock()
	for _, id := range ids {
		d.runner.Notice(id)
	}
}

// resumes has some devices watched again. It is not known whether they can be reached before they are contacted.
func (d *daemons) resumes(ids ...fleet.DeviceID) {
	d.mu.Lock()
	for _, id := range ids {
		d.sites[id].untried = true
	}
	d.mu.Unlock()
	d.mode(fleet.ModeOn, ids...)
}

func (d *daemons) contacted(ids ...fleet.DeviceID) {
	d.mu.Lock()
	for _, id := range ids {
		d.sites[id].untried = false
	}
	d.mu.Unlock()
	for _, id := range ids {
		d.look(id)
		d.runner.Notice(id)
	}
}

// having are the devices that have a key.
func (d *daemons) having(key string) (having int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sites {
		if _, has := s.has[key]; has {
			having++
		}
	}
	return having
}

func (d *daemons) Standing(id fleet.DeviceID) Standing {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sites[id]
	stands := Standing{Tried: true, Online: !s.away, Mode: cmp.Or(s.mode, fleet.ModeOn), Configuration: s.state, Digest: s.digest(), Summarised: true}
	if !s.watched() {
		stands.Tried, stands.Online, stands.Configuration = false, false, ""
	}
	return stands
}

func (s *site) watched() bool { return s.mode != fleet.ModePaused && !s.untried }

func (s *site) digest() string { return fmt.Sprint(slices.Sorted(maps.Keys(s.has))) }

func (d *daemons) Waiting(id fleet.DeviceID) (wishes []plan.Wish) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.sites[id].waiting {
		wishes = append(wishes, c.Wish())
	}
	return wishes
}

func (d *daemons) Plan(ctx context.Context, id fleet.DeviceID) (plan.Plan, error) {
	current, err := d.store.Registry(ctx)
	if err != nil {
		return plan.Plan{}, err
	}
	admission, err := d.store.Admission(ctx)
	if err != nil {
		return plan.Plan{}, err
	}
	admitted := admission.For(id, current)
	wanted, held := map[string]bool{}, d.runner.HoldAll(id)
	for _, t := range admitted.TemplatesOf(id) {
		wanted[t.Key] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sites[id]
	made := plan.Plan{Device: id, Generation: admitted.Generation, Observed: s.digest()}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if _, has := s.has[key]; !has {
			made.Changes = append(made.Changes, plan.Change{Key: d.key(key), To: stconfig.Obj(), Class: plan.Free})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.has)) {
		if s.has[key] && !wanted[key] {
			made.Changes = append(made.Changes, plan.Change{Key: d.key(key), From: stconfig.Obj(), Returns: true, Class: plan.Free})
		}
	}
	made.Digest = fmt.Sprint(made.Generation, made.Observed, held)
	for i := range made.Changes {
		switch c := &made.Changes[i]; {
		case takesAway(*c):
			c.Class, c.Reason = plan.Held, "a folder would be taken away"
		case held != "":
			c.Class, c.Reason = plan.Held, held
		}
	}
	return made, nil
}

func (d *daemons) key(text string) stconfig.Key {
	key, err := stconfig.ParseKey(text)
	if err != nil {
		d.t.Error(err)
	}
	return key
}

// Wake has devices looked at: what their plans have to send is sent.
func (d *daemons) Wake(ids []fleet.DeviceID) {
	if d.pace == 0 {
		d.look(ids...)
		return
	}
	d.waking.Go(func() {
		for _, id := range ids {
			select {
			case <-d.t.Context().Done():
				return
			case <-time.After(d.pace):
				d.look(id)
			}
		}
	})
}

func (d *daemons) look(ids ...fleet.DeviceID) {
	for _, id := range ids {
		made, err := d.Plan(context.Background(), id)
		if err != nil {
			d.t.Error(err)
			continue
		}
		d.mu.Lock()
		s := d.sites[id]
		idle, was, waited := s.idle || !s.watched(), s.state, len(s.waiting)
		sent := !idle && !s.away && s.bring(made.Sendable())
		if !idle {
			s.waiting = slices.DeleteFunc(made.Changes, plan.Change.Sendable)
			s.state = fleet.ConfigInSync
			if len(s.waiting) > 0 {
				s.state = fleet.ConfigHeld
			}
		}
		news := sent || s.state != was || len(s.waiting) != waited
		d.mu.Unlock()
		if sent {
			d.runner.Applied(fleet.Intent{Device: id, Generation: made.Generation, Outcome: fleet.OutcomeApplied})
		}
		if news {
			d.runner.Notice(id)
		}
	}
}

func (s *site) bring(changes []plan.Change) (sent bool) {
	for _, c := range changes {
		if key := c.Key.String(); c.To.Exists() {
			s.has[key] = true
		} else {
			delete(s.has, key)
		}
	}
	return len(changes) > 0
}

func (d *daemons) Apply(ctx context.Context, id fleet.DeviceID, digest string, consent, _ []string) error {
	made, err := d.Plan(ctx, id)
	if err != nil || made.Digest != digest {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "the plan is another by now"}
	}
	d.mu.Lock()
	s := d.sites[id]
	if d.apply != nil {
		defer d.mu.Unlock()
		d.tries++
		return d.apply()
	}
	s.consented = append(s.consented, consent...)
	s.bring(slices.DeleteFunc(made.Changes, func(c plan.Change) bool { return !slices.Contains(consent, c.Key.String()) }))
	d.mu.Unlock()
	d.look(id)
	return nil
}

// report has every device tell its status once a minute, one after the other, until stop.
func (d *daemons) report() (stop func()) {
	ctx, cancel := context.WithCancel(d.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Minute / time.Duration(len(d.all))):
				id := d.all[n%len(d.all)]
				d.look(id)
				d.runner.Notice(id)
			}
		}
	})
	return func() { cancel(); running.Wait() }
}

package model_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
)

// sequence is one daemon of its own with a person at it, under a Muster that other sequences use too, and what the
// rules say of it.
type sequence struct {
	rt     *rapid.T
	m      *muster
	farm   *stsim.Farm
	person person
	id     string
	tags   [2]string // the device has the first one always, the second one from time to time

	rules    *rules
	defaults map[string]string
	saved    map[int]*saved // templates, by their place in kinds
	tagged   bool           // with the second tag

	value    stconfig.Value // of the daemon, when it last came to rest
	doc      flat
	want     flat
	plan     api.Plan
	state    fleet.Configuration // when Muster came to rest
	since    int64               // the generation of the last change of a template or tag
	history  []stconfig.Value
	answered map[string]bool // held keys that a person answered, while nothing about them changed
	unsaved  []string        // members that the daemon had in memory only when it was started anew
	values   int             // for values that were never there
	initial  stconfig.Value
	phrases  []string          // that the daemon may have as its password
	hashed   map[string]string // phrases by the hashes that the daemon made of them
}

// saved is a template of a sequence.
type saved struct {
	id      int64
	variant int
	tag     int
}

// What was done, for the test's log.
var sequences, actsDone, goneOn atomic.Int64

func newSequence(rt *rapid.T, m *muster) *sequence {
	n := sequences.Add(1)
	version := rapid.SampledFrom([]stsim.Version{stsim.V1, stsim.V2}).Draw(rt, "version")
	address := firstAddress + int(n)
	farm, err := stsim.New(stsim.Options{Versions: []stsim.Version{version}, Folders: -1, Quiet: true,
		Network: 1 + address/ofNetwork%networks, First: address % ofNetwork, Port: apiPort,
		Timing: quick})
	if err == nil {
		err = farm.Start()
	}
	if err != nil {
		rt.Fatal(err)
	}
	d := farm.Daemon(0)
	s := &sequence{rt: rt, m: m, farm: farm, id: string(d.ID()), saved: map[int]*saved{}, answered: map[string]bool{},
		phrases: slices.Clone(phrases), hashed: map[string]string{},
		person: person{d, &http.Client{Timeout: waitLimit, Transport: &http.Transport{DisableKeepAlives: true}}},
		tags:   [2]string{fmt.Sprint("sequence ", n), fmt.Sprint("sequence ", n, " too")}}
	s.begin()
	return s
}

// Each daemon has an address of its own, also among those of other processes that make sequences at the same time, and
// a port that the kernel gives no program: while it is down, none may take its place.
const networks, ofNetwork, apiPort = 250, 60000, 18384

var firstAddress = rand.IntN(networks * ofNetwork)

// quick are daemons that need no time to start.
var quick = stsim.Timing{Drain: time.Millisecond, Backoff: time.Millisecond, Down: time.Millisecond,
	Scan: time.Millisecond}

// begin gives the daemon what its person has, and registers it.
func (s *sequence) begin() {
	d := s.person.daemon
	if err := d.Edit(func(doc stconfig.Value) stconfig.Value {
		device := doc.Get("defaults").Get("device").With("deviceID", stconfig.Text(string(storage))).
			With("name", stconfig.Text("NAS"))
		doc = doc.With("devices", stconfig.List(append(slices.Collect(doc.Get("devices").Values()), device)...))
		folder := s.folder(doc, "docs", "Documents")
		return doc.With("folders", stconfig.List(withShare(folder, string(storage), ""), s.folder(doc, patterned, "Notes")))
	}); err != nil {
		s.rt.Fatal(err)
	}
	if err := d.SetIgnores(patterned, "*.mine"); err != nil {
		s.rt.Fatal(err)
	}
	key, host, port := d.APIKey(), d.Host(), int64(d.Port())
	s.must(func(c *client.Client) error {
		_, _, err := c.PutDevice(ctx, s.id, api.PutDevice{APIKey: &key, APIAddress: &host, APIPort: &port})
		return err
	})
	s.must(func(c *client.Client) error { _, err := c.TagDevice(ctx, s.id, s.tags[0]); return err })
	own := s.user("own")
	s.person.request(s.rt, http.MethodPatch, configPath+"/gui", own)
	s.value = s.person.has()
	s.initial, s.doc, s.defaults = s.value, s.project(s.value), defaultsOf(s.value)
	s.rules = newRules(s.doc)
	s.awaitIdle()
}

// end forgets the device and its templates, and stops the daemon.
func (s *sequence) end() {
	_, _ = call(s.m, func(c *client.Client) (struct{}, error) {
		for _, t := range s.saved {
			_ = c.DeleteTemplate(ctx, t.id)
		}
		return struct{}{}, c.DeleteDevice(ctx, s.id)
	})
	_ = s.farm.Close()
}

func (s *sequence) folder(doc stconfig.Value, id, label string) stconfig.Value {
	own := stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(s.person.daemon.ID()))})
	return doc.Get("defaults").Get("folder").With("id", stconfig.Text(id)).With("path", stconfig.Text("~/"+id)).
		With("label", stconfig.Text(label)).With("devices", stconfig.List(own))
}

func withShare(folder stconfig.Value, id, introducer string) stconfig.Value {
	share := stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(id)},
		stconfig.Member{Name: "introducedBy", Value: stconfig.Text(introducer)},
		stconfig.Member{Name: "encryptionPassword", Value: stconfig.Text("")})
	return folder.With("devices", stconfig.List(append(slices.Collect(folder.Get("devices").Values()), share)...))
}

func (s *sequence) must(request func(c *client.Client) error) {
	if _, err := call(s.m, func(c *client.Client) (struct{}, error) { return struct{}{}, request(c) }); err != nil {
		s.rt.Fatal(err)
	}
}

// accepted notes the generation of a change of templates or tags.
func (s *sequence) accepted() {
	s.must(func(c *client.Client) error {
		overview, err := c.Overview(ctx)
		s.since = overview.Generation
		return err
	})
}

// folded is what the templates that apply make of the base.
func (s *sequence) folded() *fold {
	f := newFold(s.rules.base, s.defaults, stconfig.UnsharesUntrusted(s.value))
	f.bringAlong()
	var order []int
	for at, t := range s.saved {
		if t.tag == 0 || s.tagged {
			order = append(order, at)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return int(kinds[a].priority - kinds[b].priority) })
	for _, at := range order {
		kinds[at].says(f, s.saved[at].variant)
		f.bringAlong()
	}
	f.finish()
	return f
}

// change is what a person or an introducer does at the daemon: another document.
func (s *sequence) change(to stconfig.Value) {
	to = unignored(to)
	s.person.save(s.rt, s.value, to)
	after := s.project(to)
	for _, place := range differences(s.doc, after) {
		s.reopen(place)
	}
	s.rules.edited(s.doc, after, func(place string) bool { return s.folded().asked[place] })
	patterns := !sameAt(patternsPlace, s.doc, after)
	s.doc, s.value = after, to
	if patterns {
		s.look()
	}
	s.awaitIdle()
	s.record()
}

// reopen allows a question that was answered, because something about it changed.
func (s *sequence) reopen(place string) {
	for key := range s.answered {
		if key == place || within(key, place) || within(place, key) {
			delete(s.answered, key)
		}
	}
}

// awaitIdle waits until Muster rests, takes what it wrote as Muster's, and compares.
func (s *sequence) awaitIdle() {
	s.waitRest()
	s.value = s.person.has()
	after := s.project(s.value)
	s.loses(after)
	removes := s.folded().revoked
	s.noVanished(s.doc, after, removes)
	s.rules.remove(s.doc, after, removes)
	s.rules.written(s.doc, after)
	s.rules.lapse(s.folded().asked)
	s.doc = after
	if wrong := s.check(); len(wrong) > 0 {
		s.rt.Fatalf("%s%s", strings.Join(wrong, "\n"), s.told())
	}
	s.history = append(s.history, s.value)
}

// notSaved are the members that the daemon has in its memory only: it loses them when it starts anew. What Muster took
// away by then is in neither, and not lost.
func (s *sequence) notSaved() (members []string) {
	disk, memory := s.project(s.person.daemon.Saved()), s.project(s.person.daemon.Config())
	for place := range s.doc {
		if isMember(place) && disk[place] == "" && memory[place] != "" {
			members = append(members, place)
		}
	}
	return members
}

// loses forgets the members of Muster's that the daemon had not saved, where no template asks for them any more: none
// took them away. What Muster wrote inside a folder that it made is known still.
func (s *sequence) loses(after flat) {
	for _, member := range s.unsaved {
		if _, theirs := s.rules.base[member]; theirs || after[member] != "" || s.rules.mine[parent(member)] {
			continue
		}
		s.rules.forget(member)
		maps.DeleteFunc(s.doc, func(place, _ string) bool { return place == member || within(place, member) })
	}
	s.unsaved = nil
}

const (
	waitLimit = 90 * time.Second
	waitEvery = 200 * time.Millisecond
)

// waitRest waits until Muster has read what the daemon has, and has nothing to send.
func (s *sequence) waitRest() {
	s.poll(func() string {
		missing, err := call(s.m, s.missing)
		if err != nil {
			return err.Error()
		}
		return missing
	})
}

// poll waits until nothing is missing.
func (s *sequence) poll(missing func() string) {
	deadline := time.NewTimer(waitLimit)
	defer deadline.Stop()
	tick := time.NewTicker(waitEvery)
	defer tick.Stop()
	for what := missing(); what != ""; what = missing() {
		select {
		case <-tick.C:
		case <-deadline.C:
			s.rt.Fatalf("after %v: %s%s", waitLimit, what, s.told())
		}
	}
}

// missing is what Muster has not done yet. That it has read what the daemon has comes first: what it tells after that
// is not of an earlier configuration.
func (s *sequence) missing(c *client.Client) (string, error) {
	if !s.person.daemon.IsRead() {
		return "the daemon's configuration is not read yet", nil
	}
	state, err := c.DeviceState(ctx, s.id)
	if err != nil {
		return "", err
	}
	switch fleet.Configuration(state.Configuration) {
	case fleet.ConfigInSync, fleet.ConfigUnmanaged, fleet.ConfigHeld:
	case fleet.ConfigContended, fleet.ConfigUnstable: // a person says go on
		plan, err := c.DevicePlan(ctx, s.id)
		if err == nil {
			_, err = c.ApplyPlan(ctx, s.id, api.ApplyPlan{Digest: &plan.Digest})
		}
		goneOn.Add(1)
		return "the device was " + state.Configuration + ": " + state.Reason, err
	default:
		if !isBroughtBackOften(state) {
			return "the device is " + state.Connection + " and " + state.Configuration + ": " + state.Reason, nil
		}
	}
	if what, err := s.unshown(c); what != "" || err != nil { // or the plan may be of what the daemon had before
		return what, err
	}
	if s.plan, err = c.DevicePlan(ctx, s.id); err != nil {
		return "", err
	}
	if s.plan.Generation < s.since {
		return "the plan is of an earlier generation", nil
	}
	held := false
	for _, p := range s.plan.Changes {
		switch p.Class {
		case "held":
			held = true
		case "skipped":
			if isUnread(p) {
				return "not read yet: " + p.Key, nil
			}
		default:
			return "not sent yet: " + p.Class + " " + p.Key, nil
		}
	}
	if isHeld := state.Configuration == string(fleet.ConfigHeld); held != isHeld && !isBroughtBackOften(state) {
		return "the state says " + state.Configuration + "; " + fmt.Sprint(s.plan.Changes), nil
	}
	s.state = fleet.Configuration(state.Configuration)
	return "", nil
}

// isBroughtBackOften tells a device that is failed only because a person puts a revoked one back again and again.
// Muster takes that off each time.
func isBroughtBackOften(state api.DeviceState) bool {
	return state.Configuration == string(fleet.ConfigFailed) && state.BroughtBack != "" &&
		strings.Contains(state.BroughtBack, state.Reason)
}

// unshown is where Muster shows another configuration than the daemon has.
func (s *sequence) unshown(c *client.Client) (string, error) {
	read, err := c.DeviceConfig(ctx, s.id)
	if err != nil {
		return "", err
	}
	shown, err := stconfig.Parse(read)
	if err != nil {
		return "", err
	}
	now := s.person.daemon.Config()
	shown = shown.With("gui", shown.Get("gui").With("password", now.Get("gui").Get("password"))) // it is masked
	places := differences(s.project(shown), s.project(now))
	if len(places) > 0 || !shown.Get("version").Equal(now.Get("version")) {
		return fmt.Sprint("not shown yet: ", places), nil
	}
	return "", nil
}

// isUnread tells a change of what could not be read because the daemon was just down.
func isUnread(c api.PlannedChange) bool { return strings.Contains(c.Reason, "could not be read") }

// record has Muster look at the device once more, as a person does who applies a plan with nothing in it: when that is
// answered, what people edited is recorded. A device is in sync only after that.
func (s *sequence) record() {
	if s.state != fleet.ConfigInSync {
		s.apply(api.ApplyPlan{})
	}
}

// look has Muster read the ignore patterns, of which no event tells: a person looks at the plan and applies it.
func (s *sequence) look() {
	s.poll(func() string {
		_, err := call(s.m, func(c *client.Client) (api.AppliedPlan, error) {
			plan, err := c.DevicePlan(ctx, s.id)
			if err != nil {
				return api.AppliedPlan{}, err
			}
			return c.ApplyPlan(ctx, s.id, api.ApplyPlan{Digest: &plan.Digest})
		})
		if err != nil {
			return err.Error()
		}
		return ""
	})
}

// apply sends a person's answers. The plan may be another by now, of a later generation: the questions are the same.
// Those that a request answered which then failed, because the daemon's API restarted, are not answered again.
func (s *sequence) apply(request api.ApplyPlan) {
	answers := len(request.Consent)+len(request.Keep) > 0
	s.poll(func() string {
		request.Digest = &s.plan.Digest
		_, err := call(s.m, func(c *client.Client) (api.AppliedPlan, error) { return c.ApplyPlan(ctx, s.id, request) })
		if err == nil {
			return ""
		}
		switch fleet.CodeOf(err) {
		case fleet.CodeConflict, fleet.CodeUnavailable, fleet.CodeNotFound: // Muster has just been started
			s.waitRest()
			request.Consent, request.Keep = s.held(request.Consent), s.held(request.Keep)
			if answers && len(request.Consent)+len(request.Keep) == 0 {
				return ""
			}
		default:
			s.rt.Fatalf("%v%s", err, s.told())
		}
		return err.Error()
	})
}

// held are those of the keys that wait for an answer.
func (s *sequence) held(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		return !slices.ContainsFunc(s.plan.Changes, func(c api.PlannedChange) bool {
			return c.Class == "held" && c.Key == key
		})
	})
}

// told is the state and the plan, for a failure.
func (s *sequence) told() string {
	told, _ := call(s.m, func(c *client.Client) (string, error) {
		state, err := c.DeviceState(ctx, s.id)
		plan, other := c.DevicePlan(ctx, s.id)
		var b strings.Builder
		fmt.Fprintf(&b, "\n%.7s %s, %s: %s %v %v", s.id, state.Connection, state.Configuration, state.Reason, err, other)
		fmt.Fprintf(&b, "\nplanned from generation %d, of at least %d", plan.Generation, s.since)
		for _, place := range differences(s.doc, s.project(s.person.has())) {
			fmt.Fprintf(&b, "\nby now %s is another", place)
		}
		for _, p := range plan.Changes {
			fmt.Fprintf(&b, "\n  %s %s %.80s -> %.80s returns %v: %s", p.Class, p.Key, p.From, p.To, p.Returns, p.Reason)
		}
		return b.String(), nil
	})
	return told
}

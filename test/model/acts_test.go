package model_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"pgregory.net/rapid"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
)

// acts are what may happen, several times where it is to happen often.
var acts = []struct {
	name string
	do   func(s *sequence)
}{
	{"template", (*sequence).changesTemplate}, {"template again", (*sequence).changesTemplate},
	{"template once more", (*sequence).changesTemplate}, {"another template", (*sequence).changesTemplate},
	{"edit", (*sequence).edits}, {"edit again", (*sequence).edits}, {"pause", (*sequence).pauses},
	{"user", (*sequence).changesUser},
	{"member", (*sequence).movesMember}, {"share", (*sequence).movesShare}, {"put back", (*sequence).putsBack},
	{"put back", (*sequence).putsBack}, {"introducer", (*sequence).introduces}, {"upgrade", (*sequence).upgrades},
	{"tag", (*sequence).tags2}, {"orders", (*sequence).reorders}, {"ignore", (*sequence).ignores},
	{"full disk", func(s *sequence) { s.faulty(stsim.Faults{DiskFull: true}) }},
	{"full disk and lost answer", func(s *sequence) { s.faulty(stsim.Faults{DiskFull: true, LoseAnswer: true}) }},
	{"lost answer", func(s *sequence) { s.faulty(stsim.Faults{LoseAnswer: true}) }},
	{"refused write", func(s *sequence) { s.faulty(stsim.Faults{WriteStatus: 500}) }},
	{"crash", (*sequence).crashes},
}

func (s *sequence) act() {
	actsDone.Add(1)
	names := make([]string, len(acts))
	for i, a := range acts {
		names[i] = a.name
	}
	name := rapid.SampledFrom(names).Draw(s.rt, "act")
	acts[slices.Index(names, name)].do(s)
	s.answer()
}

// changesTemplate saves one, saves it with another text, or deletes it.
func (s *sequence) changesTemplate() {
	s.templateChange()
	s.awaitIdle()
}

func (s *sequence) templateChange() {
	at := rapid.IntRange(0, len(kinds)-1).Draw(s.rt, "template")
	if have := slices.Sorted(maps.Keys(s.saved)); len(have) > 0 && rapid.Bool().Draw(s.rt, "one that is there") {
		at = rapid.SampledFrom(have).Draw(s.rt, "template")
	}
	t := s.saved[at]
	switch {
	case t == nil:
		s.saves(at, saved{variant: rapid.IntRange(0, 1).Draw(s.rt, "variant"), tag: rapid.IntRange(0, 1).Draw(s.rt, "tag")})
	case rapid.Bool().Draw(s.rt, "deletes"):
		s.deletes(at)
	default:
		t.variant = 1 - t.variant
		s.must(func(c *client.Client) error { _, err := c.PutTemplate(ctx, t.id, put(at, t.variant)); return err })
	}
	s.accepted()
}

func put(at, variant int) api.PutTemplate {
	k := kinds[at]
	label := fmt.Sprint("template ", k.priority)
	return api.PutTemplate{Label: &label, Priority: &k.priority, Op: &k.op, Key: &k.key, Template: &k.variants[variant]}
}

func (s *sequence) saves(at int, t saved) {
	s.must(func(c *client.Client) error {
		made, err := c.CreateTemplate(ctx, put(at, t.variant))
		if err == nil {
			_, err = c.TagTemplate(ctx, made.ID, s.tags[t.tag])
		}
		t.id = made.ID
		return err
	})
	s.saved[at] = &t
}

func (s *sequence) deletes(at int) {
	s.must(func(c *client.Client) error { return c.DeleteTemplate(ctx, s.saved[at].id) })
	delete(s.saved, at)
}

// tags2 gives the device the second tag, or takes it away.
func (s *sequence) tags2() {
	s.tagged = !s.tagged
	s.must(func(c *client.Client) (err error) {
		if s.tagged {
			_, err = c.TagDevice(ctx, s.id, s.tags[1])
		} else {
			_, err = c.UntagDevice(ctx, s.id, s.tags[1])
		}
		return err
	})
	s.accepted()
	s.awaitIdle()
}

// fresh is a value that was never there.
func (s *sequence) fresh(place string) stconfig.Value {
	s.values++
	value := stconfig.Literal(fmt.Sprint(1000 + s.values))
	switch {
	case strings.HasSuffix(place, ".label"), strings.HasSuffix(place, ".name"):
		value = stconfig.Text(value.Str())
	case place == patternsPlace:
		value = stconfig.List(stconfig.Text("*." + value.Str()))
	}
	return value
}

// places are those of the daemon that are wanted, sorted.
func (s *sequence) places(wanted func(place string) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.doc)), func(place string) bool { return !wanted(place) })
}

// edits sets a leaf.
func (s *sequence) edits() {
	places := s.places(func(place string) bool {
		return !isMember(place) && !strings.HasPrefix(place, "gui.") && !strings.HasSuffix(place, ".paused") &&
			!strings.HasSuffix(place, ".untrusted") && !strings.HasPrefix(place, ignoredDevices)
	})
	place := rapid.SampledFrom(places).Draw(s.rt, "place")
	s.change(stconfig.Replace(s.value, keyOf(place), s.fresh(place)))
}

// changesUser gives the daemon another user, with a password.
func (s *sequence) changesUser() {
	gui := s.value.Get("gui")
	for name, value := range s.user(fmt.Sprint("user ", s.fresh("").Str())).Members() {
		gui = gui.With(name, value)
	}
	s.change(s.value.With("gui", gui))
}

// pauses pauses a folder, or lets it go on, and maybe back.
func (s *sequence) pauses() {
	places := s.places(func(place string) bool { return strings.HasSuffix(place, ".paused") })
	if len(places) == 0 {
		return
	}
	key := keyOf(rapid.SampledFrom(places).Draw(s.rt, "folder"))
	for range rapid.IntRange(1, 2).Draw(s.rt, "times") {
		if stconfig.Lookup(s.value, key).Exists() {
			s.change(stconfig.Replace(s.value, key, stconfig.Boolean(!stconfig.Lookup(s.value, key).IsTrue())))
		}
	}
}

// movesMember adds a folder or device by hand, or takes it away.
func (s *sequence) movesMember() {
	place := rapid.SampledFrom([]string{"folders.made", "folders.docs", "folders.hand", "devices." + string(nora),
		"devices." + string(olga), "devices." + string(storage)}).Draw(s.rt, "member")
	key := keyOf(place)
	list, id, _ := strings.Cut(place, ".")
	name := s.fresh("x.label")
	switch {
	case s.doc[place] != "":
		s.change(stconfig.Replace(s.value, key, stconfig.Value{}))
	case list == "folders":
		s.change(stconfig.Replace(s.value, key, s.folder(s.value, id, name.Str())))
	default:
		device := s.value.Get("defaults").Get("device").With("deviceID", stconfig.Text(id)).With("name", name)
		s.change(stconfig.Replace(s.value, key, device))
	}
}

// movesShare shares a folder with a device that is there, or no longer.
func (s *sequence) movesShare() {
	folder := rapid.SampledFrom([]string{"made", "docs", "hand"}).Draw(s.rt, "folder")
	id := rapid.SampledFrom([]fleet.DeviceID{nora, olga, storage, otto}).Draw(s.rt, "device")
	if s.doc["folders."+folder] == "" || s.doc["devices."+string(id)] == "" {
		return
	}
	if share := shareOf(folder, id); s.doc[share] != "" {
		s.change(stconfig.Replace(s.value, keyOf(share), stconfig.Value{}))
		return
	}
	if s.doc["devices."+string(id)+".untrusted"] == "true" {
		return // newer daemons do not take it
	}
	s.change(s.sharing(s.value, folder, id, ""))
}

func (s *sequence) sharing(doc stconfig.Value, folder string, id fleet.DeviceID, introducer string) stconfig.Value {
	key := keyOf("folders." + folder)
	return stconfig.Replace(doc, key, withShare(stconfig.Lookup(doc, key), string(id), introducer))
}

// introduces is an introducer that adds a device and shares a folder with it.
func (s *sequence) introduces() {
	folder := rapid.SampledFrom([]string{"made", "docs", "hand"}).Draw(s.rt, "folder")
	id := rapid.SampledFrom([]fleet.DeviceID{nora, olga, otto}).Draw(s.rt, "device")
	if s.doc["folders."+folder] != "" && s.doc["devices."+string(storage)] != "" {
		s.introduced(folder, id)
	}
}

// introduced is what an introducer does.
func (s *sequence) introduced(folder string, id fleet.DeviceID) {
	doc := s.value
	if s.doc["devices."+string(id)] == "" {
		device := doc.Get("defaults").Get("device").With("deviceID", stconfig.Text(string(id))).
			With("introducedBy", stconfig.Text(string(storage)))
		doc = stconfig.Replace(doc, keyOf("devices."+string(id)), device)
	}
	if s.doc[shareOf(folder, id)] == "" {
		doc = s.sharing(doc, folder, id, string(storage))
	}
	s.change(doc)
}

// ignores has a person ignore a device that is not there, or no longer.
func (s *sequence) ignores() {
	id := string(rapid.SampledFrom([]fleet.DeviceID{nora, olga, otto}).Draw(s.rt, "device"))
	if s.doc["devices."+id] != "" {
		return
	}
	entry := stconfig.Value{}
	if place := ignoredDevices + id; s.doc[place] == "" {
		entry = stconfig.Obj(stconfig.Member{Name: "time", Value: stconfig.Text("2021-01-01T00:00:00Z")},
			stconfig.Member{Name: "deviceID", Value: stconfig.Text(id)},
			stconfig.Member{Name: "name", Value: s.fresh(place + ".name")},
			stconfig.Member{Name: "address", Value: stconfig.Text("")})
	}
	s.change(stconfig.Replace(s.value, keyOf(ignoredDevices+id), entry))
}

// putsBack saves a whole document that was there before.
func (s *sequence) putsBack() {
	old := s.history[rapid.IntRange(0, len(s.history)-1).Draw(s.rt, "document")]
	if old.Get("version").Equal(s.value.Get("version")) {
		// Patterns are not in it, and daemons of version 1 would make a hash of the old hash.
		s.change(old.With("ignores", s.value.Get("ignores")).With("gui", s.value.Get("gui")))
	}
}

// upgrades replaces the daemon's program by the newest.
func (s *sequence) upgrades() {
	d := s.person.daemon
	if d.Version() == stsim.V2 {
		return
	}
	s.restarts(func() error { return d.Upgrade(stsim.V2) })
	for place := range s.doc { // the daemon takes shares in clear from devices that are marked by then
		if id, shared := sharedWith(place); shared && s.doc["devices."+id+".untrusted"] == "true" {
			delete(s.rules.base, place)
		}
	}
	s.awaitIdle()
}

// restarts starts the daemon anew, and waits until Muster knows of it: the version is read once in each run.
func (s *sequence) restarts(start func() error) {
	began := time.Now().Truncate(time.Millisecond)
	s.unsaved = s.notSaved()
	err := start()
	if errors.Is(err, syscall.EADDRINUSE) { // a server that starts has the old socket for a moment, from fork to exec
		s.poll(func() string {
			if err = s.person.daemon.Start(); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	if err != nil {
		s.rt.Fatal(err)
	}
	s.poll(func() string {
		version, err := call(s.m, func(c *client.Client) (api.DeviceVersion, error) { return c.DeviceVersion(ctx, s.id) })
		switch {
		case err != nil:
			return err.Error()
		case version.UpdatedAt.Before(began):
			return "the restart was not noticed"
		}
		return ""
	})
}

// faulty changes a template while the daemon fails in writing, which ends with a restart of the daemon, or without.
func (s *sequence) faulty(f stsim.Faults) {
	d := s.person.daemon
	before := d.Counters().Writes
	d.SetFaults(f)
	s.templateChange()
	s.until(func() bool { return d.Counters().Writes > before })
	d.SetFaults(stsim.Faults{})
	if rapid.Bool().Draw(s.rt, "restarts") {
		s.restarts(func() error {
			d.Stop()
			return d.Start()
		})
	}
	s.awaitIdle()
}

// until waits until something happened, or until Muster rests without.
func (s *sequence) until(happened func() bool) {
	s.poll(func() string {
		if happened() {
			return ""
		}
		missing, err := call(s.m, s.missing)
		if err != nil {
			return err.Error()
		}
		return missing
	})
}

// crashes kills the daemon, or Muster, while a template changes.
func (s *sequence) crashes() {
	s.templateChange()
	if rapid.IntRange(0, 9).Draw(s.rt, "which") == 9 {
		s.m.kill()
	} else {
		s.person.daemon.Crash()
		s.restarts(s.person.daemon.Start)
	}
	s.awaitIdle()
}

// reorders saves all templates anew in another order: the plan is the same. A plan that is asked for right after a
// write may be of the configuration before it, so both are waited for: at rest nothing is left to send.
func (s *sequence) reorders() {
	s.atOnce(func() {
		before := ""
		s.poll(func() string {
			before = s.planned()
			if strings.Contains("\n"+before, "\nfree ") {
				return "at rest, the plan is " + before
			}
			return ""
		})
		order := rapid.Permutation(slices.Sorted(maps.Keys(s.saved))).Draw(s.rt, "order")
		for _, at := range order {
			t := *s.saved[at]
			s.deletes(at)
			s.saved[at] = &t
		}
		for _, at := range order {
			s.saves(at, *s.saved[at])
		}
		s.accepted()
		s.poll(func() string {
			if after := s.planned(); after != before {
				return fmt.Sprintf("in another order the templates make the plan\n%s\nnot\n%s", after, before)
			}
			return ""
		})
	})
}

// atOnce has several templates change while Muster only observes: it acts on none of the states in between. A consent
// that waits for another answer may end meanwhile: its change is not planned for a moment.
func (s *sequence) atOnce(change func()) {
	waited := s.plan.Changes
	s.mode(fleet.ModeObserve)
	change()
	s.mode(fleet.ModeOn)
	s.waitRest()
	s.reopenEnded(waited)
	s.awaitIdle()
}

// reopenEnded allows the questions whose consents ended while they waited for another answer.
func (s *sequence) reopenEnded(waited []api.PlannedChange) {
	for _, c := range s.plan.Changes {
		same := func(was api.PlannedChange) bool { return was.Key == c.Key && waitsForAnother(was) }
		if !waitsForAnother(c) && slices.ContainsFunc(waited, same) {
			delete(s.answered, c.Key)
		}
	}
}

func (s *sequence) mode(mode fleet.Mode) {
	text := string(mode)
	s.must(func(c *client.Client) error {
		_, err := c.PutDeviceSettings(ctx, s.id, api.PutDeviceSettings{Mode: &text})
		return err
	})
}

func (s *sequence) planned() string {
	var plan api.Plan
	s.poll(func() string {
		var err error
		plan, err = call(s.m, func(c *client.Client) (api.Plan, error) { return c.DevicePlan(ctx, s.id) })
		switch {
		case err != nil:
			return err.Error()
		case plan.Generation < s.since:
			return "the plan is of an earlier generation"
		case slices.ContainsFunc(plan.Changes, isUnread):
			return "ignore patterns are not read yet"
		}
		return ""
	})
	var lines []string
	for _, c := range plan.Changes {
		lines = append(lines, fmt.Sprint(c.Class, " ", c.Key, " ", string(c.From), " -> ", string(c.To), " ", c.Returns))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// answer answers each question with yes or with keep, or leaves it open.
func (s *sequence) answer() {
	s.answers(func(key string, returns bool) string {
		if returns && key == passwordPlace { // a hash cannot be written back
			return rapid.SampledFrom([]string{"keep", "leave"}).Draw(s.rt, "answer to "+key)
		}
		if returns {
			return rapid.SampledFrom([]string{"consent", "keep", "leave"}).Draw(s.rt, "answer to "+key)
		}
		return rapid.SampledFrom([]string{"consent", "leave"}).Draw(s.rt, "answer to "+key)
	})
}

func (s *sequence) answers(choose func(key string, returns bool) string) (answered bool) {
	request := api.ApplyPlan{}
	for _, c := range s.plan.Changes {
		if c.Class != "held" {
			continue
		}
		switch choose(c.Key, c.Returns) {
		case "consent":
			request.Consent = append(request.Consent, c.Key)
		case "keep":
			request.Keep = append(request.Keep, c.Key)
		}
	}
	if len(request.Consent)+len(request.Keep) == 0 {
		return false
	}
	s.apply(request)
	for _, key := range request.Keep {
		s.rules.keep(key, s.doc)
	}
	for _, key := range slices.Concat(request.Keep, request.Consent) {
		s.answered[key] = true
	}
	s.awaitIdle()
	return true
}

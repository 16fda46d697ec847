package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// heldFleet has devices with held changes of three templates: one that says the same everywhere, one whose program
// computes a value for each device, and one that spreads devices over its devices.
type heldFleet struct {
	t        *rapid.T
	held     *HeldChanges
	rollouts map[fleet.DeviceID]int64
	wanted   map[fleet.DeviceID]map[string]Change // by key
	texts    map[int64]string                     // of templates
}

const (
	sameTemplate, computedTemplate, spreadTemplate = 1, 2, 3
)

func fleetDevice(i int) fleet.DeviceID { return fleet.DeviceIDOf([32]byte{byte(i + 1)}) }

func (f *heldFleet) grouping() Grouping {
	templates := []fleet.Template{
		{ID: sameTemplate, Text: f.texts[sameTemplate], Reads: fleet.Inputs{Known: true}},
		{ID: computedTemplate, Text: f.texts[computedTemplate], Reads: fleet.Inputs{Known: true, Device: "label"}},
		{ID: spreadTemplate, Text: f.texts[spreadTemplate], Reads: fleet.Inputs{Known: true, Sharing: true}},
	}
	return Grouping{Key: []byte("key"), Templates: templates, Registered: func(id fleet.DeviceID) bool {
		return slices.Contains([]fleet.DeviceID{fleetDevice(0), fleetDevice(1), fleetDevice(2), fleetDevice(3)}, id)
	}}
}

// plans gives a device another plan: some held changes, or none.
func (f *heldFleet) plans(id fleet.DeviceID) {
	wanted, held := map[string]Change{}, []NewlyHeld{}
	change := func(template int64, key string, to stconfig.Value) {
		parsed, err := stconfig.ParseKey(key)
		if err != nil {
			f.t.Fatal(err)
		}
		c := Change{Key: parsed, To: to, Class: Held, Reason: "held", Templates: []int64{template}, send: to}
		wanted[c.Key.String()] = c
		held = append(held, f.grouping().Held(id, c, true))
	}
	pick := func(name string) int { return rapid.IntRange(0, 2).Draw(f.t, name) }
	if n := pick("user"); n > 0 {
		change(sameTemplate, "gui.user", stconfig.Text(fmt.Sprint("user", n)))
	}
	if n := pick("path"); n > 0 {
		change(computedTemplate, "folders.f.path", stconfig.Text(fmt.Sprint("/srv/", n, id[:3])))
	}
	for i := range 4 {
		if pick("introducer") == 0 && fleetDevice(i) != id {
			change(spreadTemplate, "devices."+string(fleetDevice(i)), stconfig.Obj(
				stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(fleetDevice(i)))},
				stconfig.Member{Name: "introducer", Value: stconfig.Boolean(true)}))
		}
	}
	f.wanted[id] = wanted
	f.held.Put(id, held)
}

// equal is the digest by which a member that was not shown uses the answer for its rollout.
func (f *heldFleet) equal(c Change) string { return f.grouping().Equal(c) }

func (f *heldFleet) digest(id fleet.DeviceID, c Change) string {
	return c.ConsentDigest(id, []byte("key"))
}

// A group "+ devices.*" named nobody, and its answer let six additions of four introducers out on devices that were
// never shown.
func TestAnAnswerLetsOutExactlyWhatWasShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &heldFleet{t: t, held: NewHeldChanges(), rollouts: map[fleet.DeviceID]int64{},
			wanted: map[fleet.DeviceID]map[string]Change{}, texts: map[int64]string{}}
		for i := range rapid.IntRange(1, 6).Draw(t, "devices") {
			f.rollouts[fleetDevice(i)] = int64(rapid.IntRange(0, 2).Draw(t, "rollout"))
			f.plans(fleetDevice(i))
		}
		groups := f.held.Groups(f.rollouts)
		f.showsAll(groups)
		if len(groups) == 0 {
			return
		}
		shown := rapid.SampledFrom(groups).Draw(t, "group")
		answer := fleet.GroupAnswer{Digest: shown.Digest, Answer: fleet.AnswerConsent}
		if shown.Rollout != 0 && rapid.Bool().Draw(t, "whole rollout") {
			answer.WholeRollout = shown.Rollout
		}
		for _, c := range shown.Changes {
			answer.Shown = append(answer.Shown, fleet.ShownChange{Device: c.Device, Digest: c.Digest})
		}
		before := maps.Clone(f.wanted)
		f.goesOn() // while the person reads
		covered, err := f.held.Covers(answer, f.rollouts)
		if err != nil && fleet.CodeOf(err) != fleet.CodeConflict {
			t.Fatal(err)
		}
		f.letsOut(answer, before, covered)
	})
}

// goesOn changes some plans, has devices join, and saves a template anew.
func (f *heldFleet) goesOn() {
	if rapid.IntRange(0, 3).Draw(f.t, "revision") == 0 {
		f.texts[int64(rapid.IntRange(1, 3).Draw(f.t, "template"))] += "x"
	}
	for i := range 8 {
		if rapid.IntRange(0, 2).Draw(f.t, "planned anew") == 0 {
			if _, known := f.rollouts[fleetDevice(i)]; !known {
				f.rollouts[fleetDevice(i)] = int64(rapid.IntRange(0, 2).Draw(f.t, "rollout"))
			}
			f.plans(fleetDevice(i))
		}
	}
}

// showsAll checks that each held change stands in one group, with its device, its key, its value and what it names.
func (f *heldFleet) showsAll(groups []fleet.HeldGroup) {
	seen := map[string]bool{}
	for _, g := range groups {
		for _, c := range g.Changes {
			want := f.wanted[c.Device][c.Key]
			if seen[c.Digest] || c.Digest != f.digest(c.Device, want) || string(c.To) != string(want.To.JSON()) ||
				g.Rollout != f.rollouts[c.Device] {
				f.t.Fatalf("got %+v in %+v, want %+v once", c, g, want)
			}
			seen[c.Digest] = true
			_, peer, ofDevice := strings.Cut(c.Key, "devices.")
			if named := slices.Contains(c.Names.Devices, fleet.DeviceID(peer)); named != ofDevice {
				f.t.Fatalf("%s names %v", c.Key, c.Names)
			}
		}
	}
	for _, changes := range f.wanted {
		for _, c := range changes {
			if len(seen) == 0 {
				f.t.Fatalf("%s is in no group", c.Key)
			}
		}
	}
	want := 0
	for _, changes := range f.wanted {
		want += len(changes)
	}
	if len(seen) != want {
		f.t.Fatalf("%d changes are shown, want %d", len(seen), want)
	}
}

// letsOut checks which of the present changes the answer covers, now and for a member that asks later.
func (f *heldFleet) letsOut(a fleet.GroupAnswer, before map[fleet.DeviceID]map[string]Change, got Covered) {
	shownEqual, let := map[string]bool{}, map[string]bool{}
	for _, s := range a.Shown {
		for _, c := range before[s.Device] {
			if f.digest(s.Device, c) == s.Digest {
				shownEqual[c.To.Str()+c.Key.At(0).Name] = true
			}
		}
	}
	for _, c := range got.Changes() {
		let[c.Digest] = true
	}
	for id, changes := range f.wanted {
		for _, c := range changes {
			digest := f.digest(id, c)
			wasShown := slices.Contains(a.Shown, fleet.ShownChange{Device: id, Digest: digest})
			likeShown := a.WholeRollout != 0 && f.rollouts[id] == a.WholeRollout && shownEqual[c.To.Str()+c.Key.At(0).Name]
			if let[digest] && !wasShown && !likeShown {
				f.t.Fatalf("%s of %s goes out and was not shown: %+v", c.Key, id, a)
			}
			later := slices.ContainsFunc(got.Parts, func(p CoveredPart) bool { return p.Equal == f.equal(c) })
			if a.WholeRollout != 0 && later && !shownEqual[c.To.Str()+c.Key.At(0).Name] {
				f.t.Fatalf("%s of %s is not equal to what was shown, and uses the answer later", c.Key, id)
			}
		}
	}
	f.coversWhatStayed(a, let)
}

// coversWhatStayed checks that the answer covers what was shown and is still asked for by the same revision.
func (f *heldFleet) coversWhatStayed(a fleet.GroupAnswer, let map[string]bool) {
	for _, g := range f.held.Groups(f.rollouts) {
		for _, c := range g.Changes {
			shown := slices.Contains(a.Shown, fleet.ShownChange{Device: c.Device, Digest: c.Digest})
			inRollout := a.WholeRollout == 0 || g.Rollout == a.WholeRollout
			if g.Digest == a.Digest && shown && inRollout && !let[c.Digest] {
				f.t.Fatalf("%+v was shown, waits unchanged, and is not answered", c)
			}
			if shown && g.Digest != a.Digest && let[c.Digest] {
				f.t.Fatalf("%+v is asked for by another revision, and goes out", c)
			}
		}
	}
}

package plan_test

import (
	"slices"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// story is a scene in which templates come and go and everything held is consented to.
type story struct {
	*scene
	before stconfig.Value
}

func newStory(t *testing.T) story {
	c := newScene(t)
	c.consent = func(plan.Change) bool { return true }
	c.registered[fleet.DeviceID(nora)] = "Nora"
	return story{c, c.observed}
}

func (s story) has(key, json string) {
	s.t.Helper()
	got := "absent"
	if v := stconfig.Lookup(s.observed, keyOf(s.t, key)); v.Exists() {
		got = string(v.JSON())
	}
	if got != json {
		s.t.Errorf("%s is %s, want %s", key, got, json)
	}
}

func (s story) asBefore() {
	s.t.Helper()
	for _, c := range stconfig.Diff(s.before, s.observed) {
		s.t.Errorf("%s is %s, was %s", c.Key, shown(c.To), shown(c.From))
	}
	for _, e := range s.entries {
		if e.MayBeOurs() {
			s.t.Errorf("Muster's value is still at %s", e.Key)
		}
	}
}

var (
	hundred    = fleet.Template{ID: 1, Priority: 10, Op: fleet.OpSet, Key: "options.maxSendKbps", Text: "100"}
	twoHundred = fleet.Template{ID: 2, Priority: 20, Op: fleet.OpSet, Key: "options.maxSendKbps", Text: "200"}
)

func TestTwoTemplatesOnOneKey(t *testing.T) {
	for name, tc := range map[string]struct {
		then []fleet.Template
		want string
	}{
		"the later goes first":   {[]fleet.Template{hundred}, "100"},
		"the earlier goes first": {[]fleet.Template{twoHundred}, "200"},
		"both go together":       {nil, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.write([]fleet.Template{hundred, twoHundred})
			s.has("options.maxSendKbps", "200")
			s.write(tc.then)
			s.has("options.maxSendKbps", tc.want)
			s.write(nil)
			s.asBefore()
		})
	}
}

func TestATemplateMovesToAnotherKey(t *testing.T) {
	s := newStory(t)
	s.write([]fleet.Template{hundred})
	moved := hundred
	moved.Key = "options.maxRecvKbps"
	s.write([]fleet.Template{moved})
	s.has("options.maxSendKbps", "0")
	s.has("options.maxRecvKbps", "100")
	s.write(nil)
	s.asBefore()
}

func TestAFolderIsRenamedByItsTemplate(t *testing.T) {
	s := newStory(t)
	old := fleet.Template{ID: 1, Op: fleet.OpMerge, Key: "folders", Text: `[{"id": "old", "path": "/srv/x"}]`}
	renamed := old
	renamed.Text = `[{"id": "new", "path": "/srv/x"}]`
	s.write([]fleet.Template{old})
	s.consent = nil
	p := s.write([]fleet.Template{renamed})
	s.has("folders.new.path", `"/srv/x"`)
	s.has("folders.old.path", `"/srv/x"`) // its removal waits for consent
	if i := slices.IndexFunc(p.Changes, func(c plan.Change) bool { return c.Key.String() == "folders.old" }); i < 0 ||
		p.Changes[i].Class != plan.Held || !p.Changes[i].Returns {
		t.Errorf("the removal of the old folder is not held: %v", p.Changes)
	}
	s.consent = func(plan.Change) bool { return true }
	s.write([]fleet.Template{renamed})
	s.has("folders.old", "absent")
	s.write(nil)
	s.asBefore()
}

func TestAStarlarkListGetsShorter(t *testing.T) {
	s := newStory(t)
	text := func(n string) fleet.Template {
		return fleet.Template{ID: 1, Op: fleet.OpMerge, Key: "folders",
			Text: "def template(device):\n    return [{'id': 'f%d' % i, 'path': '/srv/%d' % i} for i in range(" + n + ")]\n"}
	}
	s.write([]fleet.Template{text("3")})
	s.has("folders.f2.path", `"/srv/2"`)
	s.write([]fleet.Template{text("1")})
	s.has("folders.f0.path", `"/srv/0"`)
	s.has("folders.f1", "absent")
	s.has("folders.f2", "absent")
	s.write(nil)
	s.asBefore()
}

func TestAPersonsEditBeforeUntagging(t *testing.T) {
	s := newStory(t)
	s.write([]fleet.Template{hundred})
	s.edit(fleet.OpSet, "options.maxSendKbps", "7")
	s.write([]fleet.Template{hundred}) // corrected, and remembered
	s.has("options.maxSendKbps", "100")
	s.write(nil)
	s.has("options.maxSendKbps", "7")
}

func TestAPersonsEditAfterUntagging(t *testing.T) {
	s := newStory(t)
	s.write([]fleet.Template{hundred})
	s.edit(fleet.OpSet, "options.maxSendKbps", "7") // nobody looked before the template went
	s.write(nil)
	s.has("options.maxSendKbps", "7")
	s.write([]fleet.Template{hundred})
	s.write(nil)
	s.has("options.maxSendKbps", "7")
}

func TestAPersonRemovesAManagedFolder(t *testing.T) {
	s := newStory(t)
	made := fleet.Template{ID: 1, Op: fleet.OpMerge, Key: "folders", Text: `[{"id": "made", "path": "/srv/x"}]`}
	s.write([]fleet.Template{made})
	s.edit(fleet.OpRemove, "folders.made", "true")
	s.write(nil)
	s.asBefore()
}

// A daemon that is upgraded shows fields that were not there when Muster wrote the member: that is no person's edit.
func TestAnUpgradeIsNoEdit(t *testing.T) {
	s := newStory(t)
	made := fleet.Template{ID: 1, Op: fleet.OpMerge, Key: "folders",
		Text: `[{"id": "made", "path": "/srv/x", "devices": [{"deviceID": "` + nora + `"}]}]`}
	s.write([]fleet.Template{made})
	s.observed = s.observed.With("version", stconfig.Literal("99"))
	s.before = s.before.With("version", stconfig.Literal("99"))
	s.observed = stconfig.Replace(s.observed, keyOf(t, "folders.made").Child("brandNew"), stconfig.Boolean(true))
	s.observed = stconfig.Replace(s.observed, keyOf(t, "devices."+nora).Child("brandNew"), stconfig.Boolean(true))
	if p := s.write([]fleet.Template{made}); len(p.Changes) > 0 {
		t.Errorf("plan after an upgrade: %v", p.Changes[0].Key)
	}
	s.write(nil)
	s.asBefore()
}

// The daemon learns the name of a device that came without one.
func TestALearntNameIsNoEdit(t *testing.T) {
	s := newStory(t)
	s.registered[fleet.DeviceID(nora)] = ""
	made := fleet.Template{ID: 1, Op: fleet.OpMerge, Key: "folders",
		Text: `[{"id": "made", "path": "/srv/x", "devices": [{"deviceID": "` + nora + `"}]}]`}
	s.write([]fleet.Template{made})
	s.edit(fleet.OpSet, "devices."+nora+".name", `"noras-laptop"`)
	if p := s.write([]fleet.Template{made}); len(p.Changes) > 0 {
		t.Errorf("the learnt name is undone: %v", p.Changes[0].Key)
	}
	s.write(nil)
	s.asBefore()
}

// A device that a template made stays for a person's folder that is shared with it. A template that takes it out takes
// it out of that folder; without that template it comes back with the share, and it goes when the share goes.
func TestADeviceThatStayedForAFolderGoesWithIt(t *testing.T) {
	made := []fleet.Template{{ID: 1, Priority: 10, Op: fleet.OpMerge, Key: "devices", Text: `[{"deviceID": "` + nora +
		`", "compression": "always"}]`}}
	out := fleet.Template{ID: 3, Priority: 30, Op: fleet.OpRemove, Key: "devices", Text: `["` + nora + `"]`}
	for name, shareStays := range map[string]bool{"the share stays": true, "the share goes": false} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.write(made)
			s.edit(fleet.OpMerge, "folders.photos-x4kd.devices", `[{"deviceID": "`+nora+`"}]`)
			s.write(made)
			s.write(append(slices.Clone(made), out))
			s.has("devices."+nora, "absent")
			s.has("folders.photos-x4kd.devices."+nora, "absent")
			s.write(made)
			s.has("folders.photos-x4kd.devices."+nora+".deviceID", `"`+nora+`"`)
			if !shareStays {
				s.edit(fleet.OpRemove, "folders.photos-x4kd.devices", `["`+nora+`"]`)
			}
			s.write(nil)
			s.write(nil)
			if !shareStays {
				s.asBefore()
				return
			}
			s.has("devices."+nora+".name", `"Nora"`)
			s.has("folders.photos-x4kd.devices."+nora+".deviceID", `"`+nora+`"`)
		})
	}
}

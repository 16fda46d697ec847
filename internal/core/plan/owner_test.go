package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Whose a member that templates made is, after changes that are not Muster's.

var (
	sharedFolder = fleet.Template{ID: 1, Priority: 10, Op: fleet.OpMerge, Key: "folders",
		Text: `[{"id": "made", "path": "/srv/made", "devices": [{"deviceID": "` + nora + `"}]}]`}
	unsharedFolder = fleet.Template{ID: 1, Priority: 10, Op: fleet.OpMerge, Key: "folders",
		Text: `[{"id": "made", "path": "/srv/made"}]`}
	namesNora = fleet.Template{ID: 2, Priority: 20, Op: fleet.OpMerge, Key: "devices", Text: `[{"deviceID": "` +
		nora + `"}]`}
)

// The revocation of a share was silently not carried out after any change of the folder that was not Muster's.
func TestAFolderThatATemplateMadeStaysTheTemplates(t *testing.T) {
	whole := func(s story) stconfig.Value { return stconfig.Lookup(s.observed, keyOf(s.t, "folders.made")) }
	for name, change := range map[string]func(s story){
		"a key that no template names is edited": func(s story) {
			s.edit(fleet.OpSet, "folders.made.rescanIntervalS",
				"77")
		},
		"it is paused": func(s story) { s.edit(fleet.OpSet, "folders.made.paused", "true") },
		"it is paused and goes on": func(s story) {
			s.edit(fleet.OpSet, "folders.made.paused", "true")
			s.write([]fleet.Template{sharedFolder})
			s.edit(fleet.OpSet, "folders.made.paused", "false")
		},
		"it is saved whole with another label": func(s story) {
			s.observed = stconfig.Replace(s.observed, keyOf(s.t, "folders.made"), whole(s).With("label", stconfig.Text("mine")))
		},
		"an introducer shares it": func(s story) {
			s.edit(fleet.OpAppend, "devices", `[{"deviceID": "`+otto+`", "introducedBy": "`+storage+`"}]`)
			s.edit(fleet.OpAppend, "folders.made.devices", `[{"deviceID": "`+otto+`", "introducedBy": "`+storage+`"}]`)
		},
		"the daemon is upgraded": func(s story) {
			s.observed = upgraded(s.observed)
		},
		"a person shares it as well": func(s story) {
			s.edit(fleet.OpAppend, "folders.made.devices",
				`[{"deviceID": "`+storage+`"}]`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.write([]fleet.Template{sharedFolder})
			change(s)
			if p := s.write([]fleet.Template{sharedFolder}); len(p.Changes) > 0 {
				t.Errorf("the change is undone: %v", p.Changes[0].Key)
			}
			s.write([]fleet.Template{unsharedFolder})
			s.has("folders.made.devices."+nora, "absent")
			s.consent = func(plan.Change) bool { return false }
			p := s.write(nil)
			if at := slices.IndexFunc(p.Changes,
				func(c plan.Change) bool { return c.Key.String() == "folders.made" }); at < 0 ||
				p.Changes[at].Class != plan.Held || !p.Changes[at].Returns || p.Changes[at].To.Exists() {
				t.Errorf("nobody is asked about the folder: %v", p.Changes)
			}
		})
	}
}

// What a person edits in a member that a template made is theirs key by key: it stays, it gives way to a template that
// names it, and it comes back.
func TestAPersonsKeyInAFolderThatATemplateMade(t *testing.T) {
	s := newStory(t)
	names := fleet.Template{ID: 3, Priority: 30, Op: fleet.OpSet, Key: "folders.made.rescanIntervalS", Text: "60"}
	s.write([]fleet.Template{sharedFolder})
	s.edit(fleet.OpSet, "folders.made.rescanIntervalS", "77")
	s.write([]fleet.Template{sharedFolder})
	s.has("folders.made.rescanIntervalS", "77")
	s.write([]fleet.Template{sharedFolder, names})
	s.has("folders.made.rescanIntervalS", "60")
	s.write([]fleet.Template{sharedFolder})
	s.has("folders.made.rescanIntervalS", "77")
	s.write(nil)
	s.asBefore()
}

// What a person set in a member became Muster's value when the member went with its template. When the member was made
// anew and the person set the same again, "Muster's earlier value was put back" was held.
func TestAPersonsValueInAMemberThatWentIsNotMusters(t *testing.T) {
	s := newStory(t)
	for range 3 {
		s.write([]fleet.Template{namesNora})
		s.has("devices."+nora+".maxSendKbps", "0")
		s.edit(fleet.OpSet, "devices."+nora+".maxSendKbps", "4711")
		p := s.write([]fleet.Template{namesNora})
		if len(p.Changes) > 0 {
			t.Fatalf("the person's value is %s: %s", p.Changes[0].Class, p.Changes[0].Reason)
		}
		s.has("devices."+nora+".maxSendKbps", "4711")
		there := stconfig.Lookup(s.observed, keyOf(t, "devices."+nora))
		s.write(nil)
		s.has("devices."+nora, "absent")
		// Put back as it was when it went, it is removed again.
		s.observed = stconfig.Replace(s.observed, keyOf(t, "devices."+nora), there)
		s.write(nil)
		s.has("devices."+nora, "absent")
	}
}

// An old document put back made Muster's earlier value the base, and the person's was gone.
func TestMustersEarlierValueIsNobodysEdit(t *testing.T) {
	s := newStory(t)
	set := func(value string) []fleet.Template {
		return []fleet.Template{{ID: 1, Op: fleet.OpSet, Key: "options.maxSendKbps", Text: value}}
	}
	s.edit(fleet.OpSet, "options.maxSendKbps", "12345")
	s.write(set("1000"))
	old := s.observed
	s.write(set("1001"))
	s.observed = old
	s.write(nil)
	s.has("options.maxSendKbps", "12345")

	// Put back where no template asks, it is held and shown; the answer is one of both.
	s.observed = old
	s.consent = nil
	p := s.write(nil)
	if len(p.Changes) != 1 || p.Changes[0].Class != plan.Held || !p.Changes[0].Returns {
		t.Fatalf("the earlier value is not held: %v", p.Changes)
	}
	s.has("options.maxSendKbps", "1000")
	kept := *s.scene
	kept.keep("options.maxSendKbps")
	if p := kept.write(nil); len(p.Changes) > 0 {
		t.Errorf("what was kept is asked about again: %v", p.Changes)
	}
	s.consent = func(plan.Change) bool { return true }
	s.write(nil)
	s.has("options.maxSendKbps", "12345")
}

// Templates had the last word of a device's removal only where none shared a folder with it.
func TestATemplateThatRemovesADeviceWinsOverThoseBeforeIt(t *testing.T) {
	out := fleet.Template{ID: 5, Priority: 50, Label: "lost laptop", Op: fleet.OpRemove, Key: "devices", Text: `["` +
		nora + `"]`}
	s := newStory(t)
	s.write([]fleet.Template{sharedFolder})
	s.write([]fleet.Template{sharedFolder, out})
	s.has("devices."+nora, "absent")
	s.has("folders.made.devices."+nora, "absent")
	if p := s.write([]fleet.Template{sharedFolder, out}); len(p.Changes) > 0 {
		t.Errorf("it comes back: %v", p.Changes)
	}
	later := fleet.Template{ID: 6, Priority: 60, Label: "share", Op: fleet.OpMerge, Key: "folders.made.devices",
		Text: `[{"deviceID": "` + nora + `"}]`}
	p := s.write([]fleet.Template{sharedFolder, out, later})
	want := `template 6 "share" shares the folder with the device, and template 5 "lost laptop" removes the device: take it out of one of them`
	if len(p.Changes) != 1 || p.Changes[0].Class != plan.Skipped || p.Changes[0].Reason != want {
		t.Errorf("got %+v", p.Changes)
	}
	s.write([]fleet.Template{sharedFolder})
	s.has("devices."+nora+".name", `"Nora"`)
	s.has("folders.made.devices."+nora+".deviceID", `"`+nora+`"`)
}

// Templates that come later did not see the devices that earlier ones brought along, and emptied their names.
func TestLaterTemplatesSeeDevicesThatWereBroughtAlong(t *testing.T) {
	s := newStory(t)
	counts := fleet.Template{ID: 3, Priority: 30, Op: fleet.OpSet, Key: "options.maxSendKbps",
		Text: "def template(config):\n    return len([d for d in config.devices if d.name == 'Nora'])\n"}
	s.write([]fleet.Template{sharedFolder, counts})
	s.has("options.maxSendKbps", "1")
	for _, templates := range [][]fleet.Template{
		{sharedFolder, namesNora}, {namesNora, sharedFolder}, {namesNora},
		{sharedFolder, {ID: 4, Priority: 40, Op: fleet.OpSet, Key: "devices." + nora, Text: `{"compression": "always"}`}},
	} {
		s.write(templates)
		s.has("devices."+nora+".name", `"Nora"`)
	}
}

// The same templates made another plan where they had been saved in another order.
func TestWhetherARemovalIsAskedAboutDoesNotDependOnTheOrderOfSaving(t *testing.T) {
	plans := map[string]string{}
	for name, order := range map[string][][]fleet.Template{
		"the folder first":  {{sharedFolder}, {sharedFolder, namesNora}},
		"the devices first": {{namesNora}, {sharedFolder, namesNora}},
		"both at once":      {{sharedFolder, namesNora}},
	} {
		s := newStory(t)
		for _, templates := range order {
			s.write(templates)
		}
		s.consent = func(plan.Change) bool { return false }
		for to, templates := range map[string][]fleet.Template{"none": nil, "only the folder": {unsharedFolder}} {
			after := *s.scene
			text := after.describe(templates)
			if was, ok := plans[to]; ok && was != text {
				t.Errorf("%s, then %s: %s\nelse %s", name, to, text, was)
			}
			plans[to] = text
		}
	}
}

// An introducer that adds again what templates have revoked is not heard, and not fought for ever.
func TestAnIntroducerDoesNotBringBackWhatTemplatesRevoked(t *testing.T) {
	s := newStory(t)
	s.write([]fleet.Template{sharedFolder, namesNora})
	s.write([]fleet.Template{unsharedFolder})
	s.has("devices."+nora, "absent")
	s.edit(fleet.OpAppend, "devices", `[{"deviceID": "`+nora+`", "introducedBy": "`+storage+`"}]`)
	s.edit(fleet.OpAppend, "folders.made.devices", `[{"deviceID": "`+nora+`", "introducedBy": "`+storage+`"}]`)
	s.consent = nil
	p := s.write([]fleet.Template{unsharedFolder})
	if len(p.Changes) != 2 {
		t.Fatalf("got %v", p.Changes)
	}
	for _, c := range p.Changes {
		if !c.Drift || c.Class != plan.Free && c.Class != plan.Implied || c.Introducer() != storage {
			t.Errorf("%s is %s, drift %v, of introducer %q", c.Key, c.Class, c.Drift, c.Introducer())
		}
	}
	s.has("devices."+nora, "absent")
}

// Two old documents put back one after the other, while a template removed the folder, made the share of a template a
// person's: it came back with the folder when all templates were gone.
func TestAShareOfATemplateIsNobodysInAFolderThatAnotherTemplateRemoves(t *testing.T) {
	shares := fleet.Template{ID: 1, Priority: 70, Op: fleet.OpMerge, Key: "folders.photos-x4kd.devices",
		Text: `[{"deviceID": "` + nora + `"}]`}
	removes := fleet.Template{ID: 2, Priority: 60, Op: fleet.OpRemove, Key: "folders", Text: `["photos-x4kd"]`}
	s := newStory(t)
	s.write([]fleet.Template{shares})
	shared := s.observed
	s.write([]fleet.Template{shares, removes})
	for _, old := range []stconfig.Value{s.before, shared} {
		s.observed = old
		s.write([]fleet.Template{shares, removes})
		s.has("folders.photos-x4kd", "absent")
	}
	s.write(nil)
	s.has("devices."+nora, "absent")
	s.asBefore()
}

// A device that a person removed came back with a folder that a template had removed, and the folder was shared with
// it.
func TestADeviceThatAPersonRemovedStaysAwayWhenAFolderComesBack(t *testing.T) {
	removes := fleet.Template{ID: 1, Priority: 60, Op: fleet.OpRemove, Key: "folders", Text: `["photos-x4kd"]`}
	s := newStory(t)
	s.has("folders.photos-x4kd.devices."+storage+".deviceID", `"`+storage+`"`)
	s.write([]fleet.Template{removes})
	s.edit(fleet.OpRemove, "folders.*.devices", `["`+storage+`"]`) // as a daemon does
	s.edit(fleet.OpRemove, "devices", `["`+storage+`"]`)
	s.write([]fleet.Template{removes})
	s.write(nil)
	s.has("folders.photos-x4kd.id", `"photos-x4kd"`)
	s.has("folders.photos-x4kd.devices."+storage, "absent")
	s.has("devices."+storage, "absent")
	if p := s.write(nil); len(p.Changes) > 0 {
		t.Errorf("something is planned: %v", p.Changes)
	}
}

// A device was brought along again, without an answer, that a template had removed and that a person chose to keep
// away, or that a person removed: a share with it in a folder of Muster's was still recorded, and needed it.
func TestAShareInAMadeFolderDoesNotOutliveItsDevice(t *testing.T) {
	removesNora := fleet.Template{ID: 3, Priority: 30, Op: fleet.OpRemove, Key: "devices", Text: `["` + nora + `"]`}
	unsharesNora := fleet.Template{
		ID:       3,
		Priority: 30,
		Op:       fleet.OpRemove,
		Key:      "folders.made.devices",
		Text:     `["` + nora + `"]`,
	}
	for _, introducer := range []string{"", storage} {
		shared := func(t *testing.T, takes fleet.Template) story {
			s := newStory(t)
			s.write([]fleet.Template{unsharedFolder})
			s.edit(fleet.OpAppend, "devices", `[{"deviceID": "`+nora+`", "introducedBy": "`+introducer+`"}]`)
			s.edit(fleet.OpAppend, "folders.made.devices", `[{"deviceID": "`+nora+`", "introducedBy": "`+introducer+`"}]`)
			s.write([]fleet.Template{unsharedFolder, takes})
			s.has("folders.made.devices."+nora, "absent")
			return s
		}
		stays := func(s story) {
			s.write([]fleet.Template{unsharedFolder})
			s.has("devices."+nora, "absent")
			s.has("folders.made.devices."+nora, "absent")
			s.write([]fleet.Template{sharedFolder})
			s.has("folders.made.devices."+nora+".introducedBy", `""`)
		}
		t.Run("kept away, introduced by "+introducer, func(t *testing.T) {
			s := shared(t, removesNora)
			s.keep("devices." + nora)
			stays(s)
		})
		t.Run("removed by a person, introduced by "+introducer, func(t *testing.T) {
			s := shared(t, unsharesNora)
			s.edit(fleet.OpRemove, "devices."+nora, "true")
			stays(s)
		})
	}
}

// A template removes a folder that another one made and asks for no more: a person was offered to keep the folder, and
// was asked again as soon as they did.
func TestWhatATemplateRemovesIsNotOfferedToBeKept(t *testing.T) {
	for key, remove := range map[string]fleet.Template{
		"folders.made":    {ID: 3, Priority: 30, Op: fleet.OpRemove, Key: "folders", Text: `["docs-7hq2", "made"]`},
		"devices." + nora: {ID: 3, Priority: 30, Op: fleet.OpRemove, Key: "devices." + nora, Text: "true"},
	} {
		t.Run(key, func(t *testing.T) {
			s := newStory(t)
			s.write([]fleet.Template{sharedFolder, namesNora})
			s.consent = func(plan.Change) bool { return false }
			p := s.write([]fleet.Template{remove})
			at := slices.IndexFunc(p.Changes, func(c plan.Change) bool { return c.Key.String() == key })
			if at < 0 {
				t.Fatalf("it is not removed: %v", p.Changes)
			}
			if c := p.Changes[at]; c.Class != plan.Held || c.Returns || !slices.Equal(c.Templates, []int64{3}) {
				t.Errorf("it is %s, returns %t, for the templates %d", c.Class, c.Returns, c.Templates)
			}
		})
	}
}

// What an introducer called a device that templates had revoked was taken for a name of Muster's, because Muster wrote
// another one over it.
func TestWhatAnIntroducerWroteIsNotMusters(t *testing.T) {
	s := newStory(t)
	s.registered[fleet.DeviceID(nora)] = "Nora"
	s.write([]fleet.Template{namesNora})
	s.write(nil)
	s.has("devices."+nora, "absent")
	s.edit(fleet.OpAppend, "devices", `[{"deviceID": "`+nora+`", "name": "hers", "introducedBy": "`+storage+`"}]`)
	s.edit(fleet.OpAppend, "folders.photos-x4kd.devices", `[{"deviceID": "`+nora+`", "introducedBy": "`+storage+`"}]`)
	introduced := s.observed
	s.write(nil) // brought along for the folder
	s.has("devices."+nora+".name", `"Nora"`)
	s.observed = introduced
	s.write(nil)
	s.has("devices."+nora+".name", `"hers"`)
}

// An old document put a member back that templates had revoked, and a template asks for it again: a person's edits in
// it were undone for good.
func TestAPersonsKeyInAMemberThatWasPutBackAndIsAskedFor(t *testing.T) {
	s := newStory(t)
	s.write([]fleet.Template{unsharedFolder})
	old := s.observed
	s.write(nil)
	s.has("folders.made", "absent")
	s.observed = old
	s.write([]fleet.Template{unsharedFolder})
	s.edit(fleet.OpSet, "folders.made.rescanIntervalS", "77")
	s.write([]fleet.Template{unsharedFolder})
	s.has("folders.made.rescanIntervalS", "77")
	s.write(nil)
	s.has("folders.made", "absent")
}

// A daemon lost the removal of a device that was only brought along, and that an introducer had written over. Nothing
// tells that from an introducer who adds the device again: it is the introducer's, as no template revoked it.
func TestADeviceThatWasBroughtAlongIsTheIntroducersWhenItIsThereAgain(t *testing.T) {
	s := newStory(t)
	removesNora := fleet.Template{ID: 3, Priority: 30, Op: fleet.OpRemove, Key: "devices", Text: `["` + nora + `"]`}
	s.write([]fleet.Template{sharedFolder})
	s.edit(fleet.OpMerge, "devices", `[{"deviceID": "`+nora+`", "name": "hers", "introducedBy": "`+storage+`"}]`)
	s.write([]fleet.Template{sharedFolder})
	before := s.observed
	s.write([]fleet.Template{unsharedFolder, removesNora})
	s.has("devices."+nora, "absent")
	s.observed = before
	s.write([]fleet.Template{unsharedFolder})
	s.has("folders.made.devices."+nora, "absent")
	s.has("devices."+nora+".name", `"hers"`)
	s.write([]fleet.Template{unsharedFolder, removesNora})
	s.has("devices."+nora, "absent")
	s.write(nil)
	s.has("devices."+nora+".name", `"hers"`)
}

// A person kept a folder of a template that had gone, and let another template remove the device that it was shared
// with. When that one was gone too, the daemon refused the write that put both back, and they were forgotten: the
// device was unmanaged, and share and device never came back.
func TestADeviceThatIsSharedWithComesBackAfterARefusedWrite(t *testing.T) {
	removesNora := fleet.Template{ID: 3, Priority: 30, Op: fleet.OpRemove, Key: "devices", Text: `["` + nora + `"]`}
	s := newStory(t)
	s.write([]fleet.Template{sharedFolder})
	s.keep("folders.made")
	s.write([]fleet.Template{removesNora})
	s.has("folders.made.id", `"made"`)
	s.has("devices."+nora, "absent")
	for range 2 { // refused, and again
		r, p, err := s.plan(nil)
		if err != nil {
			t.Fatal(err)
		}
		var sent []desired.Sent
		for _, c := range p.Sendable() {
			sent = append(sent, desired.Sent{Key: c.Key, To: c.Sending()})
		}
		if s.entries, err = desired.Finish(r.Begin(sent), desired.Reading{Document: s.observed, Own: s.own}); err != nil {
			t.Fatal(err)
		}
		if r, _, err = s.plan(nil); err != nil {
			t.Fatal(err)
		}
		s.entries = r.Entries
	}
	s.write(nil)
	s.has("devices."+nora+".name", `"Nora"`)
	s.has("folders.made.devices."+nora+".deviceID", `"`+nora+`"`)
}

// TestARevokedDeviceThatComesBackIsRemovedAgain covers a device that a template removes, with consent, and that a
// person or an introducer adds again: it was held, and the device had what was shared with it meanwhile.
func TestARevokedDeviceThatComesBackIsRemovedAgain(t *testing.T) {
	removes := fleet.Template{ID: 5, Priority: 50, Op: fleet.OpRemove, Key: "devices", Text: `["` + nora + `"]`}
	added := `[{"deviceID": "` + nora + `", "name": "back", "maxSendKbps": 7%s}]`
	for name, before := range map[string]func(s story){
		"that a template had made": func(s story) { s.write([]fleet.Template{namesNora}) },
		"that a person had added":  func(s story) { s.edit(fleet.OpAppend, "devices", fmt.Sprintf(added, "")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			before(s)
			s.consent = nil
			if p := s.write([]fleet.Template{removes}); len(p.Sendable()) > 0 {
				t.Fatalf("the first removal is %s", p.Changes[0].Class)
			}
			s.consent = func(plan.Change) bool { return true }
			s.write([]fleet.Template{removes})
			s.has("devices."+nora, "absent")
			s.consent = nil
			for _, by := range []string{"", `, "introducedBy": "` + storage + `"`, "", ""} {
				s.edit(fleet.OpAppend, "devices", fmt.Sprintf(added, by))
				s.edit(fleet.OpAppend, "folders.docs-7hq2.devices", `[{"deviceID": "`+nora+`"}]`)
				_, p, err := s.plan([]fleet.Template{removes})
				if err != nil || len(p.Changes) != 2 || len(p.Sendable()) != 2 {
					t.Fatalf("brought back: got %v, %v", p.Changes, err)
				}
				for _, c := range p.Changes {
					if !c.Drift || !c.Revoked() || !strings.Contains(c.Reason, "added it again after it was revoked: template 5") {
						t.Errorf("%s: drift %t, %q", c.Key, c.Drift, c.Reason)
					}
				}
				s.write([]fleet.Template{removes})
				s.has("devices."+nora, "absent")
				s.has("folders.docs-7hq2.devices."+nora, "absent")
			}
			s.write(nil) // Without the template it is a device like any other.
			s.observed = stconfig.Replace(s.observed, keyOf(t, "devices."+nora), stconfig.Value{})
			s.write(nil)
			s.edit(fleet.OpAppend, "devices", fmt.Sprintf(added, ""))
			p := s.write([]fleet.Template{removes})
			if len(p.Sendable()) > 0 || len(p.Changes) == 0 || p.Changes[0].Class != plan.Held {
				t.Errorf("a template that removes it anew: got %v", p.Changes)
			}
		})
	}
}

// A consent to one template's removal let another template remove the same device, when a person had added it again.
func TestAConsentToOneTemplateRevokesForNoOther(t *testing.T) {
	removes := fleet.Template{ID: 5, Priority: 50, Op: fleet.OpRemove, Key: "devices", Text: `["` + nora + `"]`}
	another := removes
	another.ID = 6
	s := newStory(t)
	s.write([]fleet.Template{namesNora})
	s.write([]fleet.Template{removes})
	s.has("devices."+nora, "absent")
	s.edit(fleet.OpAppend, "devices", `[{"deviceID": "`+nora+`", "name": "back"}]`)
	s.consent = nil
	if p := s.write([]fleet.Template{another}); len(p.Sendable()) > 0 || p.Changes[0].Class != plan.Held {
		t.Errorf("got %v", p.Changes)
	}
}

// A device was revoked, and a later template asked for it: when a person had added and removed it, recording the
// intent did not end, and the server died of it at every start.
func TestARevokedDeviceThatAnotherTemplateWantsIsMade(t *testing.T) {
	removes := fleet.Template{ID: 5, Priority: 50, Op: fleet.OpRemove, Key: "devices", Text: `["` + nora + `"]`}
	wants := namesNora
	wants.ID, wants.Priority = 7, 70
	for name, by := range map[string]func(s story){
		"removed by hand":           func(story) {},
		"added and removed by hand": func(s story) { s.edit(fleet.OpAppend, "devices", `[{"deviceID": "`+nora+`", "name": "back"}]`) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			s.edit(fleet.OpAppend, "devices", `[{"deviceID": "`+nora+`", "name": "first"}]`)
			s.write([]fleet.Template{removes})
			s.has("devices."+nora, "absent")
			by(s)
			s.write([]fleet.Template{removes, wants})
			s.observed = stconfig.Replace(s.observed, keyOf(t, "devices."+nora), stconfig.Value{})
			s.write([]fleet.Template{removes, wants})
			s.write([]fleet.Template{removes, wants})
			s.has("devices."+nora+".name", `"Nora"`)
		})
	}
}

package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Devices that are revoked everywhere.

var noraIsAway = map[fleet.DeviceID]string{fleet.DeviceID(nora): "revoked on 2026-11-27 by root (stolen)"}

func noraByHand(more string) string {
	return `[{"deviceID": "` + nora + `", "name": "back", "maxSendKbps": 7` + more + `}]`
}

// TestARevokedDeviceIsTakenAwayByWhomeverItIsThere: of a person, of a template, of an introducer; and again each time
// that somebody brings it back, without an answer. When the revocation ends nothing comes back by itself.
func TestARevokedDeviceIsTakenAwayByWhomeverItIsThere(t *testing.T) {
	const inDocs = "folders.docs-7hq2.devices." + nora
	share := `[{"deviceID": "` + nora + `"}]`
	for name, before := range map[string]func(s story){
		"a template brought it": func(s story) { s.write([]fleet.Template{sharedFolder}) },
		"a template names it":   func(s story) { s.write([]fleet.Template{namesNora}) },
		"a person added it": func(s story) {
			s.edit(fleet.OpAppend, "devices", noraByHand(""))
			s.edit(fleet.OpAppend, "folders.docs-7hq2.devices", share)
		},
		"an introducer added it": func(s story) {
			s.edit(fleet.OpAppend, "devices", noraByHand(`, "introducedBy": "`+storage+`"`))
		},
		"a person shared a template's folder with it": func(s story) {
			s.write([]fleet.Template{unsharedFolder})
			s.edit(fleet.OpAppend, "devices", noraByHand(""))
			s.edit(fleet.OpAppend, "folders.made.devices", share)
			s.write([]fleet.Template{unsharedFolder})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			before(s)
			s.has("devices."+nora+".deviceID", `"`+nora+`"`)
			s.consent, s.away = nil, noraIsAway // no person answers
			p := s.write(nil)
			at := slices.IndexFunc(p.Changes, func(c plan.Change) bool { return c.Key.String() == "devices."+nora })
			if at < 0 || p.Changes[at].Class != plan.Free || p.Changes[at].Drift || p.Changes[at].Returns ||
				!strings.Contains(p.Changes[at].Reason, "is revoked on 2026-11-27 by root (stolen)") {
				t.Errorf("the first time: %+v", p.Changes)
			}
			s.hasNo(nora)
			for _, by := range []string{"", `, "introducedBy": "` + storage + `"`, ""} {
				s.edit(fleet.OpAppend, "devices", noraByHand(by))
				s.edit(fleet.OpAppend, "folders.docs-7hq2.devices", share)
				_, p, err := s.plan(nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, key := range []string{"devices." + nora, inDocs} {
					c, ok := p.At(key)
					if !ok || !c.Sendable() || !c.Drift || !c.Revoked() || !strings.Contains(c.Reason,
						"added it again: it is revoked on 2026-11-27 by root") {
						t.Errorf("%s is brought back: %s, drift %t: %q", key, c.Class, c.Drift, c.Reason)
					}
				}
				s.write(nil)
				s.hasNo(nora)
			}
			s.away, s.consent = nil, func(plan.Change) bool { return true }
			s.write(nil)
			s.write(nil)
			s.hasNo(nora)
			s.edit(fleet.OpAppend, "devices", noraByHand(""))
			if p := s.write(nil); len(p.Sendable()) > 0 {
				t.Errorf("the revocation is over, and %s is changed: %s", p.Changes[0].Key, p.Changes[0].Reason)
			}
		})
	}
}

func (s story) hasNo(id string) {
	s.t.Helper()
	s.has("devices."+id, "absent")
	if sharedWith(s.observed, id) {
		s.t.Errorf("a folder is shared with %s", id)
	}
}

// TestATemplateThatNamesARevokedDeviceIsSkippedThere: the rest of it applies, also where the device is not registered
// any more, and it applies as a whole when the revocation is over.
func TestATemplateThatNamesARevokedDeviceIsSkippedThere(t *testing.T) {
	for _, registered := range []bool{true, false} {
		s := newStory(t)
		if !registered {
			delete(s.registered, fleet.DeviceID(nora))
		}
		s.away = noraIsAway
		p := s.write([]fleet.Template{sharedFolder, namesNora})
		s.has("folders.made.path", `"/srv/made"`)
		s.hasNo(nora)
		for key, template := range map[string]int64{"folders.made.devices." + nora: 1, "devices." + nora: 2} {
			if !slices.ContainsFunc(p.Changes, func(c plan.Change) bool {
				return c.Class == plan.Skipped && c.Key.String() == key && slices.Equal(c.Templates, []int64{template}) &&
					strings.Contains(c.Reason, nora+" is revoked on 2026-11-27 by root (stolen): take it out of the template")
			}) {
				t.Errorf("nobody is told that template %d names it: %v", template, p.Changes)
			}
		}
		if p := s.write([]fleet.Template{sharedFolder, namesNora}); len(p.Sendable()) > 0 {
			t.Errorf("it does not come to rest: %v", p.Sendable()[0].Key)
		}
		s.away = nil
		s.write([]fleet.Template{sharedFolder, namesNora})
		s.has("folders.made.devices."+nora+".deviceID", `"`+nora+`"`)
	}
}

// TestADeviceKeepsItsOwnEntryWhenItIsRevoked: the fold is never given the device itself, and the guard would refuse it.
func TestADeviceKeepsItsOwnEntryWhenItIsRevoked(t *testing.T) {
	r := &fleet.Registry{Revocations: map[fleet.DeviceID]fleet.Revocation{
		stconfig.SampleID: {}, fleet.DeviceID(nora): {}, fleet.DeviceID(otto): {}}}
	if got := fmt.Sprint(r.RevokedOn(stconfig.SampleID)); got != fmt.Sprint([]string{otto, nora}) {
		t.Errorf("revoked on it: %s", got)
	}
}

// TestARevokedDeviceIsNowhere: whatever templates, people, introducers and old documents do, and whatever writes get
// lost, the daemon comes to rest without the device; and when the revocation is over only templates bring it back.
func TestARevokedDeviceIsNowhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			if i == 0 || rapid.Bool().Draw(rt, "is revoked") {
				w.away = noraIsAway
			}
			w.act(rt)
			w.history = append(w.history, w.observed)
			w.bring(rt)
			if w.away != nil && (sharedWith(w.observed, nora) || w.hasDevice(nora)) {
				rt.Fatal("it is still there")
			}
		}
		w.away = noraIsAway
		w.bring(rt)
		w.away, w.templates = nil, nil
		w.bring(rt)
		if sharedWith(w.observed, nora) || w.hasDevice(nora) {
			rt.Error("it came back by itself")
		}
	})
}

func (w *world) hasDevice(id string) bool {
	return stconfig.Lookup(w.observed, keyOf(w.t, "devices."+id)).Exists()
}

package plan_test

import (
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// A person who keeps a share of Muster's wants it: the folder that they ignored earlier is not ignored again when they
// take the share away.
func TestAKeptShareForgetsThatTheFolderWasIgnored(t *testing.T) {
	const device = "devices." + storage + ".ignoredFolders"
	const share = "folders.letters.devices." + storage
	s := newStory(t)
	s.edit(fleet.OpAppend, "folders", `[{"id": "letters", "path": "~/letters"}]`)
	s.edit(fleet.OpAppend, device, `[{"id": "letters", "label": "hers"}]`)
	before := s.observed
	shares := []fleet.Template{{ID: 1, Op: fleet.OpAppend, Key: "folders.letters.devices",
		Text: `[{"deviceID": "` + storage + `"}]`}}
	for range 2 {
		s.write(shares)
		s.has(device+".letters", "absent")
		s.write(nil)
		for _, c := range stconfig.Diff(before, s.observed) {
			t.Errorf("%s is %s, was %s", c.Key, shown(c.To), shown(c.From))
		}
	}
	s.write(shares)
	s.keep(share)
	s.write(nil)
	s.has(share+".deviceID", `"`+storage+`"`)
	s.has(device+".letters", "absent")
	s.edit(fleet.OpRemove, "folders.letters.devices", `["`+storage+`"]`)
	if p := s.write(nil); len(p.Changes) > 0 {
		t.Errorf("what is there is not left: %v", p.Changes[0].Key)
	}
	s.has(device+".letters", "absent")
}

// A person who keeps a device of Muster's wants it: the device that they ignored earlier is not ignored again when they
// take it away.
func TestAKeptDeviceForgetsThatItWasIgnored(t *testing.T) {
	const ignored = "remoteIgnoredDevices." + nora
	s := newStory(t)
	s.edit(fleet.OpAppend, "remoteIgnoredDevices", `[{"deviceID": "`+nora+`", "name": "hers"}]`)
	before := s.observed
	for range 2 {
		s.write([]fleet.Template{namesNora})
		s.has(ignored, "absent")
		s.write(nil)
		for _, c := range stconfig.Diff(before, s.observed) {
			t.Errorf("%s is %s, was %s", c.Key, shown(c.To), shown(c.From))
		}
	}
	s.write([]fleet.Template{namesNora})
	s.keep("devices." + nora)
	s.write(nil)
	s.has("devices."+nora+".name", `"Nora"`)
	s.edit(fleet.OpRemove, "devices", `["`+nora+`"]`)
	if p := s.write(nil); len(p.Changes) > 0 {
		t.Errorf("what is there is not left: %v", p.Changes[0].Key)
	}
	s.has(ignored, "absent")
}

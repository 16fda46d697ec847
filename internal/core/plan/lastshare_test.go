package plan

import (
	"slices"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// A folder that lost its last share through a change was shared with nobody, and nobody was told.
func TestFoldersThatLoseTheirLastShareAreFound(t *testing.T) {
	own, nas, oslo := string(fleet.DeviceIDOf([32]byte{1})), string(fleet.DeviceIDOf([32]byte{2})),
		string(fleet.DeviceIDOf([32]byte{3}))
	folder := func(id string, devices ...string) stconfig.Value {
		var shares []stconfig.Value
		for _, device := range devices {
			shares = append(shares, stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(device)}))
		}
		return stconfig.Obj(stconfig.Member{Name: "id", Value: stconfig.Text(id)},
			stconfig.Member{Name: "devices", Value: stconfig.List(shares...)})
	}
	doc := func(folders ...stconfig.Value) stconfig.Value {
		return stconfig.Obj(stconfig.Member{Name: "folders", Value: stconfig.List(folders...)})
	}
	at := func(key string, class Class) Change {
		parsed, err := stconfig.ParseKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return Change{Key: parsed, Class: class}
	}
	for name, test := range map[string]struct {
		before, after stconfig.Value
		changes       []Change
		want          []string
	}{
		"the only share goes": {doc(folder("team", own, nas)), doc(folder("team", own)),
			[]Change{at("folders.team.devices."+nas, Free)}, []string{"team"}},
		"both shares go": {doc(folder("team", own, nas, oslo)), doc(folder("team", own)),
			[]Change{at("folders.team.devices."+nas, Free), at("folders.team.devices."+oslo, Held)}, []string{"team"}},
		"one of two stays": {doc(folder("team", own, nas, oslo)), doc(folder("team", own, oslo)),
			[]Change{at("folders.team.devices."+nas, Free)}, nil},
		"the folder goes": {doc(folder("team", own, nas)), doc(),
			[]Change{at("folders.team", Held)}, nil},
		"it was shared with nobody": {doc(folder("team", own)), doc(folder("team", own)),
			[]Change{at("folders.team.devices."+own+".encryptionPassword", Free)}, nil},
		"the change is refused": {doc(folder("team", own, nas)), doc(folder("team", own)),
			[]Change{at("folders.team.devices."+nas, Refused)}, nil},
		"another key changes": {doc(folder("team", own, nas)), doc(folder("team", own)),
			[]Change{at("folders.team.paused", Free)}, nil},
	} {
		if got := LastShares(fleet.DeviceID(own), test.changes, test.before, test.after); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

package plan_test

import (
	"slices"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

func TestWhatIsLetInIsAllThatChanges(t *testing.T) {
	other, third := fleet.DeviceIDOf([32]byte{1}), fleet.DeviceIDOf([32]byte{2})
	sample := stconfig.Normalise(stconfig.Sample())
	folder := "photos/2026"
	known := sample.With("devices", stconfig.List(append(slices.Collect(sample.Get("devices").Values()),
		stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(other))}))...))
	has := known.With("folders", stconfig.List(stconfig.Obj(
		stconfig.Member{Name: "id", Value: stconfig.Text(folder)}, stconfig.Member{Name: "path", Value: stconfig.Text("/p")},
		stconfig.Member{Name: "devices",
			Value: stconfig.List(stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(third))}))})))
	device, whole := "devices."+string(other), "folders."+folder
	for name, one := range map[string]struct {
		doc        stconfig.Value
		asks       fleet.Pending
		name, path string
		want       map[string]string // the key that changes, and what is there afterwards
		code       fleet.Code
	}{
		"a device": {sample, fleet.Pending{From: other, Name: "new"}, "", "",
			map[string]string{device: "", device + ".name": "new"}, ""},
		"a device by another name": {sample, fleet.Pending{From: other, Name: "new"}, "N", "",
			map[string]string{device: "", device + ".name": "N"}, ""},
		"a device that is in already": {known, fleet.Pending{From: other}, "", "", nil, ""},
		"a folder": {known, fleet.Pending{From: other, Folder: folder, FolderLabel: "P"}, "", "/srv/p",
			map[string]string{whole: "", whole + ".label": "P", whole + ".path": "/srv/p", whole + ".type": "sendreceive",
				whole + ".devices." + string(other) + ".deviceID": string(other)}, ""},
		"an encrypted folder": {known, fleet.Pending{From: other, Folder: folder, Encrypted: true}, "L", "/srv/p",
			map[string]string{whole: "", whole + ".label": "L", whole + ".type": "receiveencrypted"}, ""},
		"a folder that is there": {has, fleet.Pending{From: other, Folder: folder}, "", "",
			map[string]string{whole + ".devices." + string(other): "", whole + ".path": "/p", whole + ".devices." +
				string(third) + ".deviceID": string(third)}, ""},
		"a folder without a path": {known, fleet.Pending{From: other, Folder: folder}, "", "", nil, fleet.CodeInvalid},
		"a folder of nobody we know": {sample, fleet.Pending{From: other, Folder: folder}, "", "/srv/p", nil,
			fleet.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			one.asks.Device = stconfig.SampleID
			after, err := plan.Accept(one.doc, one.asks, one.name, one.path)
			if fleet.CodeOf(err) != one.code {
				t.Fatalf("got %v, want %s", err, one.code)
			}
			var changed, want []string
			for _, c := range stconfig.Diff(one.doc, after) {
				changed = append(changed, c.Key.String())
			}
			for text, value := range one.want {
				key, err := stconfig.ParseKey(text)
				if err != nil {
					t.Fatal(err)
				}
				if value == "" {
					want = append(want, text)
				} else if got := stconfig.Lookup(after, key).Str(); got != value {
					t.Errorf("%s is %q, want %q", text, got, value)
				}
			}
			if !slices.Equal(changed, want) {
				t.Errorf("%v changed, want %v", changed, want)
			}
		})
	}
}

package cli

import (
	"strings"
	"testing"

	"muster/api"
)

// The question about an upgrade did not say how many devices go to another major version.
func TestTheQuestionAboutAnUpgradeCountsThoseThatGoToANewMajorVersion(t *testing.T) {
	row := func(id, version string) api.InventoryDevice {
		return api.InventoryDevice{DeviceID: id, Version: version}
	}
	newest := api.OutdatedVersions{Newest: "v2.1.0"}
	var devices []api.Device
	for _, id := range []string{"A", "B", "C"} {
		devices = append(devices, api.Device{DeviceID: id, Label: id})
	}
	for name, test := range map[string]struct {
		rows  []api.InventoryDevice
		flags []string
		want  string
	}{
		"not allowed": {
			rows: []api.InventoryDevice{row("A", "v1.30.0"), row("B", "v2.0.3"), row("C", ""), row("D", "v1.29.0")},
			want: "1 runs a version that is not known, 1 runs version 1, 1 runs version 2. 1 device would go to the new " +
				"major version 2: without --major the upgrade fails there.\nHave 3 devices",
		},
		"allowed": {
			rows:  []api.InventoryDevice{row("A", "v1.30.0"), row("B", "v1.29.0"), row("C", "v2.1.0")},
			flags: []string{"--major"},
			want:  "To the new major version 2: 2 devices. Syncthing converts its database then",
		},
		"all alike": {
			rows: []api.InventoryDevice{row("A", "v2.0.0"), row("B", "v2.0.0"), row("C", "v2.1.0")},
			want: "3 run version 2.\nHave 3 devices",
		},
	} {
		address, _ := serving(t, map[string]any{"tags/x/devices": devices,
			"inventory": api.Inventory{Devices: test.rows, Outdated: newest}})
		args := append([]string{"tag", "upgrade", "x", "--server", address, "--token", "x"}, test.flags...)
		if code, out, errs := run(t, args...); code != exitRefused || !strings.Contains(out, test.want) {
			t.Errorf("%s: got %d and\n%s%s", name, code, out, errs)
		}
	}
}

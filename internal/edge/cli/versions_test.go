package cli

import (
	"strings"
	"testing"

	"muster/api"
)

func TestVersionsNameTheCommandThatListsOutdatedDevices(t *testing.T) {
	address, asked := serving(t, map[string]any{"inventory": api.Inventory{Total: 4, Matched: 4,
		Counts:   api.InventoryCounts{Versions: map[string]int{"v2.1.3": 1, "v1.30.0": 2, "": 1}, Outdated: 2},
		Outdated: api.OutdatedVersions{Newest: "v2.1.3", Versions: []string{"v1.30.0"}},
		Devices:  []api.InventoryDevice{}}})
	code, out, errs := run(t, "versions", "--tag", "it's", "--server", address, "--token", "x")
	if code != exitDone || errs != "" || !strings.Contains(out, "v1.30.0    2        yes") ||
		!strings.Contains(out, "v2.1.3     1        no") || !strings.Contains(out, "not known  1        -") {
		t.Fatalf("got %d and\n%s%s", code, out, errs)
	}
	_, command, _ := strings.Cut(out, "2 devices with an older version than v2.1.3, the newest that devices run: `muster ")
	if want := `device list --outdated --tag 'it'\''s'` + "`\n"; command != want {
		t.Errorf("got %q, want %q", command, want)
	}
	code, out, errs = run(t, "device", "list", "--tag", "it's", "--outdated", "--server", address, "--token", "x")
	if code != exitDone || errs != "" || asked["inventory"] != "outdated=true&tag=it%27s" {
		t.Errorf("got %d and\n%s%s, asked for %s", code, out, errs, asked["inventory"])
	}
}

func TestDevicesAreListedByTheVersionThatTheirsIsBefore(t *testing.T) {
	address, asked := serving(t, map[string]any{"inventory": api.Inventory{Devices: []api.InventoryDevice{}}})
	for _, args := range [][]string{{"--older-than", "2.1.0"}, {"--filter", "older-than=2.1.0"}} {
		code, _, errs := run(t, append([]string{"device", "list", "--server", address, "--token", "x"}, args...)...)
		if code != exitDone || errs != "" || asked["inventory"] != "version=%3C2.1.0" {
			t.Errorf("%q: got %d and %s, asked for %s", args, code, errs, asked["inventory"])
		}
	}
	for _, args := range []string{"--older-than <2", "--older-than 2.1.0 --version v1.29.0",
		"--older-than 2 --filter older-than=3"} {
		code, _, errs := run(t, append([]string{"device", "list", "--server", address, "--token", "x"},
			strings.Fields(args)...)...)
		if code != exitUsage || !strings.Contains(errs, "version") {
			t.Errorf("%s: got %d and %s", args, code, errs)
		}
	}
}

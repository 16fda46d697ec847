package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// majorsLine says before the question about an upgrade which major versions the devices run, and how many of them go to
// a new major version, with what that means.
func (c ordering) majorsLine(ctx context.Context, server *client.Client, spec client.OrderSpec, devices []api.Device,
) (string, error) {
	if spec.Type != client.OrderUpgrade || c.Yes {
		return "", nil
	}
	all, err := server.Inventory(ctx, client.InventoryQuery{})
	if err != nil {
		return "", err
	}
	ids := make(map[string]bool, len(devices))
	for _, d := range devices {
		ids[d.DeviceID] = true
	}
	running := map[int]int{}
	for _, row := range all.Devices {
		if ids[row.DeviceID] {
			running[majorOf(row.Version)]++
		}
	}
	return majorsText(running, majorOf(all.Outdated.Newest), spec.Major), nil
}

// majorsText is the line about devices by the major version that they run, 0 for one that is not known.
func majorsText(running map[int]int, newest int, allowed bool) string {
	parts, older := []string{}, 0
	for _, major := range slices.Sorted(maps.Keys(running)) {
		verb, name := "run", fmt.Sprintf("version %d", major)
		if running[major] == 1 {
			verb = "runs"
		}
		if major == 0 {
			name = "a version that is not known"
		} else if major < newest {
			older += running[major]
		}
		parts = append(parts, fleet.NumberText(running[major])+" "+verb+" "+name)
	}
	text := strings.Join(parts, ", ") + "."
	switch {
	case older > 0 && allowed:
		text += fmt.Sprintf(" To the new major version %d: %s. Syncthing converts its database then, and its earlier "+
			"version cannot read that any more: read the release notes.", newest, counted(older, "device"))
	case older > 0:
		text += fmt.Sprintf(" %s would go to the new major version %d: without --major the upgrade fails there.",
			counted(older, "device"), newest)
	case allowed:
		text += " Each goes to a new major version where that is the newest release: read the release notes."
	}
	return text + "\n"
}

// majorOf is the major version in "v2.1.3", 0 where it is not known.
func majorOf(version string) int {
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	number, _ := strconv.Atoi(major) // "" and texts that are no version are 0
	return number
}

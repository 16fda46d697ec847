package plan

import (
	"maps"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// LastShares returns, sorted, the IDs of the folders that stay on a device and lose their last share with another
// device through these changes.
func LastShares(own fleet.DeviceID, changes []Change, observed, desired stconfig.Value) []string {
	ids := map[string]bool{}
	for _, c := range changes {
		if c.Class != Skipped && c.Class != Refused && c.Key.Len() >= 3 && !c.Key.At(1).Every &&
			strings.EqualFold(c.Key.At(0).Name, "folders") && strings.EqualFold(c.Key.At(2).Name, "devices") {
			ids[c.Key.At(1).Name] = true
		}
	}
	if len(ids) == 0 {
		return nil
	}
	before, after := sharedWith(own, observed, ids), sharedWith(own, desired, ids)
	for id := range ids {
		if others, stays := after[id]; before[id] == 0 || !stays || others > 0 {
			delete(ids, id)
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// sharedWith counts with how many other devices a configuration shares some folders. It leaves out folders that the
// configuration lacks.
func sharedWith(own fleet.DeviceID, doc stconfig.Value, ids map[string]bool) map[string]int {
	others := map[string]int{}
	for folder := range doc.Get("folders").Values() {
		id := folder.Get("id").Str()
		if !ids[id] {
			continue
		}
		others[id] = 0
		for share := range folder.Get("devices").Values() {
			if share.Get("deviceID").Str() != string(own) {
				others[id]++
			}
		}
	}
	return others
}

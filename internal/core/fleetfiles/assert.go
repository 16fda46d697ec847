package fleetfiles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Subject is a device on which assertions are checked.
type Subject struct {
	ID    fleet.DeviceID
	Label string
	Tags  []fleet.Tag
}

// CheckAssertion returns an error for an assertion that is wrong in any fleet: it names no subject or more than one,
// or nothing to check, or a key that cannot be parsed or is a secret, or a value that is not JSON.
func CheckAssertion(a fleet.Assertion) error {
	about := 0
	for _, given := range []bool{a.Device != "", a.Tag != "", a.All} {
		if given {
			about++
		}
	}
	if about != 1 {
		return fleet.Invalidf("", "an assertion is about one `device`, one `tag`, or `all: true`: give one of the three")
	}
	if len(a.Expect)+len(a.Absent)+len(a.Count) == 0 && a.Devices == nil && !a.NoUnregisteredShares {
		return fleet.Invalidf("", "nothing is asserted: give expect, absent, count, devices or noUnregisteredShares")
	}
	for _, text := range slices.Concat(slices.Collect(maps.Keys(a.Expect)), a.Absent, slices.Collect(maps.Keys(a.Count))) {
		key, err := stconfig.ParseKey(text)
		if err != nil {
			return fleet.Invalidf(text, "%v", err)
		}
		if stconfig.SecretKey(key) {
			return fleet.Invalidf(text, "%s is a secret: assertions do not compare secrets", text)
		}
	}
	for text, value := range a.Expect {
		if _, err := stconfig.Parse(value); err != nil {
			return fleet.Invalidf(text, "the value is no JSON")
		}
	}
	return nil
}

// Selected returns the devices that an assertion is about. broken reports an assertion about a device that does not
// exist, or about another number of devices than it expects.
func Selected(a fleet.Assertion, all []Subject) (selected []Subject, broken []fleet.BrokenAssertion) {
	for _, of := range all {
		if a.All || a.Device != "" && (of.Label == a.Device || string(of.ID) == a.Device) ||
			a.Tag != "" && slices.Contains(of.Tags, fleet.Tag(a.Tag)) {
			selected = append(selected, of)
		}
	}
	switch {
	case a.Device != "" && len(selected) != 1:
		broken = append(broken, fleet.BrokenAssertion{Name: a.Name, Expected: fmt.Sprintf("one device %q", a.Device),
			Got: fleet.Counted(len(selected), "device", "devices")})
	case a.Devices != nil && *a.Devices != len(selected):
		broken = append(broken, fleet.BrokenAssertion{Name: a.Name, Expected: fleet.Counted(*a.Devices, "device", "devices"),
			Got: fleet.Counted(len(selected), "device", "devices")})
	}
	return selected, broken
}

// Broken returns the parts of an assertion that a device would break if config were its configuration.
func Broken(a fleet.Assertion, of Subject, config stconfig.Value, registered func(fleet.DeviceID) bool) (
	broken []fleet.BrokenAssertion) {
	is := func(key, expected, got string) {
		broken = append(broken, fleet.BrokenAssertion{Name: a.Name, Device: of.ID, Key: key, Expected: expected, Got: got})
	}
	for _, text := range slices.Sorted(maps.Keys(a.Expect)) {
		found := lookup(config, text)
		if len(found) == 0 {
			is(text, compact(a.Expect[text]), "nothing")
		}
		want, err := stconfig.Parse(a.Expect[text])
		for _, at := range found {
			if err != nil || !at.value.Equal(want) {
				is(at.key, compact(a.Expect[text]), compact(stconfig.MaskAt(keyOf(at.key), at.value).JSON()))
			}
		}
	}
	for _, text := range a.Absent {
		for _, at := range lookup(config, text) {
			is(at.key, "nothing", compact(stconfig.MaskAt(keyOf(at.key), at.value).JSON()))
		}
	}
	for _, text := range slices.Sorted(maps.Keys(a.Count)) {
		found := lookup(config, text)
		if len(found) == 0 && a.Count[text] != 0 {
			is(text, strconv.Itoa(a.Count[text]), "nothing")
		}
		for _, at := range found {
			if n := at.value.Len(); n != a.Count[text] {
				is(at.key, strconv.Itoa(a.Count[text]), strconv.Itoa(n))
			}
		}
	}
	if a.NoUnregisteredShares {
		broken = append(broken, unregisteredShares(a, of, config, registered)...)
	}
	return broken
}

// unregisteredShares returns one broken assertion for each share of a folder with a device that is not registered.
func unregisteredShares(a fleet.Assertion, of Subject, config stconfig.Value, registered func(fleet.DeviceID) bool) (
	broken []fleet.BrokenAssertion) {
	for _, share := range lookup(config, "folders.*.devices.*") {
		id, err := fleet.ParseDeviceID(share.value.Get("deviceID").Str())
		if err == nil && (id == of.ID || registered(id)) {
			continue
		}
		broken = append(broken, fleet.BrokenAssertion{Name: a.Name, Device: of.ID, Key: share.key,
			Expected: "a registered device", Got: share.value.Get("deviceID").Str()})
	}
	return broken
}

type located struct {
	key   string
	value stconfig.Value
}

func keyOf(text string) stconfig.Key {
	key, _ := stconfig.ParseKey(text) // CheckAssertion has already parsed this key, so there is no error.
	return key
}

// lookup returns the values at a key, which may contain `*`.
func lookup(config stconfig.Value, text string) (found []located) {
	key, err := stconfig.ParseKey(text)
	if err != nil {
		return nil
	}
	for _, one := range expanded(config, key, 0) {
		if value := stconfig.Lookup(config, one); value.Exists() {
			found = append(found, located{one.String(), value})
		}
	}
	return found
}

// expanded returns the keys that a key with `*` selects in config. from is the index of the first name of the key
// that may still be a `*`.
func expanded(config stconfig.Value, key stconfig.Key, from int) []stconfig.Key {
	for i := from; i < key.Len(); i++ {
		if !key.At(i).Every {
			continue
		}
		var all []stconfig.Key
		above := key
		for above.Len() > i {
			above = above.Parent()
		}
		for _, name := range membersAt(stconfig.Lookup(config, above)) {
			one := above.Child(name)
			for j := i + 1; j < key.Len(); j++ {
				if one = one.Child(key.At(j).Name); key.At(j).Every {
					one = one.WithEvery(j)
				}
			}
			all = append(all, expanded(config, one, i+1)...)
		}
		return all
	}
	return []stconfig.Key{key}
}

func membersAt(value stconfig.Value) (names []string) {
	if value.Kind() == stconfig.Object {
		for name := range value.Members() {
			names = append(names, name)
		}
		return names
	}
	for member := range value.Values() {
		if id := member.Get("deviceID").Str(); id != "" {
			names = append(names, id)
		} else if id := member.Get("id").Str(); id != "" {
			names = append(names, id)
		}
	}
	return names
}

func compact(value json.RawMessage) string {
	const most = 200
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil || b.Len() > most {
		return strings.ToValidUTF8(string(value[:min(len(value), most)]), "") + "…"
	}
	return b.String()
}

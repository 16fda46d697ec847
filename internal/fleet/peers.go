package fleet

import (
	"iter"
	"slices"
	"sort"
	"strings"
	"unique"
)

// Peers is an immutable set of devices. Equal sets share their memory: the devices that share a folder mostly have the
// same set, so each of them costs one word. The zero value is the empty set. Sets can be compared with ==.
type Peers struct {
	ids unique.Handle[string] // sorted and joined; all device IDs have the same length
}

// PeersOf returns the set of these devices. The order does not matter; a text that is not a device ID is skipped.
func PeersOf(devices []DeviceID) Peers {
	valid := make([]DeviceID, 0, len(devices))
	for _, id := range devices {
		if len(id) == deviceIDLen {
			valid = append(valid, id)
		}
	}
	if len(valid) == 0 {
		return Peers{}
	}
	slices.Sort(valid)
	var joined strings.Builder
	valid = slices.Compact(valid)
	joined.Grow(len(valid) * deviceIDLen)
	for _, id := range valid {
		joined.WriteString(string(id))
	}
	return Peers{unique.Make(joined.String())}
}

func (p Peers) joined() string {
	if p == (Peers{}) {
		return ""
	}
	return p.ids.Value()
}

// Len returns the number of devices.
func (p Peers) Len() int { return len(p.joined()) / deviceIDLen }

// Size returns the bytes of memory of the set, which all equal sets share.
func (p Peers) Size() int { return len(p.joined()) }

// Has reports whether a device is in the set.
func (p Peers) Has(device DeviceID) bool {
	ids := p.joined()
	_, found := sort.Find(len(ids)/deviceIDLen, func(i int) int {
		return strings.Compare(string(device), ids[i*deviceIDLen:(i+1)*deviceIDLen])
	})
	return found
}

// All returns the devices ordered by ID. The IDs share the memory of the set: clone one that is kept for long.
func (p Peers) All() iter.Seq[DeviceID] {
	return func(yield func(DeviceID) bool) {
		for ids := p.joined(); ids != ""; ids = ids[deviceIDLen:] {
			if !yield(DeviceID(ids[:deviceIDLen])) {
				return
			}
		}
	}
}

// With returns the set plus a device.
func (p Peers) With(device DeviceID) Peers {
	if p.Has(device) {
		return p
	}
	return PeersOf(append(slices.Collect(p.All()), device))
}

// Without returns the set minus a device.
func (p Peers) Without(device DeviceID) Peers {
	if !p.Has(device) {
		return p
	}
	return PeersOf(slices.DeleteFunc(slices.Collect(p.All()), func(id DeviceID) bool { return id == device }))
}

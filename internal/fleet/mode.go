package fleet

import (
	"slices"
	"strings"
	"time"
)

// Mode says whether Muster writes to a device. The strictest of fleet, tag and device wins.
type Mode string

const (
	ModeOn      Mode = "on"
	ModeObserve Mode = "observe" // plan everything, write nothing
	ModePaused  Mode = "paused"  // do not even connect
)

// ParseMode parses "on", "observe" or "paused".
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case ModeOn, ModeObserve, ModePaused:
		return m, nil
	}
	return "", Invalidf("mode", "mode %q is not known: use on, observe or paused", s)
}

// OrOn returns the mode, or "on" when no mode was set.
func (m Mode) OrOn() Mode {
	if m == "" {
		return ModeOn
	}
	return m
}

// Stops reports whether the mode prevents Muster from writing and does not allow more than the present mode.
func (m Mode) Stops(now Mode) bool { return m != ModeOn && Strictest(m, now) == m }

// Strictest returns the mode that allows less.
func Strictest(a, b Mode) Mode {
	rank := map[Mode]int{ModeOn: 0, ModeObserve: 1, ModePaused: 2}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// ModeScope says whose mode is meant: a tag's, a device's or, when it is zero, the fleet's.
type ModeScope struct {
	Tag    Tag
	Device DeviceID
}

// ModeOf returns the mode of a device: the strictest of the fleet's, its tags' and its own. Nothing is written to a
// device that is revoked: who has it may not get more by the templates that apply to it.
func (r *Registry) ModeOf(id DeviceID) Mode {
	device := r.Devices[id]
	if device == nil {
		return r.Mode
	}
	mode := Strictest(r.modeOfTags(device.Tags), device.Mode())
	if r.IsRevoked(id) {
		mode = Strictest(mode, ModeObserve)
	}
	return mode
}

// ModeAt returns the mode of a device that a rollout holds at an older registry. The modes of its older tags count too,
// because the templates of those tags still apply to it. Its mode in the older registry also counts: it is observe when
// the database's record of those tags was altered.
func (r *Registry) ModeAt(older *Registry, id DeviceID) Mode {
	mode := r.ModeOf(id)
	if was := older.Devices[id]; was != nil && older != r {
		mode = Strictest(mode, Strictest(r.modeOfTags(was.Tags), was.Mode()))
	}
	return mode
}

func (r *Registry) modeOfTags(tags []Tag) Mode {
	mode := r.Mode
	for _, tag := range tags {
		if m, ok := r.TagModes[tag]; ok {
			mode = Strictest(mode, m)
		}
	}
	return mode
}

// ModeStop is a mode of the fleet, a tag or a device that prevents Muster from writing.
type ModeStop struct {
	Scope ModeScope
	Mode  Mode      // observe or paused
	Since time.Time // zero: unknown
	By    string    // name of the person or token that set the mode; "": unknown
}

// ModeStops returns all modes that prevent Muster from writing: first the fleet's, then those of tags by name, then
// those of devices in the order of the device list.
func (r *Registry) ModeStops() []ModeStop {
	var stops []ModeStop
	add := func(scope ModeScope, mode Mode) {
		if mode != "" && mode != ModeOn {
			stops = append(stops, ModeStop{Scope: scope, Mode: mode})
		}
	}
	add(ModeScope{}, r.Mode)
	for tag, mode := range r.TagModes {
		add(ModeScope{Tag: tag}, mode)
	}
	for id, device := range r.Devices {
		add(ModeScope{Device: id}, device.Mode())
	}
	slices.SortFunc(stops, r.compareStops)
	return stops
}

func (r *Registry) compareStops(a, b ModeStop) int {
	// The fleet is "", so it sorts before all tags; devices come after all tags.
	if a.Scope.Device == "" || b.Scope.Device == "" {
		if order := strings.Compare(string(a.Scope.Device), string(b.Scope.Device)); order != 0 {
			return order
		}
		return strings.Compare(string(a.Scope.Tag), string(b.Scope.Tag))
	}
	return CompareDevices(r.Devices[a.Scope.Device].Device, r.Devices[b.Scope.Device].Device)
}

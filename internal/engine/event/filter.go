package event

import "muster/internal/fleet"

// Filter picks events. An empty list asks for all; within a list any member will do, and every list must be met.
// Events about no single device pass only where no device and no tag is asked for.
type Filter struct {
	Types   []Type
	Devices []fleet.DeviceID
	Tags    []fleet.Tag
}

// picker is a filter made quick.
type picker struct {
	types   map[Type]bool
	devices map[fleet.DeviceID]bool
	tags    map[fleet.Tag]bool
}

func newPicker(f Filter) picker { return picker{set(f.Types), set(f.Devices), set(f.Tags)} }

// set is nil for an empty list.
func set[T comparable](list []T) map[T]bool {
	if len(list) == 0 {
		return nil
	}
	s := make(map[T]bool, len(list))
	for _, member := range list {
		s[member] = true
	}
	return s
}

// onlyLog reports whether nothing but entries of the log is asked for.
func (p picker) onlyLog() bool { return len(p.types) == 1 && p.types[TypeLog] }

func (p picker) picks(e *Event) bool {
	if p.types != nil && !p.types[e.Type] || p.devices != nil && !p.devices[e.Device] {
		return false
	}
	if p.tags == nil {
		return true
	}
	for _, tag := range e.Tags {
		if p.tags[tag] {
			return true
		}
	}
	return false
}

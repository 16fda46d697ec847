package stconfig

import "slices"

// Below is what a key can go on with.
type Below struct {
	Names   []string // fields, in the daemon's order
	Members bool     // names of a person's choice: the IDs of a list's members, or *
	Devices bool     // Members: they are device IDs
}

// BelowOf returns what a key can go on with. It is zero for a single value, and for what is not known.
func BelowOf(key Key) Below {
	if key.IsRoot() {
		return Below{Names: sections()}
	}
	at := shapeAt(key)
	switch {
	case at == nil:
		return Below{}
	case at.identified():
		return Below{Members: true, Devices: at.deviceNamed()}
	}
	return Below{Names: slices.DeleteFunc(slices.Clone(at.names), func(name string) bool {
		return at.fields[name].shape.readOnly
	})}
}

// HasParts reports whether a key can go on.
func HasParts(key Key) bool {
	below := BelowOf(key)
	return below.Members || len(below.Names) > 0
}

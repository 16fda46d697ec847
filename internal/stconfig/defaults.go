package stconfig

import "strings"

// WithoutDefaults is a folder or device without the fields that have the value which Syncthing itself starts them
// with, whatever the daemon's own `defaults` are. Entries of daemons of two versions, which know different fields, are
// compared by it. A value at another key stays as it is.
func WithoutDefaults(key Key, v Value) Value {
	if key.Len() != 2 || v.kind != Object {
		return v
	}
	name, known := map[string]string{"folders": "folder", "devices": "device"}[strings.ToLower(key.At(0).Name)]
	if !known {
		return v
	}
	old, current := builtinDefaults().Get(name), Sample().Get("defaults").Get(name)
	for _, always := range []string{"id", "path", "devices", "deviceID"} { // who and where: the sample's are no defaults
		old, current = old.Without(always), current.Without(always)
	}
	return withoutDefaults(v, old, current)
}

func withoutDefaults(v, old, current Value) Value {
	var left []Member
	for name, value := range v.Members() {
		was, is := old.Get(name), current.Get(name)
		if value.kind == Object && (was.Exists() || is.Exists()) {
			value = withoutDefaults(value, was, is)
		}
		known := was.Exists() || is.Exists()
		switch {
		case value.Equal(was), value.Equal(is), value.kind == Object && value.Len() == 0:
		case !known && (isZero(value) || name == "blockIndexing" && value.IsTrue()): // of 2.1.3
		default:
			left = append(left, Member{Name: name, Value: value})
		}
	}
	return Obj(left...)
}

// isZero tells a value that a field starts with unless its version gives it another one.
func isZero(v Value) bool {
	switch v.kind {
	case Bool:
		return !v.IsTrue()
	case String, Number:
		return v.text == "" || v.text == "0"
	case Array:
		return v.Len() == 0
	}
	return v.kind == Null
}

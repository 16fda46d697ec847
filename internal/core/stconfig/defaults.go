package stconfig

import "strings"

// WithoutDefaults returns a folder or device without the fields that have Syncthing's built-in default. The daemon's
// own `defaults` section plays no part. Entries of two daemon versions, which have different fields, become
// comparable. For a key that is neither a folder nor a device, WithoutDefaults returns v unchanged.
func WithoutDefaults(key Key, v Value) Value {
	if key.Len() != 2 || v.kind != Object {
		return v
	}
	name, known := map[string]string{"folders": "folder", "devices": "device"}[strings.ToLower(key.At(0).Name)]
	if !known {
		return v
	}
	old, current := builtinDefaults().Get(name), Sample().Get("defaults").Get(name)
	// These fields identify the sample or belong to it. Their values are not defaults.
	for _, always := range []string{"id", "path", "devices", "deviceID"} {
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
		case !known && (isZero(value) || name == "blockIndexing" && value.IsTrue()): // Daemons since 2.1.3 start with true.
		default:
			left = append(left, Member{Name: name, Value: value})
		}
	}
	return Obj(left...)
}

// isZero reports whether a value is the zero value of its type, with which most fields start.
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

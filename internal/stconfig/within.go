package stconfig

// LookupAt is Lookup in a value that stands, or would stand, at a key: at names a place in it.
func LookupAt(at Key, value Value, key Key) Value {
	p := place{value: value, shape: shapeAt(at)}
	for _, part := range key.parts[at.Len():] {
		i := p.position(part)
		if i < 0 {
			return Value{}
		}
		p = p.at(i)
	}
	return p.value
}

// ReplaceAt is Replace in a value that stands, or would stand, at a key.
func ReplaceAt(at Key, value Value, key Key, to Value) Value {
	return place{value: value, shape: shapeAt(at)}.replace(key.parts[at.Len():], to)
}

// Leaves calls visit for every value without named members in a value that stands at a key: fields, whole lists whose
// members have no identity, and empty objects and lists.
func Leaves(key Key, value Value, visit func(Key, Value)) {
	leaves(key, place{value: value, shape: shapeAt(key)}, visit)
}

func leaves(key Key, p place, visit func(Key, Value)) {
	p.shape = fit(p.shape, p.value)
	named := p.value.kind == Object || p.value.kind == Array && p.shape.allNamed(p.value)
	if !named || p.value.Len() == 0 {
		visit(key, p.value)
		return
	}
	for i := range p.value.Len() {
		leaves(key.Child(p.nameAt(i)), p.at(i), visit)
	}
}

// Start gives what a new member of an identified list starts from: the member's key, and what the defaults say.
type Start func(member Key, defaults Value) Value

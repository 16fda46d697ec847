package stconfig

import "slices"

// Lookup returns the value at a key without `*`, or Absent.
func Lookup(doc Value, key Key) Value {
	p := place{value: doc, shape: configuration}
	for _, part := range key.parts {
		at := p.position(part)
		if at < 0 {
			return Value{}
		}
		p = p.at(at)
	}
	return p.value
}

// position returns the position of the member of that name, or -1.
func (p *place) position(part Part) int {
	p.shape = fit(p.shape, p.value)
	switch {
	case part.Every:
		return -1
	case p.value.kind == Array && p.shape.identified():
		return p.find(part.Name)
	case p.shape.isFree():
		return p.value.exact(part.Name)
	}
	return p.value.index(part.Name)
}

// at returns the place of the member at position i.
func (p place) at(i int) place {
	if p.value.kind == Object {
		return place{value: p.value.At(i), shape: p.shape.below(p.value.Name(i))}
	}
	return place{value: p.value.At(i), shape: p.shape.member()}
}

// Replace returns the document with this value at the key. Absent removes the place. A missing member or field is
// added. The document stays as it is when the parent is missing.
func Replace(doc Value, key Key, value Value) Value {
	return place{value: doc, shape: configuration}.replace(key.parts, value)
}

func (p place) replace(parts []Part, value Value) Value {
	if len(parts) == 0 {
		return value
	}
	at := p.position(parts[0])
	if at < 0 {
		if len(parts) > 1 || parts[0].Every || !value.Exists() || !p.canHold(value, parts[0].Name) {
			return p.value
		}
		return p.value.plus(parts[0].Name, value)
	}
	next := p.at(at).replace(parts[1:], value)
	if !next.Exists() {
		p.value = p.value.withoutAt(at)
		return p.replace(parts[:1], Value{}) // Another spelling of the same name is removed too.
	}
	return p.value.withAt(at, next)
}

// canHold reports whether a value can become the member of that name. In a list the value's identity must be the name.
func (p place) canHold(value Value, name string) bool {
	if p.value.kind == Array {
		return p.shape.identified() && p.shape.identityOf(value) == name
	}
	return p.value.kind == Object
}

// Patch returns the document after the changes of a Diff.
func Patch(doc Value, changes []Change) Value {
	for len(changes) > 0 {
		patched, n := patchMembers(doc, changes)
		if n == 0 {
			patched, n = Replace(doc, changes[0].Key, changes[0].To), 1
		}
		doc, changes = patched, changes[n:]
	}
	return doc
}

// patchMembers applies the first n changes at once when they add, remove or replace members of one identified list, so
// that the list is copied only once. n is 0 when the first changes are of another kind.
func patchMembers(doc Value, changes []Change) (patched Value, n int) {
	parent, names := changes[0].Key.Parent(), map[string]bool{}
	for _, c := range changes {
		if c.Key.Len() != parent.Len()+1 || !c.Key.HasPrefix(parent) || c.Key.At(parent.Len()).Every ||
			names[c.Key.At(parent.Len()).Name] {
			break
		}
		names[c.Key.At(parent.Len()).Name] = true
	}
	list, s := Lookup(doc, parent), shapeAt(parent)
	if n = len(names); n < 2 || list.kind != Array || parent.HasEvery() || !s.allNamed(list) {
		return doc, 0
	}
	at := make(map[string]int, list.Len())
	for i, member := range list.kids.values {
		at[s.identityOf(member)] = i
	}
	values := slices.Clone(list.kids.values)
	for _, c := range changes[:n] {
		name := c.Key.At(parent.Len()).Name
		if i, there := at[name]; there {
			values[i] = c.To
		} else if c.To.Exists() && s.identityOf(c.To) == name {
			values = append(values, c.To)
		}
	}
	values = slices.DeleteFunc(values, func(v Value) bool { return !v.Exists() })
	return Replace(doc, parent, List(values...)), n
}

// nameAt returns the name by which a key selects the member at that position.
func (p place) nameAt(at int) string {
	if p.value.kind == Array {
		return p.shape.identityOf(p.value.At(at))
	}
	return spelled(p.shape, p.value.Name(at))
}

// LookupAt does what Lookup does in a value that belongs at the key `at`.
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

// ReplaceAt does what Replace does in a value that belongs at the key `at`.
func ReplaceAt(at Key, value Value, key Key, to Value) Value {
	return place{value: value, shape: shapeAt(at)}.replace(key.parts[at.Len():], to)
}

// Leaves visits every value without named members: fields, lists without identity as a whole, and empty objects and
// lists.
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

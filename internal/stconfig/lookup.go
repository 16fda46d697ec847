package stconfig

import "slices"

// Lookup is the value at a key without `*`; Absent when there is none.
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

// position is where the place has the member of that name, -1 when it has none.
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

// at is the place of the member at that position.
func (p place) at(i int) place {
	if p.value.kind == Object {
		return place{value: p.value.At(i), shape: p.shape.below(p.value.Name(i))}
	}
	return place{value: p.value.At(i), shape: p.shape.member()}
}

// Replace is the document with that value at the key, whatever was there; Absent removes it. A member or field that is
// not there is added; nothing changes where what it would be added to is missing.
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
		return p.replace(parts[:1], Value{}) // another spelling of the same name goes as well
	}
	return p.value.withAt(at, next)
}

// canHold tells whether a value can become a member of that name: in a list it has to be what the name says.
func (p place) canHold(value Value, name string) bool {
	if p.value.kind == Array {
		return p.shape.identified() && p.shape.identityOf(value) == name
	}
	return p.value.kind == Object
}

// Patch is the document with the changes of a Diff done, one after the other.
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

// patchMembers does the first n changes, where they come, go or are replaced in one identified list: the list is
// copied once, not for each of them. n is 0 where they are none such.
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

// nameAt is the name by which a key selects the member at that position.
func (p place) nameAt(at int) string {
	if p.value.kind == Array {
		return p.shape.identityOf(p.value.At(at))
	}
	return spelled(p.shape, p.value.Name(at))
}

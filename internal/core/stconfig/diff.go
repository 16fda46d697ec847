package stconfig

import (
	"slices"
)

// Change is one difference between two documents.
type Change struct {
	Key  Key
	From Value // Absent: added
	To   Value // Absent: removed
}

// Diff returns the changes that lead from one document to another, ordered by key. Members of identified lists are
// named by identity: a new or removed member is one change, a moved member is no change. Any other list is compared as
// a whole.
func Diff(from, to Value) []Change { return DiffAt(Key{}, from, to) }

// DiffAt is Diff for two values of one key without `*`.
func DiffAt(key Key, from, to Value) []Change {
	d := differ{path: slices.Clone(key.parts)}
	d.compare(from, to, shapeAt(key))
	slices.SortFunc(d.changes, func(a, b Change) int { return a.Key.Compare(b.Key) })
	return d.changes
}

// differ goes down two documents at once.
type differ struct {
	path    []Part
	changes []Change
}

func (d *differ) compare(from, to Value, s *shape) {
	if from == to {
		return // Both documents share the value: Apply copies only what it changes.
	}
	switch s = fit(fit(s, from), to); {
	case from.kind == Object && to.kind == Object:
		d.compareObjects(from, to, s)
	case from.kind == Array && to.kind == Array && d.comparePlaceByPlace(from, to, s):
	case from.kind == Array && to.kind == Array && s.allNamed(from) && s.allNamed(to):
		d.compareMembers(from, to, s)
	case !from.Equal(to):
		d.add(from, to)
	}
}

func (d *differ) add(from, to Value) {
	d.changes = append(d.changes, Change{Key: Key{slices.Clone(d.path)}, From: from, To: to})
}

// below compares two members of the same name. One of them may be Absent.
func (d *differ) below(name string, from, to Value, s *shape) {
	d.path = append(d.path, Part{Name: name})
	if from.Exists() && to.Exists() {
		d.compare(from, to, s)
	} else {
		d.add(from, to)
	}
	d.path = d.path[:len(d.path)-1]
}

func (d *differ) compareObjects(from, to Value, s *shape) {
	if from.Len() > 0 && from.Len() == to.Len() && &from.kids.names[0] == &to.kids.names[0] {
		d.compareValues(from, to, s)
		return
	}
	index := Value.indexNear
	if s.isFree() {
		index = func(v Value, name string, _ int) int { return v.exact(name) }
	}
	for i, name := range from.kids.names {
		at := index(to, name, i)
		switch {
		case at >= 0 && to.kids.values[at] == from.kids.values[i]: // The value is shared: the usual case.
		case index(from, name, i) == i: // Otherwise a later spelling of the name counts.
			d.below(spelled(s, name), from.At(i), memberAt(to, at), s.below(name))
		}
	}
	for i, name := range to.kids.names {
		if index(to, name, i) == i && index(from, name, i) < 0 {
			d.below(spelled(s, name), Value{}, to.At(i), s.below(name))
		}
	}
}

// compareValues compares an object with the object that Apply made from it. The two share their list of names.
func (d *differ) compareValues(from, to Value, s *shape) {
	for i, name := range from.kids.names {
		if from.kids.values[i] == to.kids.values[i] {
			continue
		}
		if s.isFree() && from.exact(name) != i || !s.isFree() && from.index(name) != i {
			continue // A later spelling of the name counts.
		}
		d.below(spelled(s, name), from.At(i), to.At(i), s.below(name))
	}
}

func spelled(s *shape, name string) string {
	if f, known := s.field(name); known {
		return f.name
	}
	return name
}

func memberAt(v Value, i int) Value {
	if i < 0 {
		return Value{}
	}
	return v.At(i)
}

// comparePlaceByPlace compares two identified lists position by position. This is the usual case, and skips members
// that both share. It returns false when the members are not at the same positions.
func (d *differ) comparePlaceByPlace(from, to Value, s *shape) bool {
	if !s.identified() || from.Len() != to.Len() {
		return false
	}
	var changed []int
	for i, member := range from.kids.values {
		if member == to.kids.values[i] {
			continue
		}
		if id := s.identityOf(member); id == "" || id != s.identityOf(to.kids.values[i]) {
			return false
		}
		changed = append(changed, i)
	}
	if len(changed) > 1 && !s.allNamed(from) || len(changed) == 1 && s.hasTwin(from, changed[0]) {
		return false
	}
	for _, i := range changed {
		d.below(s.identityOf(from.At(i)), from.At(i), to.At(i), s.entry)
	}
	return true
}

// hasTwin reports whether a list has another member with the identity of the one at position i.
func (s *shape) hasTwin(list Value, i int) bool {
	id := s.identityOf(list.At(i))
	for j, member := range list.kids.values {
		if j != i && s.identityOf(member) == id {
			return true
		}
	}
	return false
}

func (d *differ) compareMembers(from, to Value, s *shape) {
	left := make(map[string]Value, to.Len())
	for member := range to.Values() {
		left[s.identityOf(member)] = member
	}
	for member := range from.Values() {
		id := s.identityOf(member)
		d.below(id, member, left[id], s.entry)
		delete(left, id)
	}
	for member := range to.Values() {
		id := s.identityOf(member)
		if _, isNew := left[id]; isNew {
			d.below(id, Value{}, member, s.entry)
		}
	}
}

// allNamed reports whether every member of the list has an identity of its own. Other lists, which no daemon writes,
// are compared as a whole.
func (s *shape) allNamed(list Value) bool {
	if !s.identified() {
		return false
	}
	seen := make(map[string]bool, list.Len())
	for member := range list.Values() {
		id := s.identityOf(member)
		if id == "" || seen[id] {
			return false
		}
		seen[id] = true
	}
	return true
}

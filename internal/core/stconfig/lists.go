package stconfig

import (
	"slices"
	"strings"
)

// setList makes a list whose members have no identity.
func (a *applier) setList(p place, v Value) (Value, error) {
	values := make([]Value, 0, v.Len())
	for member := range v.Values() {
		made, err := a.element(p, member)
		if err != nil {
			return Value{}, err
		}
		values = append(values, made)
	}
	if made := p.shape.tidied(values); p.value.kind != Array || !made.Equal(p.value) {
		return made, nil
	}
	return p.value, nil
}

// tidied returns the members of a list without identity as the daemon stores them.
func (s *shape) tidied(values []Value) Value {
	switch {
	case s == nil:
	case s.empty.Exists() && (len(values) == 0 || len(values) == 1 && values[0] == Text("")):
		return s.empty
	case s.unique:
		seen := make(map[Value]bool, len(values))
		values = slices.DeleteFunc(values, func(v Value) bool {
			again := seen[v]
			seen[v] = true
			return again
		})
	}
	return List(values...)
}

// element returns one member of a list without identity as the daemon would write it.
func (a *applier) element(p place, v Value) (Value, error) {
	if p.shape == nil {
		return v, a.spendAll(v)
	}
	if p.shape.unique && v.kind == String {
		v = Text(strings.Trim(v.text, " "))
	}
	if p.shape.lines && v.kind == String {
		v = Text(strings.TrimSpace(v.text))
		if strings.ContainsAny(v.text, "\r\n") {
			return Value{}, a.fail("every member of %s is one line: make a list of the lines", a.here())
		}
	}
	child := place{shape: p.shape.entry, entry: true}
	if p.shape.blank.Exists() {
		child.base, child.fromBase = p.shape.blank, true
	}
	return a.set(child, v)
}

// setMembers sets an identified list. Members that the list already has keep their position, new members come last.
func (a *applier) setMembers(p place, v Value) (Value, error) {
	if p.value.kind != Array {
		p.value = List()
	}
	wanted, err := a.identify(p.shape, v)
	if err != nil {
		return Value{}, err
	}
	values := make([]Value, 0, v.Len()+1)
	for at, old := range p.value.kids.values {
		id := p.shape.identityOf(old)
		next, stays := wanted.byID[id]
		if stays {
			made, err := a.setMember(a.memberOf(p, at), id, next)
			if err != nil {
				return Value{}, err
			}
			values = append(values, made)
			delete(wanted.byID, id)
		}
	}
	for _, id := range wanted.order {
		next, isNew := wanted.byID[id]
		if !isNew {
			continue
		}
		made, err := a.setMember(a.newMember(p.shape, id), id, next)
		if err != nil {
			return Value{}, err
		}
		values = append(values, made)
	}
	made := a.withOwn(p.shape, List(values...), p.value)
	if slices.Equal(made.kids.values, p.value.kids.values) {
		return p.value, nil
	}
	return made, nil
}

func (a *applier) setMember(p place, id string, v Value) (Value, error) {
	a.path = append(a.path, Part{Name: id})
	defer func() { a.path = a.path[:len(a.path)-1] }()
	return a.set(p, v)
}

// mergeMembers merges members by identity and adds new ones. `append` does the same to an identified list.
func (a *applier) mergeMembers(p place, v Value) (Value, error) {
	wanted, err := a.identify(p.shape, v)
	if err != nil {
		return Value{}, err
	}
	have := make(map[string]int, p.value.Len())
	values := slices.Clone(p.value.childValues())
	for at, member := range values {
		have[p.shape.identityOf(member)] = at
	}
	for _, id := range wanted.order {
		child := a.newMember(p.shape, id)
		at, there := have[id]
		if there {
			child.value = values[at]
		}
		made, err := a.mergeMember(child, id, wanted.byID[id])
		switch {
		case err != nil:
			return Value{}, err
		case there:
			values[at] = made
		default:
			values = append(values, made)
		}
	}
	if p.value.kind == Array && slices.Equal(values, p.value.kids.values) {
		return p.value, nil
	}
	return List(values...), nil
}

func (a *applier) mergeMember(p place, id string, v Value) (Value, error) {
	a.path = append(a.path, Part{Name: id})
	defer func() { a.path = a.path[:len(a.path)-1] }()
	return a.merge(p, v)
}

// membersByID are members by identity, with the order in which the template gives them.
type membersByID struct {
	order []string
	byID  map[string]Value
}

// identify groups the members of a list by identity. Two equal members count once; two different members with the
// same identity are an error.
func (a *applier) identify(list *shape, v Value) (membersByID, error) {
	if a.budget != nil {
		if err := a.budget.take(2*v.Len(), 0); err != nil {
			return membersByID{}, err
		}
	}
	m := membersByID{make([]string, 0, v.Len()), make(map[string]Value, v.Len())}
	for member := range v.Values() {
		if member.kind != Object {
			return m, a.fail("%s %s", a.here(), list.memberMisfit(member))
		}
		id, err := a.identity(list, member.Get(list.identity))
		if err != nil {
			return m, err
		}
		member = member.With(list.identity, Text(id))
		before, twice := m.byID[id]
		if twice && !before.Equal(member) {
			return m, a.fail("%s is in %s twice, with different values", id, a.here())
		}
		if !twice {
			m.order = append(m.order, id)
			m.byID[id] = member
		}
	}
	return m, nil
}

// withOwn returns the list with the device's own entry where the list must have one: the old entry, or a new one.
func (a *applier) withOwn(list *shape, v, old Value) Value {
	if !list.identified() || list.own == ownNothing || a.own == "" || v.kind != Array {
		return v
	}
	isOwn := func(member Value) bool { return list.identityOf(member) == a.own }
	if slices.ContainsFunc(v.kids.values, isOwn) {
		return v
	}
	for member := range old.Values() {
		if isOwn(member) {
			return v.plus("", member)
		}
	}
	if list.own == ownAlways {
		return v.plus("", list.blank.With(list.identity, Text(a.own)))
	}
	return v
}

// add appends to a list.
func (a *applier) add(p place, v Value) (Value, error) {
	if kind := p.kind(); kind != Array {
		return Value{}, a.fail("append adds members to a list, and %s is %s: use set or merge", a.here(), kindText(kind))
	}
	if v.kind != Array {
		v = List(v)
	}
	if p.shape.identified() {
		return a.mergeMembers(p, v)
	}
	values := slices.Clip(p.value.childValues())
	for member := range v.Values() {
		made, err := a.element(p, member)
		if err != nil {
			return Value{}, err
		}
		if !slices.ContainsFunc(values, made.Equal) {
			values = append(values, made)
		}
	}
	if p.value.kind == Array && len(values) == p.value.Len() {
		return p.value, nil
	}
	return p.shape.tidied(values), nil
}

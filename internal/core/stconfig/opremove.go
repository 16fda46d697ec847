package stconfig

import "slices"

// remove removes what the key selects, or members of the list at the key.
func (a *applier) remove(p place, v Value) (Value, error) {
	switch {
	case v.kind == Null, v.kind == Bool && !v.IsTrue():
		return Value{}, a.fail("the value of a remove is true, or what is to be removed from %s", a.here())
	case v.IsTrue() && p.entry:
		return Value{}, nil
	case v.IsTrue(), p.kind() != Array && !p.entry && !a.isOpenMap(p):
		return Value{}, a.fail("%s is part of every configuration and cannot be removed: set the value that you want",
			a.here())
	case !p.value.Exists():
		return Value{}, nil
	case p.kind() == Array:
		return a.removeMembers(p, v)
	case a.isOpenMap(p):
		return a.removeEntries(p, v)
	}
	return Value{}, a.fail("%s is no list: the value true removes it", a.here())
}

func (a *applier) isOpenMap(p place) bool {
	return p.kind() == Object && p.shape.isFree() && !p.shape.closed
}

func (a *applier) removeMembers(p place, v Value) (Value, error) {
	if v.kind != Array {
		v = List(v)
	}
	gone, err := a.meant(p, v)
	if err != nil {
		return Value{}, err
	}
	kept := make([]Value, 0, p.value.Len())
	for member := range p.value.Values() {
		switch {
		case !gone(member):
			kept = append(kept, member)
		case p.shape.identified() && a.alwaysStays(p.shape, p.shape.identityOf(member)):
			a.skipMember(a.own, ownStays)
			kept = append(kept, member)
		}
	}
	if len(kept) == p.value.Len() {
		return p.value, nil
	}
	if p.shape.identified() {
		return List(kept...), nil
	}
	return p.shape.tidied(kept), nil
}

// meant returns a function that reports whether the template's values select a member: by its identity when the list
// has one, else by its value.
func (a *applier) meant(p place, v Value) (func(Value) bool, error) {
	if !p.shape.identified() {
		values := make([]Value, 0, v.Len())
		for member := range v.Values() {
			made, err := a.element(p, member)
			if err != nil {
				return nil, err
			}
			values = append(values, made)
		}
		return func(have Value) bool { return slices.ContainsFunc(values, have.Equal) }, nil
	}
	ids := make(map[string]bool, v.Len())
	for member := range v.Values() {
		if member.kind == Object {
			member = member.Get(p.shape.identity)
		}
		id, err := a.identity(p.shape, member)
		if err != nil {
			return nil, err
		}
		ids[id] = true
	}
	return func(have Value) bool { return ids[p.shape.identityOf(have)] }, nil
}

func (a *applier) removeEntries(p place, v Value) (Value, error) {
	if v.kind != Array {
		v = List(v)
	}
	for name := range v.Values() {
		if name.kind != String {
			return Value{}, a.fail("an entry of %s is named by a text, not by %s", a.here(), kindText(name.kind))
		}
		if at := p.value.exact(name.text); at >= 0 {
			p.value = p.value.withoutAt(at)
		}
	}
	return p.value, nil
}

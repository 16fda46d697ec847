package stconfig

import "slices"

// remove takes away what the key selects, or members of the list at the key.
func (a *applier) remove(p place, v Value) (Value, error) {
	switch {
	case v.kind == Null, v.kind == Bool && !v.IsTrue():
		return Value{}, a.fail("the value of a remove is true, or what is to be removed from %s", a.here())
	case v.IsTrue() && p.entry:
		return Value{}, nil
	case v.IsTrue(), p.kind() != Array && !p.entry && !a.isOpenMap(p):
		return Value{}, a.fail("%s is part of every configuration and cannot be removed: set the value that you want", a.here())
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
	for member := range v.Values() {
		is, err := a.sameMember(p, member)
		if err != nil {
			return Value{}, err
		}
		kept := slices.DeleteFunc(slices.Clone(p.value.childValues()), func(have Value) bool {
			if !is(have) {
				return false
			}
			if p.shape.identified() && a.isKept(p.shape, p.shape.identityOf(have)) {
				a.skipMember(a.own, ownStays)
				return false
			}
			return true
		})
		if len(kept) < p.value.Len() {
			p.value = List(kept...)
		}
	}
	return p.value, nil
}

// sameMember tells which members of the list a value means: by identity, else by value.
func (a *applier) sameMember(p place, v Value) (func(Value) bool, error) {
	if !p.shape.identified() {
		made, err := a.element(p, v)
		return made.Equal, err
	}
	if v.kind == Object {
		v = v.Get(p.shape.identity)
	}
	id, err := a.identity(p.shape, v)
	if err != nil {
		return nil, err
	}
	return func(have Value) bool { return p.shape.identityOf(have) == id }, nil
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

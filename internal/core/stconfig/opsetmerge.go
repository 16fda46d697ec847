package stconfig

import (
	"slices"
	"strings"
)

// set returns the value of the place after `set` to v.
func (a *applier) set(p place, v Value) (Value, error) {
	p.shape = fit(p.shape, p.value)
	kind, err := a.accept(p, v)
	switch {
	case err != nil || kind == Null:
		return v, err
	case kind == Object && p.shape.isFree():
		return a.setMap(p, v)
	case kind == Object:
		return a.setObject(p, v)
	case kind == Array && p.shape.identified():
		return a.setMembers(p, v)
	case kind == Array:
		return a.setList(p, v)
	}
	return a.scalar(p, v)
}

// merge returns the value of the place after merging v into it.
func (a *applier) merge(p place, v Value) (Value, error) {
	if p.fromBase && (p.value.kind == Absent || p.value.kind == Null) {
		if err := a.spendBase(p.base); err != nil {
			return Value{}, err
		}
		p.value = a.started(p)
	}
	if !p.value.Exists() {
		return a.set(p, v)
	}
	p.shape = fit(p.shape, p.value)
	kind, err := a.accept(p, v)
	switch {
	case err != nil || kind == Null:
		return v, err
	case kind == Object && p.shape.isFree():
		return a.mergeMap(p, v)
	case kind == Object && p.value.kind == Object:
		return a.mergeObject(p, v)
	case kind == Array && p.shape.identified():
		return a.mergeMembers(p, v)
	}
	return a.set(p, v)
}

// setObject sets an object of fixed shape. Inside folders and devices, fields that v does not name come from the
// defaults. Elsewhere v must name every field, because the daemon would reset the others to its built-in defaults.
func (a *applier) setObject(p place, v Value) (Value, error) {
	if p.value.kind != Object {
		switch {
		case p.base.kind == Object:
		case p.shape == nil:
			return v, a.spendAll(v)
		default:
			p.base = p.shape.zero()
		}
		if err := a.spendBase(p.base); err != nil {
			return Value{}, err
		}
		p.value = p.base
	}
	old := p.value
	given, err := a.given(p, v)
	if err != nil {
		return Value{}, err
	}
	var missing []string
	values := make([]Value, old.Len())
	for _, at := range p.order() {
		if values[at], err = a.setField(p, at, given[at]); err != nil {
			return Value{}, err
		}
		if !values[at].Exists() {
			missing, values[at] = append(missing, old.Name(at)), old.At(at)
		}
	}
	if len(missing) > 0 {
		return Value{}, a.fail("%s lacks %s: `set` must name every field here, use merge to change some", a.here(),
			listed(missing))
	}
	return old.withValues(values), nil
}

// setField returns the new value of the field at position at. Absent means that the template must name the field but
// did not.
func (a *applier) setField(p place, at int, v Value) (Value, error) {
	child, name := p.field(at), p.value.Name(at)
	f, _ := p.shape.field(name)
	switch {
	case v.Exists():
		a.path = append(a.path, Part{Name: name})
		defer func() { a.path = a.path[:len(a.path)-1] }()
		made, err := a.set(child, v)
		if p.shape == configuration && name == "defaults" {
			a.defaults = made
		}
		return made, err
	case f.noDefault && p.fromBase:
		return Text(""), nil
	case p.fromBase && child.base.Exists():
		if child.base != child.value {
			if err := a.spendBase(child.base); err != nil {
				return Value{}, err
			}
		}
		return a.withOwn(child.shape, child.base, child.value), nil
	case p.fromBase, f.shape != nil && f.shape.readOnly, p.shape == configuration && name == "ignores":
		return child.value, nil
	}
	return Value{}, nil
}

// order returns the positions of the members in the order in which they are made. `defaults` comes first, because
// folders start from it.
func (p place) order() []int {
	order := make([]int, p.value.Len())
	for at := range order {
		order[at] = at
	}
	if at := p.value.index("defaults"); at > 0 && p.shape == configuration {
		copy(order[1:], order[:at])
		order[0] = at
	}
	return order
}

// given returns the fields that v names, each at its position in the document, and skips fields that the document
// does not have. Of two spellings of one name the later counts, as in the daemon.
func (a *applier) given(p place, v Value) ([]Value, error) {
	if err := a.checkSkips(); err != nil {
		return nil, err
	}
	given := make([]Value, p.value.Len())
	for name, member := range v.Members() {
		at := p.value.index(name)
		if at < 0 {
			if err := a.checkName(name); err != nil {
				return nil, err
			}
			f, known := p.shape.field(name)
			if known {
				name = f.name
			}
			a.skipMember(name, a.noField(p, name))
			continue
		}
		if f, _ := p.shape.field(name); f.shape != nil && f.shape.readOnly {
			if !member.Equal(p.value.At(at)) {
				return nil, a.fail("%s belongs to the daemon: leave it out", f.name)
			}
			continue
		}
		given[at] = member
	}
	return given, nil
}

func (a *applier) mergeObject(p place, v Value) (Value, error) {
	given, err := a.given(p, v)
	if err != nil {
		return Value{}, err
	}
	values := slices.Clone(p.value.kids.values)
	for _, at := range p.order() {
		if !given[at].Exists() {
			continue
		}
		if values[at], err = a.mergeField(p, at, given[at]); err != nil {
			return Value{}, err
		}
	}
	return p.value.withValues(values), nil
}

func (a *applier) mergeField(p place, at int, v Value) (Value, error) {
	name := p.value.Name(at)
	a.path = append(a.path, Part{Name: name})
	defer func() { a.path = a.path[:len(a.path)-1] }()
	made, err := a.merge(p.field(at), v)
	if p.shape == configuration && name == "defaults" {
		a.defaults = made
	}
	return made, err
}

// started returns a new member before the template's value is merged into it.
func (a *applier) started(p place) Value {
	v := p.base
	for _, name := range p.shapeNames() {
		f := p.shape.fields[name]
		at := v.index(name)
		switch {
		case at < 0:
		case f.noDefault:
			v = v.withAt(at, Text(""))
		case f.shape.own == ownAlways:
			v = v.withAt(at, a.withOwn(f.shape, v.At(at), Value{}))
		}
	}
	return v
}

func (p place) shapeNames() []string {
	if p.shape == nil || p.base.kind != Object {
		return nil
	}
	return p.shape.names
}

// setMap sets a free map. The daemon starts from its default entries and replaces or adds the ones that it is sent.
func (a *applier) setMap(p place, v Value) (Value, error) {
	old := p.value
	if p.shape.closed {
		for name := range old.Members() {
			if v.exact(name) < 0 {
				return Value{}, a.fail("%s lacks %s: `set` must name every one here, use merge to change some", a.here(), name)
			}
		}
		return a.mergeMap(p, v)
	}
	p.value = Obj()
	if p.base.kind == Object {
		p.value = p.base
	}
	made, err := a.mergeMap(p, v)
	if err == nil && sameEntries(made, old) {
		return old, nil
	}
	return made, err
}

// sameEntries compares free maps by their exact names, which are data.
func sameEntries(a, b Value) bool {
	if a.Len() != b.Len() || b.kind != Object {
		return false
	}
	for name, member := range a.Members() {
		if at := b.exact(name); at < 0 || !member.Equal(b.At(at)) {
			return false
		}
	}
	return true
}

func (a *applier) mergeMap(p place, v Value) (Value, error) {
	if p.value.kind != Object {
		p.value = Obj()
	}
	members := make([]Member, 0, p.value.Len()+v.Len())
	at := make(map[string]int, cap(members))
	for name, member := range p.value.Members() {
		at[name] = len(members)
		members = append(members, Member{name, member})
	}
	for name, member := range v.Members() {
		i, there := at[name]
		if !there {
			if p.shape.closed {
				a.skipMember(name, noEntry(p.shape, name))
				continue
			}
			i, at[name] = len(members), len(members)
			members = append(members, Member{Name: name})
		}
		made, err := a.setEntry(p.shape.entry, name, members[i].Value, member)
		if err != nil {
			return Value{}, err
		}
		members[i].Value = made
	}
	if len(members) > p.value.Len() {
		return Obj(members...), nil
	}
	values := make([]Value, len(members))
	for i, m := range members {
		values[i] = m.Value
	}
	return p.value.withValues(values), nil
}

// setEntry returns the new value of a free map's entry.
func (a *applier) setEntry(entry *shape, name string, old, v Value) (Value, error) {
	if err := a.checkName(name); err != nil {
		return Value{}, err
	}
	if err := a.spend(0, len(name)); err != nil {
		return Value{}, err
	}
	a.path = append(a.path, Part{Name: name})
	defer func() { a.path = a.path[:len(a.path)-1] }()
	return a.set(place{shape: entry, entry: true, value: old}, v)
}

func listed(names []string) string {
	const enough = 5
	if len(names) > enough {
		return strings.Join(names[:enough], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

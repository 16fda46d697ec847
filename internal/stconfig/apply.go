package stconfig

import (
	"slices"
	"strconv"

	"muster/internal/fleet"
)

// Skip is a change that was left out because the device has nothing that it could change.
type Skip struct {
	Key    Key
	Reason string // for a person
}

// Apply gives the document as op makes it with value at key. own is the device whose document it is. What cannot be
// done on this device is skipped and said; what can be done on none is an error. Doing it twice is doing it once. Only
// what lies on the way to the key is copied.
func Apply(doc Value, op fleet.Op, key Key, value Value, own fleet.DeviceID) (Value, []Skip, error) {
	return Application{Op: op, Key: key, Value: value, Own: own}.To(doc)
}

// Application is an op with a value at a key, for the document of a device.
type Application struct {
	Op     fleet.Op
	Key    Key
	Value  Value
	Own    fleet.DeviceID
	From   Start   // nil: new members start from the defaults alone
	Budget *Budget // nil: there is none
}

// To is the document with it.
func (p Application) To(doc Value) (Value, []Skip, error) {
	op, err := fleet.ParseOp(string(p.Op))
	if err != nil {
		return doc, nil, err
	}
	a := &applier{op: op, key: p.Key, value: p.Value, own: string(p.Own), defaults: doc.Get("defaults"), from: p.From,
		budget: p.Budget}
	if doc.kind != Object {
		return doc, nil, a.fail("the configuration is %s, not an object", kindText(doc.kind))
	}
	if !p.Value.Exists() {
		return doc, nil, a.fail("there is no value to %s", op)
	}
	result, err := a.walk(place{value: doc, shape: configuration}, 0)
	if err != nil {
		return doc, nil, err
	}
	return result, a.skips, nil
}

// applier is one Apply under way.
type applier struct {
	op       fleet.Op
	key      Key
	value    Value
	own      string
	defaults Value  // the document's; the new ones once the change has set them
	path     []Part // to where the work is, every `*` replaced by a member's name
	skips    []Skip
	from     Start   // nil: new members start from the defaults alone
	budget   *Budget // nil: there is none
}

// place is where the work is.
type place struct {
	value Value  // what the document has; Absent for a member that is to be made
	shape *shape // what is known about it; may be nil
	base  Value  // what it starts from, when laid
	laid  bool   // in a member of an identified list: what is not named comes from base
	list  *shape // the identified list that this is a member of
	entry bool   // a member of a list or an entry of a free map: it can be removed

	identity bool // the field that names the member that it is in
}

// walk goes down to the key's name i, acts there, and gives the place's new value; Absent when it is to be removed.
func (a *applier) walk(p place, i int) (Value, error) {
	p.shape = fit(p.shape, p.value)
	if err := a.checkSkips(); err != nil {
		return Value{}, err
	}
	if i == a.key.Len() {
		return a.act(p)
	}
	if p.value.kind == Null && p.shape != nil && p.shape.kind == Array { // how old daemons write an empty list
		empty := p
		empty.value = List()
		made, err := a.walk(empty, i)
		if err != nil || made.Len() == 0 {
			return p.value, err
		}
		return made, nil
	}
	part := a.key.At(i)
	switch {
	case p.value.kind == Null:
		a.skip(a.key.parts[i:], "the daemon has nothing here")
		return p.value, nil
	case p.value.kind != Object && p.value.kind != Array:
		return Value{}, a.fail("%s is %s: nothing lies below it", a.here(), kindText(p.value.kind))
	case part.Every:
		return a.walkEvery(p, i)
	case p.value.kind == Array:
		return a.walkList(p, i)
	case p.shape.isFree():
		return a.walkMap(p, i)
	}
	return a.walkObject(p, i)
}

func (a *applier) walkObject(p place, i int) (Value, error) {
	part := a.key.At(i)
	at := p.value.index(part.Name)
	if at < 0 {
		a.skip(a.key.parts[i:], a.noField(p, part.Name))
		return p.value, nil
	}
	return a.descend(p, p.field(at), p.value.kids.names[at], at, i)
}

func (a *applier) walkMap(p place, i int) (Value, error) {
	part := a.key.At(i)
	if at := p.value.exact(part.Name); at >= 0 {
		return a.descend(p, p.entryOf(at), part.Name, at, i)
	}
	if p.shape.closed {
		a.skip(a.key.parts[i:], noEntry(p.shape, part.Name))
		return p.value, nil
	}
	return a.walkMissing(p, place{shape: p.shape.entry, entry: true}, i)
}

func (a *applier) walkList(p place, i int) (Value, error) {
	part := a.key.At(i)
	if !p.shape.identified() {
		return Value{}, a.fail("the members of %s have no names: the key ends here, or goes on with *", a.here())
	}
	if at := p.find(part.Name); at >= 0 {
		return a.descend(p, a.memberOf(p, at), part.Name, at, i)
	}
	return a.walkMissing(p, a.newMember(p.shape, part.Name), i)
}

// walkMissing is for a member or entry that the document does not have: ops that make one may do so at the key's end.
func (a *applier) walkMissing(parent, child place, i int) (Value, error) {
	part := a.key.At(i)
	if i < a.key.Len()-1 {
		a.skip(a.key.parts[i:], noMember(parent.shape, part.Name)+parent.called(part.Name))
		return parent.value, nil
	}
	a.path = append(a.path, part)
	made, err := a.act(child)
	a.path = a.path[:len(a.path)-1]
	if err != nil || !made.Exists() {
		return parent.value, err
	}
	return parent.value.plus(part.Name, made), nil
}

// descend walks on in the member at position at of p, which the path calls name.
func (a *applier) descend(p, child place, name string, at, i int) (Value, error) {
	made, err := a.member(p, child, name, i)
	switch {
	case err != nil:
		return Value{}, err
	case !made.Exists():
		return p.value.withoutAt(at), nil
	}
	return p.value.withAt(at, made), nil
}

// member is the new value of a member of p; Absent when it is to be removed.
func (a *applier) member(p, child place, name string, i int) (Value, error) {
	a.path = append(a.path, Part{Name: name})
	made, err := a.walk(child, i+1)
	a.path = a.path[:len(a.path)-1]
	if err == nil && !made.Exists() && a.isKept(p.shape, name) {
		a.skipMember(name, ownStays)
		return child.value, nil
	}
	return made, err
}

const ownStays = "a daemon always keeps its own device in the folders that it has"

// isKept tells whether the daemon would put this member right back.
func (a *applier) isKept(list *shape, id string) bool {
	return list.identified() && list.own == ownAlways && a.own != "" && id == a.own
}

// walkEvery walks on in all members.
func (a *applier) walkEvery(p place, i int) (Value, error) {
	kept := &kids{values: make([]Value, 0, p.value.Len())}
	for at := range p.value.Len() {
		name, child := a.memberAt(p, at)
		made, err := a.member(p, child, name, i)
		if err != nil {
			return Value{}, err
		}
		if !made.Exists() {
			continue
		}
		kept.values = append(kept.values, made)
		if p.value.kind == Object {
			kept.names = append(kept.names, p.value.Name(at))
		}
	}
	if slices.Equal(kept.values, p.value.childValues()) {
		return p.value, nil
	}
	kept.distinct = p.value.kids.distinct
	return Value{kind: p.value.kind, kids: kept}, nil
}

// memberAt is the name and place of the member at position at.
func (a *applier) memberAt(p place, at int) (string, place) {
	switch {
	case p.value.kind == Object && p.shape.isFree():
		return p.value.Name(at), p.entryOf(at)
	case p.value.kind == Object:
		return p.value.Name(at), p.field(at)
	case p.shape.identified():
		return p.shape.identityOf(p.value.At(at)), a.memberOf(p, at)
	}
	return strconv.Itoa(at), place{value: p.value.At(at), shape: p.shape.member(), entry: true}
}

// act does the op where the key ends.
func (a *applier) act(p place) (Value, error) {
	p.shape = fit(p.shape, p.value)
	if p.shape != nil && p.shape.readOnly {
		return Value{}, a.fail("%s belongs to the daemon: no template may change it", a.here())
	}
	value := a.value
	if p.list != nil && (a.op == fleet.OpSet || a.op == fleet.OpMerge) {
		var err error
		if value, err = a.named(p.list, a.path[len(a.path)-1].Name, value); err != nil {
			return Value{}, err
		}
	}
	switch a.op {
	case fleet.OpSet:
		return a.set(p, value)
	case fleet.OpMerge:
		return a.merge(p, value)
	case fleet.OpAppend:
		return a.add(p, value)
	default:
		return a.remove(p, value)
	}
}

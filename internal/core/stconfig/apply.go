package stconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// Skip is a change that was left out because the device has no place for it.
type Skip struct {
	Key    Key
	Reason string // sentence for a person
}

// Apply returns the document after op with value at key. own is the device whose document it is. A change that this
// device has no place for is skipped and reported. A change that no device could take is an error. Applying twice
// gives the same as applying once. Only the parts on the way to the key are copied.
func Apply(doc Value, op fleet.Op, key Key, value Value, own fleet.DeviceID) (Value, []Skip, error) {
	return Application{Op: op, Key: key, Value: value, Own: own}.To(doc)
}

// Application is an op with its key and value, for the document of one device.
type Application struct {
	Op     fleet.Op
	Key    Key
	Value  Value
	Own    fleet.DeviceID
	From   Start   // nil: new members start from the defaults alone
	Budget *Budget // nil: no bound
}

// To returns the document after the op.
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

// applier is the work in progress of one Apply.
type applier struct {
	op       fleet.Op
	key      Key
	value    Value
	own      string
	defaults Value  // the document's `defaults`, as the change leaves them
	path     []Part // the place that is being changed; each `*` is replaced by a member's name
	skips    []Skip
	from     Start   // nil: new members start from the defaults alone
	budget   *Budget // nil: no bound
}

// place describes the position in the document at which an op is applied.
type place struct {
	value Value  // value in the document; Absent for a new member
	shape *shape // what is known about the place; may be nil
	base  Value  // what a new member starts from
	// the place is in a member of an identified list: fields that the template does not name come from base
	fromBase bool
	list     *shape // the identified list that this is a member of
	entry    bool   // a member of a list or an entry of a free map: it can be removed

	identity bool // the place is the field that identifies the member around it
}

// walk goes down to name i of the key and applies the op at the end of the key. It returns the new value of the
// place; Absent means that the place is to be removed.
func (a *applier) walk(p place, i int) (Value, error) {
	p.shape = fit(p.shape, p.value)
	if err := a.checkSkips(); err != nil {
		return Value{}, err
	}
	if i == a.key.Len() {
		return a.act(p)
	}
	if p.value.kind == Null && p.shape != nil && p.shape.kind == Array { // Old daemons write an empty list as null.
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

// walkMissing handles a member or entry that the document does not have. An op may make it when it is the end of the
// key.
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

// descend walks on in the member at position at, which the path calls name.
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

// member returns the new value of a member; Absent when it is to be removed.
func (a *applier) member(p, child place, name string, i int) (Value, error) {
	a.path = append(a.path, Part{Name: name})
	made, err := a.walk(child, i+1)
	a.path = a.path[:len(a.path)-1]
	if err == nil && !made.Exists() && a.alwaysStays(p.shape, name) {
		a.skipMember(name, ownStays)
		return child.value, nil
	}
	return made, err
}

const ownStays = "a daemon always keeps its own device in the folders that it has"

// alwaysStays reports whether the daemon would add this member again at once.
func (a *applier) alwaysStays(list *shape, id string) bool {
	return list.identified() && list.own == ownAlways && a.own != "" && id == a.own
}

// walkEvery walks on in every member.
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

// memberAt returns the name and the place of the member at position at.
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

// act applies the op at the end of the key.
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

// Start returns what a new member of an identified list starts from. defaults is what the daemon's `defaults` give.
type Start func(member Key, defaults Value) Value

// field returns the place of the object's field at position at.
func (p place) field(at int) place {
	name := p.value.kids.names[at]
	child := place{value: p.value.kids.values[at], shape: p.shape.below(name), fromBase: p.fromBase}
	if p.fromBase {
		child.base = sameMember(p.base, name, at)
	}
	child.identity = p.list != nil && strings.EqualFold(name, p.list.identity)
	return child
}

// sameMember returns the member of that name. It looks first at the position at which the other object has it.
func sameMember(v Value, name string, at int) Value {
	if i := v.indexNear(name, at); i >= 0 {
		return v.kids.values[i]
	}
	return Value{}
}

// entryOf returns the place of the free map's entry at position at.
func (p place) entryOf(at int) place {
	return place{value: p.value.At(at), shape: p.shape.entry, entry: !p.shape.closed, fromBase: p.fromBase}
}

// find returns the position of the member with that identity, or -1.
func (p place) find(id string) int {
	values := p.value.kids.values
	at := slices.IndexFunc(values, func(member Value) bool { return member.first(p.shape.identity).text == id })
	if at < 0 && p.shape.deviceNamed() { // No daemon wrote this document.
		at = slices.IndexFunc(values, func(member Value) bool {
			return maySpell(member, id) &&
				p.shape.identityOf(member) == id
		})
	}
	return at
}

// maySpell is a quick test whether a member may be this device in another spelling of its ID.
func maySpell(member Value, id string) bool {
	text := member.first("deviceID").text
	return text != "" && id != "" && (text[0] == id[0] || text[0] < 'A' || text[0] > 'Z')
}

// memberOf returns the place of the identified list's member at position at.
func (a *applier) memberOf(p place, at int) place {
	child := a.newMember(p.shape, p.shape.identityOf(p.value.At(at)))
	child.value = p.value.At(at)
	return child
}

// newMember returns the place of a new member of the identified list at a.path.
func (a *applier) newMember(list *shape, id string) place {
	base := a.start(list)
	if a.from != nil {
		base = a.from(Key{a.path}.Child(id), base)
	}
	return place{shape: list.entry, base: base, fromBase: true, list: list, entry: true}
}

// start returns what a new member of the list starts from, before Start.
func (a *applier) start(list *shape) Value {
	if list.defaults == "" {
		return list.blank
	}
	base := a.defaults.Get(list.defaults)
	if base.kind != Object {
		base = builtinDefaults().Get(list.defaults)
	}
	if base.index(list.identity) < 0 { // No daemon writes such defaults, but every member needs its identity.
		base = base.plus(list.identity, Text(""))
	}
	return base
}

// named puts the identity into a member's value. The value may leave it out but not contradict the key.
func (a *applier) named(list *shape, id string, value Value) (Value, error) {
	if id == "" {
		return Value{}, a.fail("every member of a list has its %s: an empty one names none", list.identity)
	}
	if value.kind != Object {
		return value, nil // The check of the value's type gives a better error.
	}
	if said := value.Get(list.identity); said.Exists() {
		if saidID, err := a.identity(list, said); err != nil || saidID != id {
			return Value{}, a.fail("the %s of a member does not change: remove the member and add another", list.identity)
		}
	}
	return value.With(list.identity, Text(id)), nil
}

// identity returns the canonical identity of a member as a template wrote it.
func (a *applier) identity(list *shape, said Value) (string, error) {
	switch {
	case said.kind == String && said.text != "" && list.deviceNamed():
		if id := canonicalID(said.text); id != "" {
			return id, nil
		}
		return "", a.fail("%s is not a device ID: %s", appendString(nil, shortened(said.text)), whyNoID(said.text))
	case said.kind == String && said.text != "":
		return said.text, a.checkName(said.text)
	}
	return "", a.fail("every member of %s needs its %s, a text", a.here(), list.identity)
}

// whyNoID says why a text is not a device ID, or how a template names devices by their labels.
func whyNoID(text string) string {
	const likely = 40 // characters
	if _, err := fleet.ParseDeviceID(text); err != nil && len(text) >= likely {
		return strings.TrimPrefix(fleet.Reason(err), "this is not a device ID: ")
	}
	return "a label cannot stand here; a program finds the ID: " + idByLabel
}

const idByLabel = `[d.deviceID for d in devices() if d.label == "nas"]`

// memberMisfit says that the members of a list with an identity are objects, and how to write one in the place of a
// value. The text follows the name of the list.
func (s *shape) memberMisfit(v Value) string {
	text := fmt.Sprintf("has objects with %s as members, not %s", s.identity, kindText(v.kind))
	switch {
	case v.kind != String:
		return text
	case !s.deviceNamed():
		return fmt.Sprintf(`%s: write {"%s": %s}`, text, s.identity, appendString(nil, shortened(v.text)))
	case canonicalID(v.text) != "":
		return fmt.Sprintf(`%s: write {"%s": "%s"}`, text, s.identity, canonicalID(v.text))
	}
	return fmt.Sprintf(`%s: write {"%s": ID}; a label cannot stand for the ID, and a program finds it: %s`, text,
		s.identity, idByLabel)
}

// here returns the key of the place that is being changed.
func (a *applier) here() string {
	if len(a.path) == 0 {
		return "the configuration"
	}
	return Key{a.path}.String()
}

// skip records that the key continues with rest below the current place and that the change is not made there.
func (a *applier) skip(rest []Part, reason string) {
	a.skips = append(a.skips, Skip{Key: Key{slices.Concat(a.path, rest)}, Reason: reason})
}

// skipMember records that the change is not made to one member of the current place.
func (a *applier) skipMember(name, reason string) { a.skip([]Part{{Name: name}}, reason) }

// DuringApply is the During of errors of Apply. A message that names the template leaves it out.
const DuringApply = "apply template"

func (a *applier) fail(format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	return &fleet.Error{Code: fleet.CodeInvalid, During: DuringApply, Message: message,
		Details: []fleet.Detail{{Field: "template", Message: message}}}
}

// noField returns the reason for skipping a field.
func (a *applier) noField(p place, name string) string {
	if p.shape == configuration && fold(name) == "ignores" {
		return "the ignore patterns of this device were not read yet"
	}
	if _, known := p.shape.field(name); known {
		return fmt.Sprintf("the version of this daemon has no field %s", name)
	}
	reason := fmt.Sprintf("this daemon has no field %s", name)
	if near := didYouMean(name, p.value.kids.names); near != "" {
		reason += ": " + near
	}
	return reason
}

// lastName returns the last name of the path, or "".
func (a *applier) lastName() string {
	if len(a.path) == 0 {
		return ""
	}
	return a.path[len(a.path)-1].Name
}

func noEntry(m *shape, name string) string {
	if m == configuration.fields["ignores"].shape {
		return fmt.Sprintf("the ignore patterns of folder %s were not read", name)
	}
	return fmt.Sprintf("this device has no %s here", name)
}

// called suggests the folder that the user probably meant when the folder ID is unknown: a folder with this label, one
// with this ID in other letter case, or one with a similar ID.
func (p place) called(name string) string {
	if p.shape != configuration.fields["folders"].shape {
		return ""
	}
	var ids []string
	for folder := range p.value.Values() {
		id := p.shape.identityOf(folder)
		ids = append(ids, id)
		switch {
		case strings.EqualFold(id, name):
			return fmt.Sprintf(": did you mean %s? Letter case counts in IDs", id)
		case folder.Get("label").Str() == name:
			return fmt.Sprintf(": a key names a folder by its ID, and the folder with this label has the ID %s", id)
		}
	}
	return nearest(name, ids)
}

func noMember(list *shape, id string) string {
	switch {
	case list == configuration.fields["folders"].shape:
		return fmt.Sprintf("this device has no folder %s", id)
	case list == configuration.fields["devices"].shape:
		return fmt.Sprintf("this device does not know device %s", id)
	case list == folderDevices:
		return fmt.Sprintf("the folder is not shared with device %s", id)
	}
	return fmt.Sprintf("this device has no %s here", id)
}

package stconfig

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// field is the place of the object's member at position at.
func (p place) field(at int) place {
	name := p.value.kids.names[at]
	child := place{value: p.value.kids.values[at], shape: p.shape.below(name), laid: p.laid}
	if p.laid {
		child.base = sameMember(p.base, name, at)
	}
	child.identity = p.list != nil && strings.EqualFold(name, p.list.identity)
	return child
}

// sameMember is the member of that name, looked for where the other object has it.
func sameMember(v Value, name string, at int) Value {
	if i := v.indexNear(name, at); i >= 0 {
		return v.kids.values[i]
	}
	return Value{}
}

// entryOf is the place of the free map's entry at position at.
func (p place) entryOf(at int) place {
	return place{value: p.value.At(at), shape: p.shape.entry, entry: !p.shape.closed, laid: p.laid}
}

// find is the position of the member with that identity, -1 when there is none.
func (p place) find(id string) int {
	values := p.value.kids.values
	at := slices.IndexFunc(values, func(member Value) bool { return member.first(p.shape.identity).text == id })
	if at < 0 && p.shape.deviceNamed() { // a document that no daemon wrote
		at = slices.IndexFunc(values, func(member Value) bool {
			return maySpell(member, id) &&
				p.shape.identityOf(member) == id
		})
	}
	return at
}

// maySpell is a quick look whether a member may be a device whose ID is spelled in another way.
func maySpell(member Value, id string) bool {
	text := member.first("deviceID").text
	return text != "" && id != "" && (text[0] == id[0] || text[0] < 'A' || text[0] > 'Z')
}

// memberOf is the place of the identified list's member at position at.
func (a *applier) memberOf(p place, at int) place {
	child := a.newMember(p.shape, p.shape.identityOf(p.value.At(at)))
	child.value = p.value.At(at)
	return child
}

// newMember is the place of a member that the identified list does not have yet. The work is at the list.
func (a *applier) newMember(list *shape, id string) place {
	base := a.start(list)
	if a.from != nil {
		base = a.from(Key{a.path}.Child(id), base)
	}
	return place{shape: list.entry, base: base, laid: true, list: list, entry: true}
}

// start is what a new member of the list starts from.
func (a *applier) start(list *shape) Value {
	if list.defaults == "" {
		return list.blank
	}
	base := a.defaults.Get(list.defaults)
	if base.kind != Object {
		base = builtinDefaults().Get(list.defaults)
	}
	if base.index(list.identity) < 0 { // no daemon writes such defaults, and no member is without its name
		base = base.plus(list.identity, Text(""))
	}
	return base
}

// named gives a member's value its identity, which it may leave out where the key says it, but not contradict.
func (a *applier) named(list *shape, id string, value Value) (Value, error) {
	if id == "" {
		return Value{}, a.fail("every member of a list has its %s: an empty one names none", list.identity)
	}
	if value.kind != Object {
		return value, nil // refused by its type, with a better text
	}
	if said := value.Get(list.identity); said.Exists() {
		if saidID, err := a.identity(list, said); err != nil || saidID != id {
			return Value{}, a.fail("the %s of a member does not change: remove the member and add another", list.identity)
		}
	}
	return value.With(list.identity, Text(id)), nil
}

// identity is the canonical form of what a template says names a member.
func (a *applier) identity(list *shape, said Value) (string, error) {
	switch {
	case said.kind == String && said.text != "" && list.deviceNamed():
		if id := canonicalID(said.text); id != "" {
			return id, nil
		}
		return "", a.fail("%s is not a device ID", appendString(nil, shortened(said.text)))
	case said.kind == String && said.text != "":
		return said.text, a.checkName(said.text)
	}
	return "", a.fail("every member of %s needs its %s, a text", a.here(), list.identity)
}

// here is the key of the place where the work is.
func (a *applier) here() string {
	if len(a.path) == 0 {
		return "the configuration"
	}
	return Key{a.path}.String()
}

// skip leaves out what is below the place where the work is, at the rest of a key.
func (a *applier) skip(rest []Part, reason string) {
	a.skips = append(a.skips, Skip{Key: Key{slices.Concat(a.path, rest)}, Reason: reason})
}

// skipMember leaves out one member of the place where the work is.
func (a *applier) skipMember(name, reason string) { a.skip([]Part{{Name: name}}, reason) }

// DuringApply is what an error of Apply was about. A text that names the template has no need of it.
const DuringApply = "apply template"

func (a *applier) fail(format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	return &fleet.Error{Code: fleet.CodeInvalid, During: DuringApply, Message: message,
		Details: []fleet.Detail{{Field: "template", Message: message}}}
}

// noField is the reason why a field is skipped.
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

func noEntry(m *shape, name string) string {
	if m == configuration.fields["ignores"].shape {
		return fmt.Sprintf("the ignore patterns of folder %s were not read", name)
	}
	return fmt.Sprintf("this device has no %s here", name)
}

// called says which folder was probably meant by what is no folder's ID: one of that label, or of that ID in other
// letters.
func (p place) called(name string) string {
	if p.shape != configuration.fields["folders"].shape {
		return ""
	}
	for folder := range p.value.Values() {
		id := p.shape.identityOf(folder)
		switch {
		case strings.EqualFold(id, name):
			return fmt.Sprintf(": did you mean %s? Letter case counts in IDs", id)
		case folder.Get("label").Str() == name:
			return fmt.Sprintf(": a key names a folder by its ID, and the folder with this label has the ID %s", id)
		}
	}
	return ""
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

package stconfig

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// Mistake is a part of a template's value that is most probably wrong. Mistakes are found without asking a daemon.
type Mistake struct {
	Key  Key
	Text string // sentence for a person; it begins with the key
	Kind MistakeKind
}

// MistakeKind tells what is wrong.
type MistakeKind uint8

const (
	UnknownField MistakeKind = iota // no version that Muster knows has the field; a newer one may
	StrangeValue                    // a daemon accepts the value and ignores it
	RefusedValue                    // no daemon accepts the value
	WrongType                       // the value has another JSON type than the field, so no plan can be made with it
	WrongWord                       // every daemon accepts the value and reads a different one: an unknown unit is bytes
)

// maxMistakes bounds the mistakes that are reported for one value.
const maxMistakes = 20

// Mistakes finds fields that no known version has, and values that daemons refuse or ignore.
func Mistakes(op fleet.Op, key Key, v Value) []Mistake {
	d := mistakeFinder{path: make([]Part, 0, key.Len())}
	s := configuration
	for _, part := range key.parts {
		if s == nil || !d.known(s, part) {
			return d.found
		}
		s = s.below(part.Name)
		d.path = append(d.path, part)
	}
	switch {
	case op == fleet.OpRemove:
		return d.found
	case op == fleet.OpAppend && s != nil && s.kind == Array && v.kind != Array:
		v = List(v)
	}
	d.value(s, v)
	return d.found
}

type mistakeFinder struct {
	path  []Part
	found []Mistake
}

func (d *mistakeFinder) add(kind MistakeKind, format string, args ...any) {
	if len(d.found) < maxMistakes {
		key := Key{slices.Clone(d.path)}
		text := cut(key.String() + " " + fmt.Sprintf(format, args...))
		d.found = append(d.found, Mistake{Key: key, Text: text, Kind: kind})
	}
}

// cut shortens a text, which may contain any text of a template.
func cut(text string) string {
	const most = 1 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// known reports whether some version has the field that a part of a key names, and reports the field otherwise.
func (d *mistakeFinder) known(s *shape, part Part) bool {
	if s.fields == nil || part.Every {
		return true
	}
	_, ok := s.field(part.Name)
	if !ok {
		d.at(part.Name, func() {
			d.add(UnknownField, "is a field of no daemon that Muster knows%s", d.meant(s, part.Name))
		})
	}
	return ok
}

// meant suggests what an unknown field is meant for. The path of the finder ends with its name.
func (d *mistakeFinder) meant(s *shape, name string) string {
	parents := d.path[:len(d.path)-1]
	switch {
	case len(parents) > 0 && strings.EqualFold(parents[len(parents)-1].Name, name):
		return fmt.Sprintf(": the key names %s already, so the value is what stands below it", name)
	case s == folderShape() && strings.HasPrefix(fold(name), "ignore"):
		return fmt.Sprintf(": ignore patterns have the key ignores.%s", parents[len(parents)-1].Name)
	case s != configuration:
		return nearest(name, s.names)
	}
	for _, section := range s.names {
		if below := s.below(section); below.kind == Object && !below.free {
			if f, known := below.field(name); known {
				return fmt.Sprintf(": did you mean %s.%s?", section, f.name)
			}
		}
	}
	return nearest(name, s.names)
}

func folderShape() *shape { return configuration.fields["folders"].shape.entry }

// lastName returns the last name of the path, or "".
func (d *mistakeFinder) lastName() string {
	if len(d.path) == 0 {
		return ""
	}
	return d.path[len(d.path)-1].Name
}

func nearest(name string, known []string) string {
	if near := didYouMean(name, known); near != "" {
		return ": " + near
	}
	return ""
}

func (d *mistakeFinder) at(name string, do func()) {
	d.path = append(d.path, Part{Name: name})
	do()
	d.path = d.path[:len(d.path)-1]
}

func (d *mistakeFinder) value(s *shape, v Value) {
	switch {
	case s == nil, v.kind == Absent, v.kind == Null, v.kind == Handle:
	case v.kind != s.kind:
		d.add(WrongType, "%s", s.misfit(d.lastName(), s.kind, v))
	case v.kind == Object:
		d.members(s, v)
	case v.kind == Array:
		d.list(s, v)
	case len(s.choices) > 0 && !slices.Contains(s.choices, v.text):
		a := applier{path: d.path}
		text := strings.TrimPrefix(a.noChoice(s, v.text), a.here()+" ")
		d.add(RefusedValue, "%s", text)
	case s.mistake != nil:
		if text := s.mistake(v.text); text != "" {
			kind := StrangeValue
			if s.misread {
				kind = WrongWord
			}
			d.add(kind, "%s", text)
		}
	}
}

func (d *mistakeFinder) members(s *shape, v Value) {
	if v.Get("apiAddress").kind != Absent && v.Get("deviceID").kind != Absent {
		d.add(StrangeValue, `is a whole device of devices(): write {"deviceID": d.deviceID}`)
		return
	}
	for i := range v.Len() {
		name, member := v.Name(i), v.At(i)
		if f, ok := s.field(name); ok {
			name = f.name
		} else if s.fields != nil {
			d.known(s, Part{Name: name})
			continue
		}
		d.at(name, func() { d.value(s.below(name), member) })
	}
}

func (d *mistakeFinder) list(s *shape, v Value) {
	for member := range v.Values() {
		id := ""
		if s.identified() && member.kind != Object && member.kind != Handle {
			d.add(WrongType, "%s", s.memberMisfit(member))
			continue
		}
		if s.identified() {
			id = s.identityOf(member)
		}
		if id == "" {
			d.value(s.entry, member) // Members of a list without identity have no names.
			continue
		}
		d.at(id, func() { d.value(s.entry, member) })
	}
}

var (
	themes        = []string{"default", "light", "dark", "black"}
	syncSchemes   = []string{"tcp", "tcp4", "tcp6", "quic", "quic4", "quic6", "relay"}
	listenSchemes = append([]string{"dynamic+http", "dynamic+https"}, syncSchemes...)
)

// mistakenTheme reports unknown themes: the GUI would show its default theme.
func mistakenTheme(theme string) string {
	if theme == "" || slices.Contains(themes, theme) {
		return ""
	}
	return fmt.Sprintf("is no theme that Syncthing comes with (%s): %q%s", strings.Join(themes, ", "), shortened(theme),
		nearest(theme, themes))
}

// mistakenUnit reports unknown units, with which the daemon would count in bytes. Like the daemon it checks only the
// first letter, and whether the unit is %.
func mistakenUnit(unit string) string {
	if unit == "" || strings.Contains(unit, "%") || strings.ContainsAny(unit[:1], "kKmMgGtT") {
		return ""
	}
	return fmt.Sprintf("is no unit (%%, kB, MB, GB or TB), and daemons take it for bytes: %q", shortened(unit))
}

// fillIn matches a var as the paths of forms have it.
var fillIn = regexp.MustCompile(`\{[A-Za-z_]\w*\}`)

// mistakenPath reports vars in braces, which only forms fill in.
func mistakenPath(path string) string {
	if found := fillIn.FindString(path); found != "" {
		return fmt.Sprintf("has %s, which only a form fills in: write a program with device.vars", shortened(found))
	}
	return ""
}

func mistakenAddress(address string) string {
	return notAddress(address, []string{"dynamic"}, syncSchemes, "dynamic, or tcp://host:port")
}

func mistakenListenAddress(address string) string {
	return notAddress(address, []string{"default"}, listenSchemes, "default, or tcp://0.0.0.0:22000")
}

func mistakenDiscoveryServer(server string) string {
	return notAddress(server, []string{"default", "default-v4", "default-v6"}, []string{"https", "http"},
		"default, or https://host/")
}

// notAddress reports texts that are not addresses. A daemon accepts any text and ignores one that it does not
// understand.
func notAddress(address string, words, schemes []string, example string) string {
	address = strings.TrimSpace(address)
	if address == "" || slices.Contains(words, address) {
		return ""
	}
	if parsed, err := url.Parse(address); err == nil && parsed.Host != "" && slices.Contains(schemes, parsed.Scheme) {
		return ""
	}
	return fmt.Sprintf("has an address that no daemon can use, as %s is one: %q", example, shortened(address))
}

// didYouMean returns "did you mean NAME?" with the nearest of the known names, or "".
func didYouMean(name string, known []string) string {
	near := fleet.Nearest(name, known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", near)
}

package stconfig

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// Doubt is something in a template's value that is most probably a mistake, as far as that can be told without a
// daemon.
type Doubt struct {
	Key  Key
	Text string // for a person; it begins with the key
	Kind DoubtKind
}

// DoubtKind says what is doubted.
type DoubtKind uint8

const (
	UnknownField DoubtKind = iota // no version that Muster knows has it; a newer one may
	StrangeValue                  // a daemon takes it, and makes nothing of it
	RefusedValue                  // no daemon takes it
)

// maxDoubts bounds what is said about one value.
const maxDoubts = 20

// Doubts looks for fields that no known version has, and for values that daemons take and make nothing of.
func Doubts(op fleet.Op, key Key, v Value) []Doubt {
	d := doubting{path: make([]Part, 0, key.Len())}
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

type doubting struct {
	path  []Part
	found []Doubt
}

func (d *doubting) doubt(kind DoubtKind, format string, args ...any) {
	if len(d.found) < maxDoubts {
		key := Key{slices.Clone(d.path)}
		d.found = append(d.found, Doubt{Key: key, Text: cut(key.String() + " " + fmt.Sprintf(format, args...)), Kind: kind})
	}
}

// cut bounds a text into which a template could put anything.
func cut(text string) string {
	const most = 1 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// known tells whether some version has what a part of a key names, and says so where none has.
func (d *doubting) known(s *shape, part Part) bool {
	if s.fields == nil || part.Every {
		return true
	}
	_, ok := s.field(part.Name)
	if !ok {
		d.at(part.Name, func() {
			d.doubt(UnknownField, "is a field of no daemon that Muster knows%s", nearest(part.Name, s.names))
		})
	}
	return ok
}

func nearest(name string, known []string) string {
	if near := didYouMean(name, known); near != "" {
		return ": " + near
	}
	return ""
}

func (d *doubting) at(name string, do func()) {
	d.path = append(d.path, Part{Name: name})
	do()
	d.path = d.path[:len(d.path)-1]
}

func (d *doubting) value(s *shape, v Value) {
	switch {
	case s == nil, v.kind == Absent, v.kind == Null, v.kind == Handle:
	case v.kind != s.kind:
		d.doubt(StrangeValue, "takes %s, not %s", kindText(s.kind), kindText(v.kind))
	case v.kind == Object:
		d.members(s, v)
	case v.kind == Array:
		d.list(s, v)
	case len(s.choices) > 0 && !slices.Contains(s.choices, v.text):
		a := applier{path: d.path}
		text := strings.TrimPrefix(a.noChoice(s, v.text), a.here()+" ")
		d.doubt(RefusedValue, "%s", text)
	case s.doubt != nil:
		if text := s.doubt(v.text); text != "" {
			d.doubt(StrangeValue, "%s", text)
		}
	}
}

func (d *doubting) members(s *shape, v Value) {
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

func (d *doubting) list(s *shape, v Value) {
	for member := range v.Values() {
		id := ""
		if s.identified() {
			id = s.identityOf(member)
		}
		if id == "" {
			d.value(s.entry, member) // the members of a plain list have no names
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

// doubtTheme: a daemon whose GUI has no such theme shows the default one.
func doubtTheme(theme string) string {
	if theme == "" || slices.Contains(themes, theme) {
		return ""
	}
	return fmt.Sprintf("is no theme that Syncthing comes with (%s): %q%s", strings.Join(themes, ", "), shortened(theme),
		nearest(theme, themes))
}

// doubtUnit: a daemon counts in bytes where it does not know the unit. It looks at the first letter, and for a %.
func doubtUnit(unit string) string {
	if unit == "" || strings.Contains(unit, "%") || strings.ContainsAny(unit[:1], "kKmMgGtT") {
		return ""
	}
	return fmt.Sprintf("is no unit (%%, kB, MB, GB or TB), and daemons take it for bytes: %q", shortened(unit))
}

func doubtAddress(address string) string {
	return notAddress(address, []string{"dynamic"}, syncSchemes, "dynamic, or tcp://host:port")
}

func doubtListenAddress(address string) string {
	return notAddress(address, []string{"default"}, listenSchemes, "default, or tcp://0.0.0.0:22000")
}

func doubtDiscoveryServer(server string) string {
	return notAddress(server, []string{"default", "default-v4", "default-v6"}, []string{"https", "http"},
		"default, or https://host/")
}

// notAddress: a daemon takes any text for an address, and does nothing with one that it does not understand.
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

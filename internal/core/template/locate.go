package template

import (
	"strconv"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Locate returns the place of the first string in an HJSON text that equals value. Line and column start at 1 and are
// 0 when no string equals it. Locate reads as Compile does, in linear time and with bounded nesting.
func Locate(text, value string) (line, column int) {
	text = strings.TrimPrefix(text, "\ufeff")
	seek := &sought{text: value}
	r := &hjsonReader{text: text, seek: seek}
	if _, err := r.document(); err != nil || !seek.found {
		return 0, 0
	}
	at := position(text, seek.at)
	return at.line, at.column
}

// sought is the string that Locate searches for.
type sought struct {
	text  string
	found bool
	at    int // byte offset where it was found
}

// LocateName returns a line of an HJSON text. names are nested: each is the name of an object's member, or the
// identity of a member in an identified list such as `folders`. The line is that of the deepest name that exists, or
// of the whole value when names is empty. LocateName returns 0 when nothing was found or the text is a Starlark
// program.
func LocateName(text string, names []string) (line int) {
	text = strings.TrimPrefix(text, "\ufeff")
	r := &hjsonReader{text: text, places: &places{of: map[textKey]textPlace{}}}
	value, fault := r.document()
	if fault != nil {
		return 0
	}
	start := &hjsonReader{text: text}
	if fault := start.white(); fault != nil {
		return 0
	}
	found := textPlace{at: start.at}
	for i, name := range names {
		part, below := step(value, name)
		next, known := r.places.of[textKey{found.id, part}]
		if !known {
			if i == 0 {
				return 0
			}
			break
		}
		found, value = next, below
	}
	return position(text, found.at).line
}

// step goes one level down: it returns the part of the path that name selects in a value, and the value found there.
func step(value stconfig.Value, name string) (part string, below stconfig.Value) {
	if value.Kind() == stconfig.Object {
		for at, member := range value.Members() {
			if strings.EqualFold(at, name) {
				return namePart(at), member
			}
		}
		return "", stconfig.Value{}
	}
	i := 0
	for member := range value.Values() {
		id := member.Get("deviceID").Str()
		if canonical, err := fleet.ParseDeviceID(id); err == nil {
			id = string(canonical)
		}
		if id == name || member.Get("id").Str() == name {
			return indexPart(i), member
		}
		i++
	}
	return "", stconfig.Value{}
}

// places are the positions of names and list members in a text. Each has an ID; the root's is 0.
type places struct {
	of    map[textKey]textPlace
	above int // ID of the place whose value is being read
}

type textKey struct {
	above int
	part  string // made by namePart or indexPart
}

type textPlace struct {
	id int
	at int // byte offset
}

func namePart(name string) string { return "." + name }
func indexPart(i int) string      { return "#" + strconv.Itoa(i) }

// enter records a place below the current one and makes it the current one. leave returns to the place above.
func (p *places) enter(part string, at int) (leave func()) {
	if p == nil {
		return func() {}
	}
	above := p.above
	p.above = len(p.of) + 1
	p.of[textKey{above, part}] = textPlace{p.above, at}
	return func() { p.above = above }
}

package template

import (
	"strconv"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// LocateName is the line of an HJSON text where the deepest of these nested names stands; members of identified lists
// are named by their identity. Without names it is the line where the value begins. 0: nothing of it is there, or the
// text is a program.
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

// step is the part of a path that a name stands for in a value, and what is there.
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

// places are the names and list members of a text, and where they stand. The place above all has ID 0.
type places struct {
	of    map[textKey]textPlace
	above int // the ID of the place that is being read
}

type textKey struct {
	above int
	part  string // of namePart or indexPart
}

type textPlace struct {
	id int
	at int // offset
}

func namePart(name string) string { return "." + name }
func indexPart(i int) string      { return "#" + strconv.Itoa(i) }

// enter notes a place below the one that is being read, and goes there until leave is called.
func (p *places) enter(part string, at int) (leave func()) {
	if p == nil {
		return func() {}
	}
	above := p.above
	p.above = len(p.of) + 1
	p.of[textKey{above, part}] = textPlace{p.above, at}
	return func() { p.above = above }
}

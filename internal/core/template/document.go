package template

import (
	"strconv"
	"strings"

	"muster/internal/core/stconfig"
)

// Document is an HJSON text that is not a template, for example one file of a fleet. It remembers on which line each
// value stands.
type Document struct {
	Value  stconfig.Value
	text   string
	places *places
	start  int // byte offset of the value in the text
}

// ReadDocument reads a text as HJSON. It bounds the nesting of the text, not its size. It returns a *fleet.Error with
// the line and column of the fault.
func ReadDocument(text string) (Document, error) {
	if err := checkCharacters(text); err != nil {
		return Document{}, err
	}
	text = strings.TrimPrefix(text, "\ufeff")
	r := &hjsonReader{text: text, places: &places{of: map[textKey]textPlace{}}, unbounded: true}
	start := &hjsonReader{text: text}
	value, err := r.document()
	if err == nil {
		err = start.white()
	}
	switch {
	case err == nil && r.refusal != nil:
		err = r.refusal
	case err == nil && r.yaml != nil:
		err = r.yaml
	case err == nil && len(r.secrets) > 0:
		err = &fault{at: r.secrets[0].at, message: "a secret cannot stand here", hint: "Only templates use secrets."}
	}
	if err != nil {
		return Document{}, err.error(text)
	}
	return Document{value, text, r.places, start.at}, nil
}

// Line returns the line of a value, which path names by the names of objects and the positions in lists that lead to
// it. When the value does not exist, Line returns the line of the deepest part of the path that does.
func (d Document) Line(path ...string) int {
	if d.places == nil {
		return 0
	}
	found, value := textPlace{at: d.start}, d.Value
	for _, part := range path {
		key, below := namePart(part), value.Get(part)
		if value.Kind() == stconfig.Array {
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= value.Len() {
				break
			}
			key, below = indexPart(i), value.At(i)
		}
		next, known := d.places.of[textKey{found.id, key}]
		if !known {
			break
		}
		found, value = next, below
	}
	return position(d.text, found.at).line
}

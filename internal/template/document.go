package template

import (
	"strconv"
	"strings"

	"muster/internal/stconfig"
)

// Document is an HJSON file that is no template: what it says, and on which lines.
type Document struct {
	Value  stconfig.Value
	text   string
	places *places
	start  int // offset of the value
}

// ReadDocument reads a whole text as HJSON. Its size is not bounded, its nesting is. An error is a *fleet.Error with
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
	case err == nil && len(r.secrets) > 0:
		err = &fault{at: r.secrets[0].at, message: "a secret cannot stand here", hint: "Only templates use secrets."}
	}
	if err != nil {
		return Document{}, err.error(text)
	}
	return Document{value, text, r.places, start.at}, nil
}

// Line is where the deepest of these nested parts stands that is there. A member of a list is named by its number.
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

// Package form turns what a person fills in, for example that a folder is shared by devices with a tag, into an
// ordinary template, and finds out what was filled in when a template is exactly the one that a form writes.
package form

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// Written is the template that a form writes. Label and priority are a person's.
type Written struct {
	Op   fleet.Op
	Key  string
	Text string
	Tags []fleet.Tag // sorted, each once
}

// equal reports whether a stored template is exactly this one.
func (w Written) equal(t fleet.TaggedTemplate) bool {
	tags := slices.Clone(t.Tags)
	slices.Sort(tags)
	return w.Op == t.Op && w.Key == t.Key && w.Text == t.Text && slices.Equal(w.Tags, tags)
}

// constant is one line "NAME = value" at the beginning of a program. The value is JSON, which is also Starlark: forms
// use neither true, false nor null.
type constant struct {
	name  string
	value any // a pointer, so that it can also be read
}

// writeConstants writes those constants that are not empty.
func writeConstants(b *strings.Builder, constants []constant) {
	for _, c := range constants {
		if text := asJSON(c.value); !slices.Contains([]string{`""`, "null", "0", "[]", "{}"}, text) {
			b.WriteString(c.name + " = " + text + "\n")
		}
	}
}

// readConstants is the inverse of writeConstants. It does not report what it could not read: its caller writes
// the text again and compares.
func readConstants(text string, constants []constant) {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(line, " = "); found && values[name] == "" {
			values[name] = value
		}
	}
	for _, c := range constants {
		if value := values[c.name]; value != "" {
			decoder := json.NewDecoder(strings.NewReader(value))
			decoder.DisallowUnknownFields()
			_ = decoder.Decode(c.value)
		}
	}
}

// asJSON keeps <, > and & as a person writes them.
func asJSON(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // Every type of this package can be written.
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Form is what a person filled in.
type Form interface {
	// Validate reports what was filled in wrong. Write is for valid forms only.
	Validate() error
	Write() Written
	// Warnings say what is most probably a mistake, given the devices and the other templates. replaces is the ID of
	// the template that the form's will replace, 0 for none.
	Warnings(r *fleet.Registry, replaces int64) []string
}

// Read returns the form that a template is, if it is one.
func Read(t fleet.TaggedTemplate) (Form, bool) {
	if share, isForm := ReadShare(t); isForm {
		return share, true
	}
	if filled, isForm := readFilled(t); isForm {
		return filled, true
	}
	return nil, false
}

// Edited reports whether a form wrote a template that is not one any more, because somebody changed it by hand.
func Edited(t fleet.TaggedTemplate) bool {
	if _, isForm := Read(t); isForm {
		return false
	}
	return strings.HasPrefix(t.Text, shareHeader) ||
		slices.ContainsFunc(kinds, func(k *Kind) bool { return strings.HasPrefix(t.Text, k.header()) })
}

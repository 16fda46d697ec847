package manual

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schema is the part of JSON schema that the document uses.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        json.RawMessage    `json:"type"` // a name, or a list of them
	Format      string             `json:"format"`
	Description string             `json:"description"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Items       *schema            `json:"items"`
	Values      json.RawMessage    `json:"additionalProperties"` // a schema, or false
	Enum        []any              `json:"enum"`
	Default     any                `json:"default"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	ReadOnly    bool               `json:"readOnly"`
}

// field is a row of the table of a type.
type field struct {
	Name     string
	Schema   *schema
	Required bool
}

// Fields returns the properties of an object: required ones first, each part ordered by name.
func (s *schema) Fields() []field {
	var must, may []field
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, name) {
			must = append(must, field{name, s.Properties[name], true})
			continue
		}
		may = append(may, field{name, s.Properties[name], false})
	}
	return append(must, may...)
}

// Wrapped says what is around the named type, as in "list of ".
func (s *schema) Wrapped() string {
	around, _ := s.unwrapped()
	return around
}

// Target is the schema inside lists and maps.
func (s *schema) Target() *schema {
	_, inner := s.unwrapped()
	return inner
}

func (s *schema) unwrapped() (around string, inner *schema) {
	for s != nil {
		switch values := s.values(); {
		case s.Items != nil:
			around, s = around+"list of ", s.Items
		case len(s.Properties) == 0 && values != nil:
			around, s = around+"map of names to ", values
		default:
			return around, s
		}
	}
	return around, &schema{}
}

// values is the schema of the values of a map, nil if the schema is not a map.
func (s *schema) values() *schema {
	var values schema
	if len(s.Values) == 0 || s.Values[0] != '{' || json.Unmarshal(s.Values, &values) != nil {
		return nil
	}
	return &values
}

// Name is the name of a type of the document, "" for a type without one.
func (s *schema) Name() string { return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] }

// Plain describes a type without a name.
func (s *schema) Plain() string {
	var one string
	var several []string
	switch {
	case json.Unmarshal(s.Type, &one) == nil:
		several = []string{one}
	case json.Unmarshal(s.Type, &several) != nil:
		return "anything"
	}
	text := strings.Join(several, " or ")
	if s.Format == "date-time" {
		text = "time"
	}
	return text
}

// Means is the description with the notes.
func (f field) Means() string { return joined(f.Schema.Description, f.Schema.Notes()) }

// Means is the description with the notes.
func (p parameter) Means() string {
	if p.Schema == nil {
		return p.Description
	}
	return joined(p.Description, p.Schema.Notes())
}

// joined puts sentences together; descriptions of the document end without a full stop.
func joined(description, notes string) string {
	if description == "" || notes == "" {
		return description + notes
	}
	return strings.TrimSuffix(description, ".") + ". " + notes
}

// Notes describes the limits and the default of the value.
func (s *schema) Notes() string {
	var notes []string
	if values := s.enum(); len(values) > 0 {
		notes = append(notes, "One of: "+strings.Join(values, ", ")+".")
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		notes = append(notes, fmt.Sprintf("From %g to %g.", *s.Minimum, *s.Maximum))
	case s.Minimum != nil:
		notes = append(notes, fmt.Sprintf("At least %g.", *s.Minimum))
	case s.Maximum != nil:
		notes = append(notes, fmt.Sprintf("At most %g.", *s.Maximum))
	}
	if s.Default != nil {
		notes = append(notes, fmt.Sprintf("Default: %v.", s.Default))
	}
	if s.ReadOnly {
		notes = append(notes, "Ignored in requests.")
	}
	return strings.Join(notes, " ")
}

func (s *schema) enum() []string {
	var values []string
	for _, value := range s.Enum {
		values = append(values, fmt.Sprint(value))
	}
	if s.Items != nil {
		values = append(values, s.Items.enum()...)
	}
	return values
}

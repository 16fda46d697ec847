package form

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// Kind describes a form. API, command line and console show every form by its description alone.
type Kind struct {
	Name   string // "limits": the name in addresses and commands
	Title  string // "Limit bandwidth": the wish of a person
	Help   string
	Fields []Field

	// write returns the template of values that suit Fields, without tags and header, or the error of a field.
	write func(v Values) (Written, error)
}

// Field is one thing that a person fills in.
type Field struct {
	Name     string
	Label    string
	Help     string
	Type     FieldType
	Choices  []Choice // all values of a ChoiceField
	Example  string
	Default  string // the value of a required field that was left blank
	Required bool
	// Least and Most bound a NumberField.
	Least, Most int64
	// OnlyIf is the condition under which the field applies; nil: always.
	OnlyIf *Condition
}

// FieldType is what a field takes.
type FieldType string

const (
	TextField   FieldType = "text"
	ChoiceField FieldType = "choice"
	NumberField FieldType = "number"
	RateField   FieldType = "rate"   // a number with a unit, such as 2 MB/s
	TagsField   FieldType = "tags"   // several tags
	FolderField FieldType = "folder" // the ID of a folder
	SecretField FieldType = "secret" // the name of a secret
	LinesField  FieldType = "lines"  // several texts
	KeyField    FieldType = "key"    // the key of a setting
	ValueField  FieldType = "value"  // the value of the setting that the field "key" names
)

// hasSeveral reports whether a field of this type can have several values.
func (t FieldType) hasSeveral() bool { return t == TagsField || t == LinesField || t == ValueField }

// Choice is one value of a ChoiceField.
type Choice struct{ Value, Label string }

// Condition holds where the field has one of these values.
type Condition struct {
	Field string
	Is    []string
}

// tagsField is in every form: the tags of its template.
var tagsField = Field{Name: "tags", Label: "Devices with one of the tags", Type: TagsField, Required: true,
	Help: "The template applies to every device with one of them."}

// Kinds are the forms with a description. The form that shares a folder is a type of its own, Share.
func Kinds() []*Kind { return kinds }

var kinds = []*Kind{&limits, &versioningKind, &ignores, &network, &login, &setting, &names, &rescan, &introducer}

// KindOf returns the form with a name.
func KindOf(name string) (*Kind, error) {
	known := make([]string, len(kinds))
	for i, kind := range kinds {
		if known[i] = kind.Name; kind.Name == name {
			return kind, nil
		}
	}
	return nil, fleet.Invalidf("name", "there is no form %q: %s", name, strings.Join(known, ", "))
}

func (k *Kind) field(name string) *Field {
	if i := slices.IndexFunc(k.Fields, func(f Field) bool { return f.Name == name }); i >= 0 {
		return &k.Fields[i]
	}
	return nil
}

// header is the first line of each text of the form.
func (k *Kind) header() string {
	return fmt.Sprintf("# Written by the form %q. What is changed by hand is edited as text from then on.\n", k.Title)
}

// Values are what was filled into the fields, by their names. A field without a value is left out.
type Values map[string][]string

func (v Values) one(name string) string {
	if all := v[name]; len(all) > 0 {
		return all[0]
	}
	return ""
}

// tags returns the values of a TagsField.
func (v Values) tags(name string) []fleet.Tag {
	tags := make([]fleet.Tag, len(v[name]))
	for i, text := range v[name] {
		tags[i] = fleet.Tag(text)
	}
	return tags
}

func (c *Condition) holds(v Values) bool {
	return c == nil || slices.Contains(c.Is, v.one(c.Field))
}

// Filled is a form of a kind that was filled in.
type Filled struct {
	Kind   *Kind
	Values Values
}

// Fill returns the form of a kind with these values. Blank values are left out, and a required field without a value
// has its default.
func Fill(name string, given Values) (Filled, error) {
	kind, err := KindOf(name)
	if err != nil {
		return Filled{}, err
	}
	for field := range given {
		if kind.field(field) == nil {
			return Filled{}, fleet.Invalidf(field, "the form has no field %q: %s", field, strings.Join(kind.fieldNames(), ", "))
		}
	}
	return kind.fill(given), nil
}

func (k *Kind) fill(given Values) Filled {
	values := Values{}
	for _, field := range k.Fields { // A condition names a field further up.
		var all []string
		for _, value := range given[field.Name] {
			if strings.TrimSpace(value) != "" {
				all = append(all, value)
			}
		}
		if field.Type == TagsField {
			slices.Sort(all)
			all = slices.Compact(all)
		}
		if len(all) == 0 && field.Required && field.Default != "" && field.OnlyIf.holds(values) {
			all = []string{field.Default}
		}
		if len(all) > 0 {
			values[field.Name] = all
		}
	}
	return Filled{k, values}
}

func (k *Kind) fieldNames() []string {
	names := make([]string, len(k.Fields))
	for i, field := range k.Fields {
		names[i] = field.Name
	}
	return names
}

// Label is the label of the template where nobody gives a label.
func (f Filled) Label() string {
	tags := f.Values[tagsField.Name]
	return cmp.Or(f.Values.one("key"), f.Kind.Title) + ": " + strings.Join(tags[:min(3, len(tags))], ", ")
}

// Write returns the template. The form must be valid.
func (f Filled) Write() Written {
	w, err := f.Kind.write(f.Values)
	if err != nil {
		panic(err) // Validate returned this error.
	}
	w.Tags, w.Text = f.Values.tags("tags"), f.Kind.header()+f.comments()+w.Text
	return w
}

// comments are the lines that say what was filled in. The tags are the template's own, and the lines of a LinesField
// stand in the text below.
func (f Filled) comments() string {
	var b strings.Builder
	for _, field := range f.Kind.Fields {
		all := f.Values[field.Name]
		switch {
		case len(all) == 0, field.Name == tagsField.Name, field.Type == LinesField:
		case len(all) == 1:
			b.WriteString("# " + field.Name + ": " + asJSON(all[0]) + "\n")
		default:
			b.WriteString("# " + field.Name + ": " + asJSON(all) + "\n")
		}
	}
	return b.String()
}

// readFilled returns the form that a template is, if Write gives exactly its op, key, text and tags.
func readFilled(t fleet.TaggedTemplate) (Filled, bool) {
	for _, kind := range kinds {
		if text, found := strings.CutPrefix(t.Text, kind.header()); found {
			f := kind.fill(kind.read(text, t.Tags))
			return f, f.Validate() == nil && f.Write().equal(t)
		}
	}
	return Filled{}, false
}

// read is the inverse of comments. It does not report what it could not read: its caller writes the text again and
// compares.
func (k *Kind) read(text string, tags []fleet.Tag) Values {
	values := Values{}
	for _, tag := range tags {
		values[tagsField.Name] = append(values[tagsField.Name], string(tag))
	}
	for line := range strings.Lines(text) {
		if comment, is := strings.CutPrefix(line, "# "); is {
			name, value, _ := strings.Cut(comment, ": ")
			values[name] = oneOrSeveral(value)
			continue
		}
		for _, field := range k.Fields {
			if line = strings.TrimSpace(line); field.Type == LinesField && strings.HasPrefix(line, `"`) {
				values[field.Name] = append(values[field.Name], oneOrSeveral(line)...)
			}
		}
	}
	return values
}

// oneOrSeveral reads a text or a list of texts in JSON.
func oneOrSeveral(text string) (values []string) {
	var one string
	if json.Unmarshal([]byte(text), &one) == nil {
		return []string{one}
	}
	_ = json.Unmarshal([]byte(text), &values)
	return values
}

// Package fleetfiles defines how a fleet is written as files: a template is its text below a header with label,
// priority, op, key and tags. The package also checks the assertions that may be in such files and that every change
// must keep true.
package fleetfiles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// Template is a template in a file. Its header is made of comment lines before the text:
//
//	# label: Team folder
//	# priority: 10
//	# op: merge
//	# key: folders.team
//	# tags: team, office
//	# ---
//
// Both languages have comments that begin with #. Several fields may be on one line, with commas between them, as in
// "# op: merge, key: folders.team". The line "# ---" ends the header; without it the header ends before the first line
// that has no field.
type Template struct {
	Label    string
	Priority int64
	Op       string // "": set
	Key      string
	Tags     []string // nil: the header names no tags, and the template keeps the ones that it has
	Text     string

	Blank       bool // The header has a blank label.
	HeaderLines int  // number of lines before the template's text
}

const headerEnd = "# ---"

// fields are the fields of the header in the order in which String writes them.
var fields = []string{"label", "priority", "op", "key", "tags"}

// ParseTemplate reads a template's file. Errors name the line.
func ParseTemplate(text string) (Template, error) {
	header, body, hasEnd := split(text)
	if at, name := misspelt(len(header), body); name != "" && !hasEnd {
		meant := ""
		if near := fleet.Nearest(name, fields); near != "" {
			meant = ": did you mean " + near + "?"
		}
		return Template{}, atLine(at, "%q is no field of the header (%s)%s", name, strings.Join(fields, ", "), meant)
	}
	t := Template{Text: body, HeaderLines: strings.Count(text[:len(text)-len(body)], "\n")}
	given := map[string]bool{}
	for i, line := range header {
		for _, field := range fieldsOf(line) {
			if given[field.name] {
				return t, atLine(i, "%s is given twice", field.name)
			}
			given[field.name] = true
			if err := t.set(field.name, field.value); err != nil {
				return t, atLine(i, "%v", err)
			}
		}
	}
	if t.Op == string(fleet.OpRemove) && strings.TrimSpace(t.Text) == "" {
		t.Text = RemovalText
	}
	return t, nil
}

// RemovalText is the text of a template with the op remove whose file has none: it removes what its key names.
const RemovalText = "true\n"

// split returns the header's lines, the text after the header, and whether "# ---" ended the header.
func split(text string) (header []string, body string, hasEnd bool) {
	rest := text
	for strings.HasPrefix(rest, "#") {
		line, after, _ := strings.Cut(rest, "\n")
		line = strings.TrimRight(line, " \t\r")
		if line == headerEnd {
			return header, after, true
		}
		if len(fieldsOf(line)) == 0 {
			break
		}
		header, rest = append(header, line), after
	}
	return header, rest, false
}

// misspelt finds a comment line that was meant as a line of the header but names no field. Such a line is above the
// end mark "# ---", or has a name that is close to a field's. body is the text after the header. at is the number of
// its first line, counted from 0. name is "" if there is no such line.
func misspelt(at int, body string) (line int, name string) {
	hasEnd := false
	comments := []string{}
	for text := range strings.Lines(body) {
		if !strings.HasPrefix(text, "#") || hasEnd {
			break
		}
		hasEnd = strings.TrimRight(text, " \t\r\n") == headerEnd
		comments = append(comments, text)
	}
	for i, text := range comments {
		before, _, hasColon := strings.Cut(strings.TrimPrefix(text, "#"), ":")
		before = strings.TrimSpace(before)
		isWord := hasColon && before != "" && !strings.ContainsAny(before, " \t")
		if isWord && (hasEnd || fleet.Nearest(before, fields) != "" && len(before) > 2) {
			return at + i, before
		}
	}
	return 0, ""
}

type field struct{ name, value string }

// fieldsOf returns the fields in a comment line, or no fields for an ordinary comment. A comma starts another field
// only when the name of a field follows it, so labels, keys and lists of tags may contain commas.
func fieldsOf(line string) (found []field) {
	rest, isComment := strings.CutPrefix(line, "#")
	name, rest, there := nameOf(rest)
	if !isComment || !there {
		return nil
	}
	for {
		value, after := valueOf(rest)
		found = append(found, field{name, value})
		if after == "" {
			return found
		}
		name, rest, _ = nameOf(after[len(","):])
	}
}

// nameOf returns the field name at the beginning of a text and the text after its colon. there is false if there is
// no field name.
func nameOf(text string) (name, rest string, there bool) {
	name, rest, there = strings.Cut(text, ":")
	name = strings.TrimSpace(name)
	return name, rest, there && slices.Contains(fields, name)
}

// valueOf returns the value at the beginning of a text. after is the rest, from the comma before the next field.
func valueOf(text string) (value, after string) {
	for i := 0; i < len(text); i++ {
		if quoted, err := strconv.QuotedPrefix(text[i:]); err == nil && text[i] == '"' {
			i += len(quoted) - 1
			continue
		}
		if _, _, next := nameOf(text[i+1:]); text[i] == ',' && next {
			return strings.TrimSpace(text[:i]), text[i:]
		}
	}
	return strings.TrimSpace(text), ""
}

func (t *Template) set(name, value string) (err error) {
	switch name {
	case "label":
		t.Label = unquoted(value)
		t.Blank = t.Label == ""
	case "priority":
		if t.Priority, err = strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("priority %q is no whole number", value)
		}
	case "op":
		op, err := fleet.ParseOp(value)
		if err != nil {
			return err
		}
		t.Op = string(op)
	case "key":
		t.Key = unquoted(value)
	case "tags":
		t.Tags = tagsIn(value)
		slices.Sort(t.Tags)
		t.Tags = slices.Compact(t.Tags)
	}
	return nil
}

func unquoted(value string) string {
	if text, err := strconv.Unquote(value); err == nil && value[0] == '"' {
		return text
	}
	return value
}

// tagsIn returns the tags in a list that is separated by commas. A tag that contains a comma is quoted.
func tagsIn(list string) []string {
	tags := []string{}
	for begin, i := 0, 0; i <= len(list); i++ {
		if i < len(list) && list[i] != ',' {
			if quoted, err := strconv.QuotedPrefix(list[i:]); err == nil && list[i] == '"' {
				i += len(quoted) - 1
			}
			continue
		}
		if tag := unquoted(strings.TrimSpace(list[begin:i])); tag != "" {
			tags = append(tags, tag)
		}
		begin = i + 1
	}
	return tags
}

func atLine(i int, format string, args ...any) error {
	return &fleet.Error{
		Code:    fleet.CodeInvalid,
		Message: fmt.Sprintf("line %d: ", i+1) + fmt.Sprintf(format, args...),
		Hint: "The header is made of `# label: TEXT`, `# priority: NUMBER`, `# op: set|merge|append|remove`, " +
			"`# key: KEY` and `# tags: TAG, TAG`.",
	}
}

// String returns the text of the file. ParseTemplate reads the same template from it.
func (t Template) String() string {
	var b strings.Builder
	if t.Label != "" || t.Blank {
		fmt.Fprintf(&b, "# label: %s\n", plain(t.Label))
	}
	fmt.Fprintf(&b, "# priority: %d\n# op: %s\n# key: %s\n", t.Priority, t.Op, plain(t.Key))
	if t.Tags != nil {
		tags := make([]string, len(t.Tags))
		for i, tag := range t.Tags {
			tags[i] = plain(tag)
		}
		fmt.Fprintf(&b, "# tags: %s\n", strings.Join(tags, ", "))
	}
	b.WriteString(headerEnd + "\n" + t.Text)
	return b.String()
}

// plain returns a value as the header contains it: in quotes when a reader could misread it without them.
func plain(value string) string {
	if strings.TrimSpace(value) != value || strings.ContainsAny(value, "\",\r\n") {
		return strconv.Quote(value)
	}
	return value
}

package stconfig

import (
	"fmt"
	"regexp"
	"strings"
)

// misfit says that a field takes another JSON type than a value has, and how to write the value where that is known.
// The text follows the name of the field.
func (s *shape) misfit(name string, want Kind, v Value) string {
	text := fmt.Sprintf("takes %s, not %s", kindText(want), kindText(v.kind))
	switch {
	case want == String && (v.kind == Number || v.kind == Bool):
		if s != nil && len(s.choices) > 0 {
			return fmt.Sprintf("%s: one of %s", text, quotedList(s.choices))
		}
		return fmt.Sprintf("takes a text: write %s", appendString(nil, v.text))
	case v.kind == String && want == Number && isNumber.MatchString(v.text),
		v.kind == String && want == Bool && (v.text == "true" || v.text == "false"):
		return fmt.Sprintf("%s: write %s without quotes", text, v.text)
	case v.kind == String && strings.HasSuffix(v.text, ";"):
		return text + ": leave out the semicolon"
	case v.kind == String && want == Number && beginsWithNumber.MatchString(v.text):
		return fmt.Sprintf("%s: write it without a unit%s", text, countsIn(name))
	case want == Bool && v.kind == String && BooleanMeant(v.text) != "":
		return fmt.Sprintf("%s: use %s in the place of %s", text, BooleanMeant(v.text), appendString(nil, v.text))
	case want == Bool:
		return text + ": use true or false, without quotes"
	case want == Array && (v.kind == String || v.kind == Number):
		return text + ": write brackets around the members"
	case want == Array && v.kind == Object && s != nil && s.identified():
		return fmt.Sprintf(`%s: write [{"%s": …}]`, text, s.identity)
	case want == Object && s != nil && len(s.names) > 0 && len(s.names) <= mostNames:
		return fmt.Sprintf("%s: its fields are %s", text, strings.Join(s.names, ", "))
	}
	return text
}

// BooleanMeant returns the boolean that other formats write with this word, such as yes: "true", "false" or "".
func BooleanMeant(word string) string {
	switch strings.ToLower(word) {
	case "true", "yes", "on":
		return "true"
	case "false", "no", "off":
		return "false"
	}
	return ""
}

// mostNames is how many fields an object may have for its fields to be listed in a message.
const mostNames = 6

var (
	isNumber         = regexp.MustCompile(`^-?[0-9]{1,15}$`)
	beginsWithNumber = regexp.MustCompile(`^\s*[0-9]`)
)

// countsIn names the unit that the name of a field ends with.
func countsIn(name string) string {
	for _, unit := range []struct{ ending, text string }{
		{"Kbps", "KiB/s"}, {"KiB", "KiB"}, {"MiB", "MiB"}, {"Pct", "percent"}, {"Size", "bytes"}, {"Seconds", "seconds"},
		{"Minutes", "minutes"}, {"S", "seconds"}, {"M", "minutes"}, {"H", "hours"},
	} {
		if strings.HasSuffix(name, unit.ending) {
			return "; the field counts in " + unit.text
		}
	}
	return ""
}

func quotedList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = string(appendString(nil, text))
	}
	return strings.Join(quoted, ", ")
}

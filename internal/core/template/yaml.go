package template

import (
	"fmt"
	"regexp"
	"strings"
)

// yaml matches what begins a line in YAML and in nothing that templates are written in.
var yaml = regexp.MustCompile(`(?m)^(---[ \t\r]*$|[ \t]*- +\S|[ \t]*[A-Za-z_]\w*:[ \t]*[|>]-?[ \t\r]*$)`)

const yamlMessage = "this is YAML, which Muster does not read"

const yamlHint = "Write braces around the members of an object and brackets around those of a list: " +
	"{ devices: [ { deviceID: … } ] }."

// findYAML makes the fault for a text that cannot be read and looks like YAML, or nil.
func findYAML(text string) *fault {
	at := yaml.FindStringIndex(text)
	if at == nil {
		return nil
	}
	if header := frontMatter.FindStringSubmatch(text); header != nil {
		return &fault{reached: at[1], final: true, message: yamlMessage, hint: headerHint(header[1])}
	}
	start := at[0] + len(text[at[0]:at[1]]) - len(strings.TrimLeft(text[at[0]:at[1]], " \t"))
	return &fault{at: start, reached: at[1], final: true, message: yamlMessage, hint: yamlHint}
}

// frontMatter matches the header of a template's file, as other tools write it in YAML.
var frontMatter = regexp.MustCompile(`^---[ \t\r]*\n` +
	`((?:[ \t]*(?:label|priority|op|key|tags)[ \t]*:.*\n)+)---[ \t\r]*(?:\n|$)`)

// headerHint says how to write the lines of a header.
func headerHint(lines string) string {
	var header []string
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "tags") {
			line = strings.NewReplacer("[", "", "]", "", `"`, "").Replace(line)
		}
		header = append(header, "# "+shorten(line))
	}
	return "The header of a template's file stands in comments, one field a line: " + strings.Join(header, ", ") +
		", and # --- below them."
}

var (
	// yamlBelow matches what HJSON takes for the text of the name on the line above: a member or an entry of a list.
	yamlBelow = regexp.MustCompile(`^([A-Za-z_]\w*:([ \t]|$)|-([ \t]|$))`)
	// yamlAnchor matches a name that YAML gives to a value, at the end of a member's line.
	yamlAnchor = regexp.MustCompile(`^&[A-Za-z_][\w-]*$`)
	// yamlBlock matches what begins a text of several lines in YAML.
	yamlBlock = regexp.MustCompile(`^[|>][-+]?$`)
)

// readsAsYAML makes the fault for a member that HJSON can read and nobody means so, or nil. written is its value where
// that has no quotes. below is set when the value begins on a later line than the name.
func readsAsYAML(name, written string, below bool) *fault {
	f := &fault{message: yamlMessage, hint: yamlHint, final: true}
	switch {
	case name == "<<":
		f.hint = "A program takes over the members of an object with |, as in {\"a\": 1} | {\"b\": 2}."
	case below && yamlBelow.MatchString(written):
	case yamlAnchor.MatchString(written):
		f.hint = fmt.Sprintf("Write the value out where it is used, or a program that gives it a name. "+
			"If the text is meant, quote it: %q.", shorten(written))
	case yamlBlock.MatchString(written):
		f.hint = "Put a text of several lines between ''' and '''."
	default:
		return nil
	}
	return f
}

package template

import (
	"fmt"
	"regexp"
	"strings"
)

// otherFormats are texts that people bring along from elsewhere: how such a text begins, and what to write instead.
var otherFormats = []struct {
	begins  *regexp.Regexp
	message string
	hint    string
}{
	{regexp.MustCompile(`^\s*<[A-Za-z?!]`), "this is XML, which Muster does not read",
		"Write the names of Syncthing's REST API: { maxSendKbps: 2000 } for <maxSendKbps>2000</maxSendKbps>."},
	{regexp.MustCompile(`^\s*\[[\w.]+\][ \t\r]*\n\s*\w+[ \t]*=`), "this is TOML or INI, which Muster does not read",
		"Write the section into the key, and a colon for the equals sign: { maxSendKbps: 2000 }."},
	{regexp.MustCompile(`^\s*((async\s+)?function\s+\w+\s*\(|(const|let|var)\s+\w+\s*=|export\s+default\b)`),
		"this is JavaScript, which Muster does not run",
		"Write a Starlark program: def template(device): return 2000."},
}

// findFormat makes the fault for a text that cannot be read and is of another format, or nil.
func findFormat(text string) *fault {
	for _, format := range otherFormats {
		if at := format.begins.FindStringIndex(text); at != nil {
			start := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
			return &fault{at: start, reached: at[1], final: true, message: format.message, hint: format.hint}
		}
	}
	return nil
}

// colonHint says how to write a member whose name is followed by another character than a colon.
func colonHint(name string, next byte) string {
	switch {
	case next == '=':
		return fmt.Sprintf("Write %s: and the value; HJSON has no equals sign.", shorten(name))
	case name == "%" || name == "+" || strings.HasPrefix(name, "("):
		return "HJSON computes nothing. Write a program: def template(device): return …"
	}
	return fmt.Sprintf("Write a colon after it, as in { %q: 1 }. A name with blanks stands in quotes.", shorten(name))
}

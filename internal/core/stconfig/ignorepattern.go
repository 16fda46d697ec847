package stconfig

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// One unreadable line of ignore patterns puts the whole folder into an error state (Syncthing's lib/ignore, and the
// globs of github.com/gobwas/glob, whose sets are narrower than a shell's). The check below reads a line as the daemon
// does. test/contract compares it with a real daemon.

// maxIgnoreLine is the longest line that the daemon's scanner accepts.
const maxIgnoreLine = 64<<10 - 1

// CheckIgnores returns the position of the first line that a daemon cannot read, with the reason; -1 when it can read
// all. os is the daemon's GOOS. With an unknown os ("") a line counts as unreadable only when no system can read it.
func CheckIgnores(lines []string, os string) (at int, why string) {
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#escape") {
			// Since Syncthing 2.0 this line changes the escape character, so only the daemon can judge the lines after
			// it.
			return -1, ""
		}
		if why := CheckIgnoreLine(line, os); why != "" {
			return i, why
		}
	}
	return -1, ""
}

// CheckIgnoreLine returns why a daemon cannot read a line; "" when it can. os is the daemon's GOOS, as in
// CheckIgnores. Only the daemon knows whether the file of an #include exists.
func CheckIgnoreLine(line, os string) string {
	if os != "" {
		return checkIgnoreLine(line, os)
	}
	why := ""
	for _, any := range []string{"windows", "darwin", "linux"} {
		if why = checkIgnoreLine(line, any); why == "" {
			return ""
		}
	}
	return why
}

func checkIgnoreLine(line, os string) string {
	if len(line) > maxIgnoreLine {
		return "the line is longer than 64 KiB"
	}
	line = strings.TrimSpace(line)
	if line == "" || strings.HasPrefix(line, "//") {
		return ""
	}
	if os == "windows" {
		line = strings.ReplaceAll(line, `\`, "/")
	}
	if file, is := IncludedFile(line); is {
		if file == "" {
			return "#include needs the name of a file after a blank"
		}
		return ""
	}
	pattern, foldsCase := withoutPrefixes(line)
	if pattern == "" {
		return "there is no pattern after the prefix"
	}
	if foldsCase || os == "windows" || os == "darwin" {
		pattern = strings.ToLower(pattern)
	}
	return (&globReader{rest: pattern}).fault()
}

// IncludedFile returns the file that a line includes, as it is written; "" when the name is missing. The daemon takes
// every line that begins with #include for an include, and the text after the first blank for the name.
func IncludedFile(line string) (file string, is bool) {
	after, is := strings.CutPrefix(strings.TrimSpace(line), "#include")
	_, file, _ = strings.Cut(after, " ")
	return strings.TrimSpace(file), is
}

// mistakenInclude warns of an included file: only the daemon knows whether it exists.
func mistakenInclude(line string) string {
	file, is := IncludedFile(line)
	if !is || file == "" {
		return ""
	}
	return fmt.Sprintf("includes the file %q: a folder in which it is missing stops", shortened(file))
}

// withoutPrefixes removes !, (?i) and (?d) from a line, each at most once, in any order.
func withoutPrefixes(line string) (pattern string, foldsCase bool) {
	prefixes := []string{"!", "(?i)", "(?d)"}
	for {
		at := slices.IndexFunc(prefixes, func(p string) bool { return strings.HasPrefix(line, p) })
		if at < 0 {
			return line, foldsCase
		}
		foldsCase = foldsCase || prefixes[at] == "(?i)"
		line = line[len(prefixes[at]):]
		prefixes = slices.Delete(prefixes, at, at+1)
	}
}

// globReader reads a glob pattern. Open braces need no closing brace: the end of the line closes them.
type globReader struct {
	rest string
	bad  string // error about an unreadable character, or ""
}

// next returns the next character, 0 at the end.
func (g *globReader) next() rune {
	r, size := utf8.DecodeRuneInString(g.rest)
	switch {
	case size == 0:
		return 0
	case r == utf8.RuneError:
		g.bad = "a character cannot be read"
	}
	g.rest = g.rest[size:]
	return r
}

func (g *globReader) peek() rune {
	r, size := utf8.DecodeRuneInString(g.rest)
	if size == 0 {
		return 0
	}
	return r
}

func (g *globReader) fault() string {
	for g.rest != "" && g.bad == "" {
		switch g.next() {
		case '\\':
			g.next()
		case '[':
			if why := g.set(); why != "" {
				return why
			}
		}
	}
	return g.bad
}

// set reads the rest of a set after its opening bracket: an optional !, then one range like [a-z] or characters like
// [abc].
func (g *globReader) set() string {
	if g.peek() == '!' {
		g.next()
	}
	first := g.next()
	if first == 0 {
		return "the bracket [ is not closed"
	}
	if g.peek() == '-' {
		g.next()
		return g.rangeFrom(first)
	}
	for r, n := first, 0; ; r, n = g.next(), n+1 {
		switch r {
		case 0:
			return "the bracket [ is not closed"
		case '\\':
			g.next()
		case ']':
			if n == 0 {
				return "the brackets [] hold nothing"
			}
			return ""
		}
	}
}

// rangeFrom reads the rest of a range after "[a-".
func (g *globReader) rangeFrom(low rune) string {
	high := g.next()
	switch end := g.next(); {
	case high == 0 || end == 0:
		return "the bracket [ is not closed"
	case end != ']':
		return "brackets hold one range or a list of characters, not both, and not two ranges: write {[a-z],[0-9]}"
	case high < low:
		return fmt.Sprintf("the range %c-%c runs backwards", low, high)
	}
	return ""
}

// IgnoreLinesIn returns the lists of ignore patterns in a template's value at a key.
func IgnoreLinesIn(key Key, value Value) [][]string {
	var all [][]string
	ignoreLines(shapeAt(key), value, func(lines []string) { all = append(all, lines) })
	return all
}

func ignoreLines(s *shape, v Value, found func([]string)) {
	switch {
	case s == nil:
	case s.lines && v.kind == Array:
		lines := make([]string, v.Len())
		for i, line := range v.kids.values {
			lines[i] = line.text
		}
		found(lines)
	case v.kind == Object:
		for name, member := range v.Members() {
			ignoreLines(s.below(name), member, found)
		}
	}
}

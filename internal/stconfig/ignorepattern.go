package stconfig

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A line of ignore patterns that the daemon cannot read puts the whole folder in error (lib/ignore, and the globs of
// github.com/gobwas/glob, whose sets are narrower than a shell's). The check below reads a line as the daemon does.
// test/contract compares it with a real daemon.

// maxIgnoreLine is the longest line that the daemon's scanner takes.
const maxIgnoreLine = 64<<10 - 1

// CheckIgnores finds the first line that a daemon cannot read; at is -1 when it reads all of them. os is the daemon's
// GOOS. Where that is not known ("") a line counts only if no system can read it.
func CheckIgnores(lines []string, os string) (at int, why string) {
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "#escape") {
			return -1, "" // daemons since 2.0 can have another escape character: what follows is theirs to judge
		}
		if why := CheckIgnoreLine(line, os); why != "" {
			return i, why
		}
	}
	return -1, ""
}

// CheckIgnoreLine says why a daemon cannot read a line, "" when it can. Whether the file of an #include is there only
// the daemon knows.
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

// IncludedFile is the file that a line of ignore patterns includes, as the line has it; "" where the name is missing.
// A daemon takes every line that begins with #include for one, and what follows the first blank for the name.
func IncludedFile(line string) (file string, is bool) {
	after, is := strings.CutPrefix(strings.TrimSpace(line), "#include")
	_, file, _ = strings.Cut(after, " ")
	return strings.TrimSpace(file), is
}

// doubtInclude: only the daemon knows whether an included file is there.
func doubtInclude(line string) string {
	file, is := IncludedFile(line)
	if !is || file == "" {
		return ""
	}
	return fmt.Sprintf("includes the file %q: a folder in which it is missing stops", shortened(file))
}

// withoutPrefixes takes !, (?i) and (?d) off a line, each once, in any order.
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

// globReader reads a glob. Braces need no partner: what is open at the end is closed there.
type globReader struct {
	rest string
	bad  string // why a character cannot be read
}

// next is the next character, 0 at the end.
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

// set reads on after an opening bracket: one range like [a-z], or characters like [abc], after an optional !.
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

// rangeFrom reads on after "[a-".
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

// IgnoreLinesIn are the ignore patterns that a template's value holds when it is laid at a key, list by list.
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

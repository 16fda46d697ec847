package template

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"muster/internal/core/stconfig"
)

// maxDigits is the length of the longest number, in bytes. No setting needs a longer one, and converting it takes
// time.
const maxDigits = 400

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// name reads the name of a member.
func (r *hjsonReader) name() (string, *fault) {
	if isQuote(r.peek()) {
		return r.quoted(false)
	}
	start := r.at
	for r.at < len(r.text) && r.text[r.at] > ' ' && !isPunctuation(r.text[r.at]) {
		r.at++
	}
	name := r.text[start:r.at]
	switch {
	case name == "" && r.at < len(r.text):
		return "", r.fault(fmt.Sprintf("found %q where a name should stand", r.text[r.at]), "")
	case name == "":
		return "", r.fault("the text ends where a name should stand", "")
	}
	after := r.at
	for r.at < len(r.text) && r.text[r.at] <= ' ' {
		r.at++
	}
	if r.peek() != ':' {
		return "", &fault{at: after, reached: r.at, message: fmt.Sprintf("a colon is missing after the name %q",
			shorten(name)), hint: cmp.Or(r.greedyHint(), colonHint(name, r.peek()))}
	}
	return name, nil
}

// quoteless reads true, false, null, a number, or else the rest of the line as an unquoted string. A word or number
// also ends at a comma, a closing bracket or a comment. An unquoted string contains all of these.
func (r *hjsonReader) quoteless() stconfig.Value {
	start := r.at
	line := r.text[start:]
	word := line[:wordEnd(line)]
	if value, ok := r.literal(strings.TrimRightFunc(word, isBlank)); ok {
		r.at += len(word)
		return value
	}
	// The line's end is searched only here, because one line may contain many short values.
	if end := strings.IndexAny(line, "\r\n"); end >= 0 {
		line = line[:end]
	}
	r.at += len(line)
	text := strings.TrimSpace(line)
	if strings.HasSuffix(text, ",") || strings.HasSuffix(text, "]") || strings.HasSuffix(text, "}") {
		r.greedy = text
	}
	return r.textValue(text, start)
}

func wordEnd(line string) int {
	for i := range len(line) {
		switch c := line[i]; {
		case c == '\n' || c == '\r':
			return i
		case i > 0 && (c == ',' || c == ']' || c == '}' || c == '#'):
			return i
		case i > 0 && c == '/' && i+1 < len(line) && (line[i+1] == '/' || line[i+1] == '*'):
			return i
		}
	}
	return len(line)
}

func (r *hjsonReader) literal(word string) (stconfig.Value, bool) {
	switch word {
	case "true":
		return stconfig.Boolean(true), true
	case "false":
		return stconfig.Boolean(false), true
	case "null":
		return stconfig.NullValue, true
	}
	if !jsonNumber.MatchString(word) {
		return stconfig.Value{}, false
	}
	if len(word) > maxDigits {
		r.refuse(r.at, tooManyDigits, "")
	}
	return stconfig.Literal(word), true
}

var tooManyDigits = fmt.Sprintf("a number may have at most %d digits", maxDigits)

// quoted reads a string in quotes. When manyLines is set, three single quotes begin a string of several lines.
func (r *hjsonReader) quoted(manyLines bool) (string, *fault) {
	open, quote := r.at, r.text[r.at]
	if manyLines && strings.HasPrefix(r.text[r.at:], "'''") {
		return r.lines()
	}
	var b strings.Builder
	for r.at++; r.at < len(r.text); {
		switch c := r.text[r.at]; c {
		case quote:
			r.at++
			return b.String(), nil
		case '\n', '\r':
			return "", r.fault("the line ends inside quotes",
				"Write \\n for a line break, or put a text of many lines between ''' and '''.")
		case '\\':
			if err := r.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			r.at++
		}
	}
	return "", &fault{at: open, reached: r.at, message: "the text that starts here has no closing quote"}
}

var escapes = map[byte]byte{'"': '"', '\'': '\'', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r',
	't': '\t'}

// escape reads an escape sequence, from its backslash on.
func (r *hjsonReader) escape(b *strings.Builder) *fault {
	start := r.at
	r.at++
	if c, ok := escapes[r.peek()]; ok {
		b.WriteByte(c)
		r.at++
		return nil
	}
	if r.peek() != 'u' {
		r.at = start
		return r.fault("this escape is not known", `Write \\ for a backslash.`)
	}
	unit, ok := r.hex()
	if !ok {
		r.at = start
		return r.fault(`\u needs four hexadecimal digits`, "")
	}
	if utf16.IsSurrogate(unit) {
		if strings.HasPrefix(r.text[r.at:], `\u`) {
			second, ok := r.hex2()
			if pair := utf16.DecodeRune(unit, second); ok && pair != utf8.RuneError {
				b.WriteRune(pair)
				return nil
			}
		}
		r.refuse(start, "this is half of a surrogate pair, no character",
			`Write the character itself, or both halves: "\ud83d\ude00".`)
	}
	b.WriteRune(unit)
	return nil
}

// hex reads the u of \u and its four digits.
func (r *hjsonReader) hex() (rune, bool) {
	if len(r.text) < r.at+5 {
		return 0, false
	}
	unit, err := strconv.ParseUint(r.text[r.at+1:r.at+5], 16, 16)
	if err != nil {
		return 0, false
	}
	r.at += 5
	return rune(unit), true
}

// hex2 reads the second half of a surrogate pair. It reads nothing when no second half follows.
func (r *hjsonReader) hex2() (rune, bool) {
	start := r.at
	r.at++
	unit, ok := r.hex()
	if !ok || unit < 0xdc00 || unit > 0xdfff {
		r.at = start
		return 0, false
	}
	return unit, true
}

// lines reads a string between three single quotes. It removes the indentation of the opening quotes from every line,
// and the line breaks directly after the opening and before the closing quotes.
func (r *hjsonReader) lines() (string, *fault) {
	open := r.at
	r.at += len("'''")
	end := strings.Index(r.text[r.at:], "'''")
	if end < 0 {
		return "", &fault{at: open, reached: len(r.text), message: "the text that starts here has no closing '''"}
	}
	body := strings.ReplaceAll(r.text[r.at:r.at+end], "\r", "")
	r.at += end + len("'''")
	indent := open - (strings.LastIndexByte(r.text[:open], '\n') + 1)
	first, rest, more := strings.Cut(body, "\n")
	first = strings.TrimLeftFunc(first, isBlank)
	if !more {
		return first, nil
	}
	var b strings.Builder
	if first != "" {
		b.WriteString(first + "\n")
	}
	for i, line := range strings.Split(rest, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		skip := 0
		for skip < len(line) && skip < indent && line[skip] <= ' ' {
			skip++
		}
		b.WriteString(line[skip:])
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func isBlank(c rune) bool { return c <= ' ' }

// textValue returns s as a value, or the Handle of the secret when s is "${secret:NAME}".
func (r *hjsonReader) textValue(s string, at int) stconfig.Value {
	if r.seek != nil && !r.seek.found && s == r.seek.text {
		r.seek.found, r.seek.at = true, at
	}
	r.placeholder(s, at)
	if !strings.Contains(s, secretMark) {
		return stconfig.Text(s)
	}
	name, ok := secretName(s)
	if !ok {
		r.refuse(at, "a secret stands alone between the quotes", `Write "${secret:NAME}" and nothing else in the text.`)
		return stconfig.Text(s)
	}
	r.secrets = append(r.secrets, secretUse{name, at})
	return stconfig.SecretHandle(secretHandle + name)
}

package template

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"muster/internal/core/stconfig"
)

// readHJSON reads a text as HJSON (hjson.github.io/syntax.html), in one pass and in linear time. It accepts the texts
// that github.com/hjson/hjson-go accepts and returns the same values; a fuzz test compares the two. There are three
// differences: readHJSON knows the place of every fault, keeps numbers exact and joins surrogate pairs. It also
// refuses valid HJSON that nobody means: repeated names, an unquoted string as the whole text, deep nesting, a comment
// without an end.
func readHJSON(text string) (hjsonText, *fault) {
	r := &hjsonReader{text: text}
	value, err := r.document()
	if err == nil {
		err = r.refusal
	}
	return hjsonText{value: value, secrets: r.secrets, jinja: r.jinja, yaml: r.yaml}, err
}

// hjsonText is the result of reading a text.
type hjsonText struct {
	value       stconfig.Value
	secrets     []secretUse
	jinja, yaml *fault // see hjsonReader
}

// secretUse is the place of one "${secret:NAME}" in a text.
type secretUse struct {
	name string
	at   int
}

type hjsonReader struct {
	text   string
	at     int // byte offset of the next byte to read
	depth  int
	values int
	// the first part that is valid HJSON but refused; it is returned only when the rest of the text is valid
	refusal *fault
	// A text with one of these two faults is valid HJSON, but may not be saved. Nil: the text has no such fault.
	jinja   *fault // the first placeholder of another template language in a name or text
	yaml    *fault // the first member that reads like YAML
	secrets []secretUse
	seek    *sought // segments that Locate searches for; nil: no search
	places  *places // positions of names and list members; nil: positions are not recorded
	// unbounded is set for a Document: the number of values and of names in an object has no limit.
	unbounded bool
	// greedy is the last unquoted string that ends in a bracket or comma. When brackets do not match, it is usually
	// the cause.
	greedy string
	bare   string // the string that is the whole text, without quotes
}

func (r *hjsonReader) document() (stconfig.Value, *fault) {
	if err := r.white(); err != nil {
		return stconfig.Value{}, err
	}
	if r.at == len(r.text) {
		return stconfig.Value{}, &fault{message: "the template is empty",
			hint: "Write the value to set, as HJSON or as a Starlark expression.", final: true}
	}
	value, err := r.root()
	if err != nil {
		return stconfig.Value{}, err
	}
	if err := r.white(); err != nil {
		return stconfig.Value{}, err
	}
	if r.at < len(r.text) {
		return stconfig.Value{}, r.fault("there is text after the end of the value", "A template is one value.")
	}
	return value, nil
}

// root reads the whole text: an object, at the top also without braces, a list, or one scalar.
func (r *hjsonReader) root() (stconfig.Value, *fault) {
	switch {
	case r.peek() == '{' || r.peek() == '[':
		return r.value()
	case r.beginsMember():
		return r.object(r.at, false)
	}
	start := r.at
	value, err := r.value()
	if err != nil {
		return value, err
	}
	if value.Kind() == stconfig.String && !isQuote(r.text[start]) {
		r.bare = value.Str()
		return value, &fault{at: start, reached: start, message: "a text at the top must stand in quotes",
			hint: quotesHint(value.Str()),
			bare: true}
	}
	return value, nil
}

// quotesHint says how to write a text that stands at the top without quotes.
func quotesHint(text string) string {
	const program = "a Starlark program starts with `def template():`."
	text = strings.Trim(text, "“”„‘’ ")
	if text != shorten(text) || strings.ContainsAny(text, "\"\\\n") {
		return "Quote it if a text is meant; " + program
	}
	return fmt.Sprintf("Write \"%s\" if a text is meant; %s", text, program)
}

// beginsMember reports whether a name and a colon come next. It does not move the reader.
func (r *hjsonReader) beginsMember() bool {
	probe := &hjsonReader{text: r.text, at: r.at}
	if _, err := probe.name(); err != nil {
		return false
	}
	return probe.white() == nil && probe.peek() == ':'
}

// value reads white space and then one value.
func (r *hjsonReader) value() (stconfig.Value, *fault) {
	if err := r.white(); err != nil {
		return stconfig.Value{}, err
	}
	if r.values++; r.values > DefaultValues && !r.unbounded {
		return stconfig.Value{}, r.stop(fmt.Sprintf("the template holds more than %d values", DefaultValues),
			"Split it, or make the value with a Starlark program.")
	}
	switch c := r.peek(); {
	case r.at == len(r.text):
		return stconfig.Value{}, r.fault("the text ends where a value should stand", "")
	case c == '{' || c == '[':
		if r.depth++; r.depth > MaxDepth {
			return stconfig.Value{}, r.stop(fmt.Sprintf("nested deeper than %d levels", MaxDepth), "")
		}
		defer func() { r.depth-- }()
		open := r.at
		r.at++
		if c == '{' {
			return r.object(open, true)
		}
		return r.list(open)
	case isQuote(c):
		start := r.at
		s, err := r.quoted(true)
		if err != nil {
			return stconfig.Value{}, err
		}
		return r.textValue(s, start), nil
	case isPunctuation(c):
		return stconfig.Value{}, r.fault(fmt.Sprintf("found %q where a value should stand", c), "")
	default:
		return r.quoteless(), nil
	}
}

// asYAML remembers a member that reads like YAML. Its value ends here.
func (r *hjsonReader) asYAML(name string, colon int) {
	written := strings.TrimLeft(r.text[colon:r.at], " \t\r\n")
	start := r.at - len(written)
	below := strings.Contains(r.text[colon:start], "\n")
	if f := readsAsYAML(name, strings.TrimSpace(written), below); f != nil && r.yaml == nil {
		f.at, f.reached = start, r.at
		r.yaml = f
	}
}

// list reads a list after its opening bracket. Commas are optional, and one may follow the last member.
func (r *hjsonReader) list(open int) (stconfig.Value, *fault) {
	var members []stconfig.Value
	for {
		if err := r.white(); err != nil {
			return stconfig.Value{}, err
		}
		switch {
		case r.at == len(r.text):
			return stconfig.Value{}, r.unclosed(open, "list", "]")
		case r.peek() == ']':
			r.at++
			return stconfig.List(members...), nil
		}
		leave := r.places.enter(indexPart(len(members)), r.at)
		member, err := r.value()
		leave()
		if err != nil {
			return stconfig.Value{}, err
		}
		members = append(members, member)
		if err := r.comma(); err != nil {
			return stconfig.Value{}, err
		}
	}
}

// object reads an object after its opening brace, or from its first name when it has no braces.
func (r *hjsonReader) object(open int, braces bool) (stconfig.Value, *fault) {
	var members []stconfig.Member
	seen := map[string]string{}
	for {
		if err := r.white(); err != nil {
			return stconfig.Value{}, err
		}
		switch {
		case r.at == len(r.text) && braces:
			return stconfig.Value{}, r.unclosed(open, "object", "}")
		case r.at == len(r.text), braces && r.peek() == '}':
			if braces {
				r.at++
			}
			return stconfig.Obj(members...), nil
		}
		if len(members) == MaxNames && !r.unbounded {
			return stconfig.Value{}, r.stop(tooManyNames, "")
		}
		start := r.at
		name, err := r.name()
		if err != nil {
			return stconfig.Value{}, err
		}
		r.unique(seen, name, start)
		r.placeholder(name, start)
		if err := r.white(); err != nil {
			return stconfig.Value{}, err
		}
		if r.peek() != ':' {
			return stconfig.Value{}, r.fault(fmt.Sprintf("a colon is missing after the name %q", shorten(name)),
				colonHint(name, r.peek()))
		}
		r.at++
		colon := r.at
		leave := r.places.enter(namePart(name), start)
		member, err := r.value()
		leave()
		r.asYAML(name, colon)
		if err != nil {
			return stconfig.Value{}, err
		}
		members = append(members, stconfig.Member{Name: name, Value: member})
		if err := r.comma(); err != nil {
			return stconfig.Value{}, err
		}
	}
}

// unique refuses a name that the object already has in any letter case, because the daemon treats both as one field.
func (r *hjsonReader) unique(seen map[string]string, name string, at int) {
	folded := foldName(name)
	first, twice := seen[folded]
	if !twice {
		seen[folded] = name
		return
	}
	r.refuse(at, duplicateMessage(first, name), "Keep one of them.")
}

var tooManyNames = fmt.Sprintf("an object may have at most %d names", MaxNames)

func duplicateMessage(first, second string) string {
	if first == second {
		return fmt.Sprintf("the name %q stands twice in one object", shorten(second))
	}
	return fmt.Sprintf("the names %q and %q are the same to the daemon", shorten(first), shorten(second))
}

// comma skips white space and at most one comma.
func (r *hjsonReader) comma() *fault {
	if err := r.white(); err != nil {
		return err
	}
	if r.peek() == ',' {
		r.at++
	}
	return nil
}

// white skips white space and comments.
func (r *hjsonReader) white() *fault {
	for r.at < len(r.text) {
		rest := r.text[r.at:]
		switch {
		case rest[0] <= ' ':
			r.at++
		case rest[0] == '#', strings.HasPrefix(rest, "//"):
			line := strings.IndexByte(rest, '\n')
			if line < 0 {
				line = len(rest)
			}
			r.at += line
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return r.fault("this comment has no end", "Close it with */.")
			}
			r.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

// peek returns the next byte, or 0 at the end of the text. A text contains no NUL.
func (r *hjsonReader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *hjsonReader) fault(message, hint string) *fault {
	return &fault{at: r.at, reached: r.at, message: message, hint: hint}
}

// stop makes a fault for a text that is certainly HJSON, so that it is not tried as Starlark.
func (r *hjsonReader) stop(message, hint string) *fault {
	return &fault{at: r.at, reached: r.at, message: message, hint: hint, final: true}
}

func (r *hjsonReader) refuse(at int, message, hint string) {
	if r.refusal == nil {
		r.refusal = &fault{at: at, reached: at, message: message, hint: hint, final: true}
	}
}

func (r *hjsonReader) unclosed(open int, what, bracket string) *fault {
	return &fault{at: open, reached: r.at, message: fmt.Sprintf("the %s that starts here has no closing %s", what,
		bracket), hint: cmp.Or(r.greedyHint(), fmt.Sprintf("Write %s where it ends.", bracket))}
}

func (r *hjsonReader) greedyHint() string {
	if r.greedy == "" {
		return ""
	}
	text, instead := strings.TrimRight(r.greedy, "}], "), ""
	switch {
	case stconfig.BooleanMeant(text) != "":
		instead = fmt.Sprintf("use %s where a boolean belongs, or ", stconfig.BooleanMeant(text))
	case numberWithUnit.MatchString(text):
		instead = "write the number alone where a number belongs, or "
	}
	return fmt.Sprintf("A text without quotes runs to the end of its line, commas and brackets included: %squote %q.",
		instead, shorten(text))
}

// numberWithUnit matches a number with letters after it, as in 100 KiB.
var numberWithUnit = regexp.MustCompile(`^[0-9][0-9.]*\s*[A-Za-z%]`)

// BareText returns the text without quotes that a template's text consists of, and whether it is one. A text that looks
// like Starlark, YAML or another format does not count.
func BareText(text string) (bare string, is bool) {
	r := &hjsonReader{text: strings.TrimPrefix(text, "\ufeff")}
	_, err := r.document()
	is = err != nil && err.bare && !speaksStarlark.MatchString(text) && findYAML(text) == nil && findFormat(text) == nil
	return r.bare, is
}

func isQuote(c byte) bool       { return c == '"' || c == '\'' }
func isPunctuation(c byte) bool { return strings.IndexByte("{}[],:", c) >= 0 && c != 0 }

// shorten cuts a text to a length that fits into a message.
func shorten(s string) string {
	const enough = 40
	if runes := []rune(s[:min(len(s), 4*enough)]); len(runes) > enough {
		return string(runes[:enough]) + "…"
	}
	return s
}

// foldName returns equal texts for names that differ only in letter case. It folds letters as encoding/json does,
// which the daemon uses.
func foldName(name string) string {
	if isASCII(name) { // The smallest form of an ASCII letter is its capital.
		return strings.ToUpper(name)
	}
	return strings.Map(func(r rune) rune {
		smallest := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			smallest = min(smallest, next)
		}
		return smallest
	}, name)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

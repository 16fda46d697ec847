package template

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"muster/internal/stconfig"
)

// readHJSON reads a whole text as HJSON (hjson.github.io/syntax.html), in one pass and linear time. It takes what
// github.com/hjson/hjson-go takes and gives the same values, which a fuzz test compares, but knows the place of every
// fault, keeps numbers exact, joins surrogate pairs, and refuses what is legal and yet never meant: names that stand
// twice, a text without quotes at the top, deep nesting, a comment without end.
func readHJSON(text string) (hjsonText, *fault) {
	r := &hjsonReader{text: text}
	value, err := r.document()
	if err == nil {
		err = r.refusal
	}
	return hjsonText{value: value, secrets: r.secrets}, err
}

// hjsonText is a text that was read.
type hjsonText struct {
	value   stconfig.Value
	secrets []secretUse
}

// secretUse is the place of a "${secret:NAME}".
type secretUse struct {
	name string
	at   int
}

type hjsonReader struct {
	text    string
	at      int // offset of the next byte
	depth   int
	values  int
	refusal *fault // the first thing that is HJSON and yet refused; counts only when the rest can be read
	secrets []secretUse
	seek    *sought // nil: nothing
	places  *places // nil: they are not noted
	// It is no template: neither its values nor the names of its objects are counted.
	unbounded bool
	// The last text without quotes that ends in a bracket or comma: the usual reason why brackets do not match.
	greedy string
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

// root reads an object, whose braces may be left out at the top, a list, or one scalar.
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
		return value, &fault{at: start, reached: start, message: "a text at the top must stand in quotes", hint: quotesHint,
			bare: true}
	}
	return value, nil
}

const quotesHint = "Quote it if a text is meant; a Starlark program starts with `def template():`."

// beginsMember tells whether a name and a colon come next, without moving.
func (r *hjsonReader) beginsMember() bool {
	probe := &hjsonReader{text: r.text, at: r.at}
	if _, err := probe.name(); err != nil {
		return false
	}
	return probe.white() == nil && probe.peek() == ':'
}

// value reads one value; white space may come first.
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

// list reads on after the opening bracket. Commas may be left out and may come last.
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

// object reads on after the opening brace, or from the first name where braces are left out.
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
		if err := r.white(); err != nil {
			return stconfig.Value{}, err
		}
		if r.peek() != ':' {
			return stconfig.Value{}, r.fault(fmt.Sprintf("a colon is missing after the name %q", shorten(name)), "")
		}
		r.at++
		leave := r.places.enter(namePart(name), start)
		member, err := r.value()
		leave()
		if err != nil {
			return stconfig.Value{}, err
		}
		members = append(members, stconfig.Member{Name: name, Value: member})
		if err := r.comma(); err != nil {
			return stconfig.Value{}, err
		}
	}
}

// unique refuses a name that the object has, in any letter case: to the daemon they are one.
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

// comma skips white space and one comma, if there is one.
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

// peek is the next byte, 0 at the end: texts hold no NUL.
func (r *hjsonReader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *hjsonReader) fault(message, hint string) *fault {
	return &fault{at: r.at, reached: r.at, message: message, hint: hint}
}

// stop is a fault that leaves no doubt about the language.
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
		bracket), hint: r.greedyHint()}
}

func (r *hjsonReader) greedyHint() string {
	if r.greedy == "" {
		return ""
	}
	return fmt.Sprintf("A text without quotes runs to the end of its line, commas and brackets included: quote %q.",
		shorten(r.greedy))
}

func isQuote(c byte) bool       { return c == '"' || c == '\'' }
func isPunctuation(c byte) bool { return strings.IndexByte("{}[],:", c) >= 0 && c != 0 }

// shorten cuts a text for a message.
func shorten(s string) string {
	const enough = 40
	if runes := []rune(s[:min(len(s), 4*enough)]); len(runes) > enough {
		return string(runes[:enough]) + "…"
	}
	return s
}

// foldName gives the same text for names that differ in letter case only, as encoding/json, and so the daemon, sees
// it.
func foldName(name string) string {
	if isASCII(name) { // the smallest of an ASCII letter's forms is its capital
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

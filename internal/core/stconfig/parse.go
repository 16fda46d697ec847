package stconfig

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"muster/internal/fleet"
)

// MaxDepth is the deepest nesting that Parse accepts. Real configurations have seven levels.
const MaxDepth = 200

// MaxMembers is the largest object that Parse accepts, because names are compared with each other without regard to
// case. The largest object of a real configuration has about seventy members.
const MaxMembers = 10_000

// Parse reads one JSON document. Numbers stay exact. When an object has a name twice, the later value counts. All
// strings share one copy of data and members share a few blocks of memory, because decoding configurations takes most
// of the time of planning. FuzzParse compares the result with jsontext.
func Parse(data []byte) (Value, error) {
	p := parser{text: string(data), blocks: blocks{size: min(max(len(data)/bytesPerValue, 8), 512)}}
	v, err := p.value(0)
	if err == nil {
		if p.space(); p.at < len(p.text) {
			err = p.unexpected("the end")
		}
	}
	if err != nil {
		return Value{}, &fleet.Error{Code: fleet.CodeMalformed, During: "read JSON",
			Message: "this is not one JSON document", Err: err}
	}
	return v, nil
}

// ParsedSize estimates the memory that Parse takes for a document. The estimate is hardly ever too low.
func ParsedSize(data []byte) int64 {
	const member, container = 48, 64
	containers := bytes.Count(data, []byte("{")) + bytes.Count(data, []byte("["))
	members := bytes.Count(data, []byte(",")) + containers
	return int64(len(data) + member*members + container*containers)
}

// parser reads the text once. The members of open lists and objects wait on stacks until their number is known.
type parser struct {
	text   string
	at     int
	values []Value // stack
	names  []string
	blocks blocks
	shapes [32]nameList // name lists of earlier objects; see sharedNames
}

// nameList is the names of an object's members, and whether they are distinct as kids says.
type nameList struct {
	names    []string
	distinct bool
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next returns the next character that is not blank, 0 at the end.
func (p *parser) next() byte {
	p.space()
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) unexpected(want string) error {
	if p.at >= len(p.text) {
		return fmt.Errorf("the text ends at byte %d where %s was expected", p.at, want)
	}
	return fmt.Errorf("byte %d is %q where %s was expected", p.at, p.text[p.at], want)
}

func (p *parser) value(depth int) (Value, error) {
	if depth > MaxDepth {
		return Value{}, fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	switch c := p.next(); c {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		text, err := p.string()
		return Value{kind: String, text: text}, err
	case 't':
		return p.word("true", Boolean(true))
	case 'f':
		return p.word("false", Boolean(false))
	case 'n':
		return p.word("null", NullValue)
	default:
		return p.number()
	}
}

func (p *parser) word(word string, v Value) (Value, error) {
	if !strings.HasPrefix(p.text[p.at:], word) {
		return Value{}, p.unexpected("a value")
	}
	p.at += len(word)
	return v, nil
}

func (p *parser) array(depth int) (Value, error) {
	bottom := len(p.values)
	p.at++
	if p.next() == ']' {
		p.at++
		return p.close(Array, bottom, len(p.names)), nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		p.values = append(p.values, v)
		switch p.next() {
		case ',':
			p.at++
		case ']':
			p.at++
			return p.close(Array, bottom, len(p.names)), nil
		default:
			return Value{}, p.unexpected("a comma or ]")
		}
	}
}

func (p *parser) object(depth int) (Value, error) {
	bottom, bottomNames := len(p.values), len(p.names)
	p.at++
	if p.next() == '}' {
		p.at++
		return p.close(Object, bottom, bottomNames), nil
	}
	for {
		if p.next() != '"' {
			return Value{}, p.unexpected("a name")
		}
		name, err := p.string()
		if err != nil {
			return Value{}, err
		}
		if p.next() != ':' {
			return Value{}, p.unexpected("a colon")
		}
		p.at++
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		p.names, p.values = append(p.names, name), append(p.values, v)
		if len(p.names)-bottomNames > MaxMembers {
			return Value{}, fmt.Errorf("an object has more than %d members", MaxMembers)
		}
		switch p.next() {
		case ',':
			p.at++
		case '}':
			p.at++
			return p.close(Object, bottom, bottomNames), nil
		default:
			return Value{}, p.unexpected("a comma or }")
		}
	}
}

// close makes a list or object of the members on the stacks above bottom and bottomNames.
func (p *parser) close(kind Kind, bottom, bottomNames int) Value {
	k := p.blocks.kids()
	k.values = take(&p.blocks.values, p.blocks.size, p.values[bottom:])
	k.names, k.distinct = p.sharedNames(p.names[bottomNames:])
	p.values, p.names = p.values[:bottom], p.names[:bottomNames]
	return Value{kind: kind, kids: k}
}

// sharedNames returns names in memory that objects with the same names share, and whether the names are distinct. The
// folders of a document all have the same forty names, which would take a third of the document's memory.
func (p *parser) sharedNames(names []string) ([]string, bool) {
	if len(names) == 0 {
		return nil, true
	}
	earlier := &p.shapes[(8*len(names)+len(names[0]))%len(p.shapes)]
	if !slices.Equal(earlier.names, names) {
		*earlier = nameList{take(&p.blocks.names, p.blocks.size, names), distinct(names)}
	}
	return earlier.names, earlier.distinct
}

// string reads the quoted text at the present position.
func (p *parser) string() (string, error) {
	from, plain := p.at, true
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.at = i + 1
			if text := p.text[from+1 : i]; plain || !strings.Contains(text, `\`) && utf8.ValidString(text) {
				return text, nil
			}
			return unquoted(p.text[from:p.at])
		case c == '\\':
			plain = false
			i++
		case c < 0x20:
			p.at = i
			return "", p.unexpected("a printable character")
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	p.at = len(p.text)
	return "", p.unexpected("a closing quote")
}

// unquoted resolves escapes. Invalid UTF-8 and half a surrogate pair become U+FFFD, as everywhere in Go's JSON.
func unquoted(quoted string) (string, error) {
	if text, err := jsontext.AppendUnquote(nil, quoted); err == nil {
		return string(text), nil
	}
	token, err := jsontext.NewDecoder(strings.NewReader(quoted), jsontext.AllowInvalidUTF8(true)).ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}

// number reads a literal and keeps its spelling.
func (p *parser) number() (Value, error) {
	from := p.at
	p.accept("-")
	switch {
	case p.accept("0"):
	case !p.digits():
		return Value{}, p.unexpected("a value")
	}
	if p.accept(".") && !p.digits() {
		return Value{}, p.unexpected("a digit")
	}
	if p.accept("eE") {
		p.accept("+-")
		if !p.digits() {
			return Value{}, p.unexpected("a digit")
		}
	}
	return Value{kind: Number, text: p.text[from:p.at]}, nil
}

func (p *parser) accept(any string) bool {
	if p.at < len(p.text) && strings.IndexByte(any, p.text[p.at]) >= 0 {
		p.at++
		return true
	}
	return false
}

func (p *parser) digits() bool {
	from := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at > from
}

// blocks are pieces of memory that many members share, so that a document takes a few allocations instead of hundreds.
type blocks struct {
	size   int // members in one block
	values []Value
	names  []string
	all    []kids
}

const bytesPerValue = 24 // usual length of a value in a configuration's text

func (b *blocks) kids() *kids {
	if len(b.all) == 0 {
		b.all = make([]kids, b.size/8)
	}
	k := &b.all[0]
	b.all = b.all[1:]
	return k
}

// take copies members into a block. An append to the result does not overwrite later members of the block.
func take[T any](block *[]T, size int, members []T) []T {
	if len(members) == 0 {
		return nil
	}
	if len(*block) < len(members) {
		*block = make([]T, max(size, len(members)))
	}
	taken := (*block)[:len(members):len(members)]
	*block = (*block)[len(members):]
	copy(taken, members)
	return taken
}

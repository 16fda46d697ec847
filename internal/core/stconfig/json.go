package stconfig

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// JSON returns the compact document. A Handle is written as the string "${NAME}", so resolve handles before sending.
func (v Value) JSON() []byte { return v.AppendJSON(nil) }

// MarshalJSON makes a Value usable in wire types.
func (v Value) MarshalJSON() ([]byte, error) { return v.JSON(), nil }

// AppendJSON appends the compact document to b. Absent is written as null.
func (v Value) AppendJSON(b []byte) []byte {
	switch v.kind {
	case Absent, Null:
		return append(b, "null"...)
	case Bool, Number:
		return append(b, v.text...)
	case String:
		return appendString(b, v.text)
	case Handle:
		return appendString(b, "${"+v.text+"}")
	case Array:
		b = append(b, '[')
		for i, member := range v.kids.values {
			if i > 0 {
				b = append(b, ',')
			}
			b = member.AppendJSON(b)
		}
		return append(b, ']')
	default:
		b = append(b, '{')
		for i, member := range v.kids.values {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, v.kids.names[i]), ':')
			b = member.AppendJSON(b)
		}
		return append(b, '}')
	}
}

// JSONSize returns the bytes of JSON that a value takes at most, or at least `most` when it takes more than that.
// Characters that may need an escape count as the longest escape.
func (v Value) JSONSize(most int) int {
	const longest = len(`\u0000`)
	n := len(v.text) + len(`"${}",`)
	if !isPlain(v.text) {
		n = longest*len(v.text) + 2
	}
	for i, member := range v.childValues() {
		if n >= most {
			break
		}
		if v.kind == Object {
			n += len(v.kids.names[i]) + len(`"":,`)
		}
		n += member.JSONSize(most - n)
	}
	return n
}

// WriteJSON writes what JSON gives in small pieces, for digests of large documents.
func (v Value) WriteJSON(w io.Writer) {
	buffer := pieceBuffers.Get().(*[2 * pieceSize]byte)
	out := pieces{to: w, buffer: buffer[:0]}
	out.value(v)
	_, _ = w.Write(out.buffer)
	clear(buffer[:]) // The buffer may hold secrets.
	clear(out.buffer)
	pieceBuffers.Put(buffer)
}

const pieceSize = 4 << 10

// pieceBuffers are reused, because most documents are written only for a digest.
var pieceBuffers = sync.Pool{New: func() any { return new([2 * pieceSize]byte) }}

// pieces writes JSON to a writer that never fails.
type pieces struct {
	to     io.Writer
	buffer []byte
}

func (p *pieces) flush() {
	if len(p.buffer) >= pieceSize {
		_, _ = p.to.Write(p.buffer)
		p.buffer = p.buffer[:0]
	}
}

func (p *pieces) value(v Value) {
	switch v.kind {
	case String:
		p.text(v.text)
	case Array, Object:
		p.members(v)
	default:
		p.buffer = v.AppendJSON(p.buffer)
	}
	p.flush()
}

func (p *pieces) members(v Value) {
	opening, closing := byte('['), byte(']')
	if v.kind == Object {
		opening, closing = '{', '}'
	}
	p.buffer = append(p.buffer, opening)
	for i, member := range v.kids.values {
		if i > 0 {
			p.buffer = append(p.buffer, ',')
		}
		if v.kind == Object {
			p.text(v.kids.names[i])
			p.buffer = append(p.buffer, ':')
		}
		p.value(member)
	}
	p.buffer = append(p.buffer, closing)
}

func (p *pieces) text(s string) {
	if len(s) <= pieceSize {
		p.buffer = appendString(p.buffer, s)
		return
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	p.buffer = append(p.buffer, '"')
	for s != "" {
		end := min(len(s), pieceSize)
		for end < len(s) && end > pieceSize-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		start := len(p.buffer)
		p.buffer = appendString(p.buffer, s[:end])
		p.buffer = append(p.buffer[:start], p.buffer[start+1:len(p.buffer)-1]...) // The quotes of the piece are cut off.
		s = s[end:]
		p.flush()
	}
	p.buffer = append(p.buffer, '"')
}

func appendString(b []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	out, err := jsontext.AppendQuote(b, s)
	if err != nil { // The only possible error is invalid UTF-8.
		out, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return out
}

// isPlain reports whether a text needs no escapes in JSON.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

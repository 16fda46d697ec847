package stconfig

import (
	"crypto/sha256"
	"hash"
)

// TextSum is a digest of a JSON text without the white space around its tokens. A daemon indents its configuration
// otherwise in an event than in an answer of its own: both have the same sum. Texts of one value that differ in more
// than that, in the order of members for example, have different sums.
type TextSum [sha256.Size]byte

// SumOfText is the sum of a whole text.
func SumOfText(text []byte) TextSum {
	s := NewTextSummer()
	s.Write(text)
	return s.Sum()
}

// TextSummer makes the sum of a text that comes in pieces.
type TextSummer struct {
	hash    hash.Hash
	kept    [1 << 10]byte // of the text, to be hashed
	n       int           // bytes of kept
	inText  bool          // between quotes
	escaped bool
}

// NewTextSummer makes a summer that has read nothing.
func NewTextSummer() *TextSummer { return &TextSummer{hash: sha256.New()} }

// Reset begins another text.
func (s *TextSummer) Reset() {
	s.hash.Reset()
	s.n, s.inText, s.escaped = 0, false, false
}

// Write takes the next piece of the text.
func (s *TextSummer) Write(piece []byte) {
	for _, b := range piece {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inText:
			s.escaped, s.inText = b == '\\', b != '"'
		case b == ' ' || b == '\n' || b == '\t' || b == '\r':
			continue
		default:
			s.inText = b == '"'
		}
		if s.n == len(s.kept) {
			s.flush()
		}
		s.kept[s.n] = b
		s.n++
	}
}

func (s *TextSummer) flush() {
	s.hash.Write(s.kept[:s.n])
	s.n = 0
}

// Sum is that of what was written since the last Reset.
func (s *TextSummer) Sum() (sum TextSum) {
	s.flush()
	s.hash.Sum(sum[:0])
	return sum
}

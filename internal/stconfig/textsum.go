package stconfig

import (
	"bytes"
	"crypto/sha256"
	"hash"
)

// TextSum is a digest of a JSON text without its line breaks and what the lines are indented with. A daemon indents its
// configuration otherwise in an event than in an answer of its own: both have the same sum. No string holds a line
// break, so two texts of different values have different sums.
type TextSum [sha256.Size]byte

// SumOfText is the sum of a whole text.
func SumOfText(text []byte) TextSum {
	s := NewTextSummer()
	s.Write(text)
	return s.Sum()
}

// TextSummer makes the sum of a text that comes in pieces.
type TextSummer struct {
	hash   hash.Hash
	kept   [1 << 10]byte // of the text, to be hashed
	n      int           // bytes of kept
	inLine bool          // past the indentation of a line
}

// NewTextSummer makes a summer that has read nothing.
func NewTextSummer() *TextSummer { return &TextSummer{hash: sha256.New()} }

// Reset begins another text.
func (s *TextSummer) Reset() {
	s.hash.Reset()
	s.n, s.inLine = 0, false
}

// Write takes the next piece of the text.
func (s *TextSummer) Write(piece []byte) {
	for {
		for !s.inLine && len(piece) > 0 && (piece[0] == ' ' || piece[0] == '\t') {
			piece = piece[1:]
		}
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			s.inLine = s.inLine || len(piece) > 0
			s.add(piece)
			return
		}
		s.add(piece[:end])
		piece, s.inLine = piece[end+1:], false
	}
}

func (s *TextSummer) add(text []byte) {
	for len(text) > 0 {
		if s.n == len(s.kept) {
			s.flush()
		}
		n := copy(s.kept[s.n:], text)
		s.n, text = s.n+n, text[n:]
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

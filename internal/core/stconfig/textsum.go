package stconfig

import (
	"bytes"
	"crypto/sha256"
	"hash"
)

// TextSum is a digest of a JSON text that ignores line breaks and indentation. A daemon indents its configuration
// differently in an event than in an answer; both texts get the same sum. Strings in JSON contain no line break, so
// texts of different values have different sums.
type TextSum [sha256.Size]byte

// SumOfText returns the sum of a whole text.
func SumOfText(text []byte) TextSum {
	s := NewTextSummer()
	s.Write(text)
	return s.Sum()
}

// TextSummer computes the sum of a text that comes in pieces.
type TextSummer struct {
	hash   hash.Hash
	buffer [1 << 10]byte // text that is not hashed yet
	n      int           // bytes in buffer
	inLine bool          // the indentation of the current line has been read
}

// NewTextSummer makes a summer that has read nothing.
func NewTextSummer() *TextSummer { return &TextSummer{hash: sha256.New()} }

// Reset begins a new text.
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
		if s.n == len(s.buffer) {
			s.flush()
		}
		n := copy(s.buffer[s.n:], text)
		s.n, text = s.n+n, text[n:]
	}
}

func (s *TextSummer) flush() {
	s.hash.Write(s.buffer[:s.n])
	s.n = 0
}

// Sum returns the sum of the text since the last Reset.
func (s *TextSummer) Sum() (sum TextSum) {
	s.flush()
	s.hash.Sum(sum[:0])
	return sum
}

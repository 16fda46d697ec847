package template

import (
	"fmt"
	"strings"
)

const (
	// maxRow bounds chains that the Starlark parser turns into deep trees without counting their depth: a - a - a,
	// a.b.c, f()(), for clauses. A function that walks such a tree recurses once per link of the chain.
	maxRow  = 2000
	maxElif = 1000 // each elif nests in the one before it
)

// checkNesting refuses a Starlark text whose syntax tree would be so deep that walking it could exhaust the stack,
// which ends a Go program. It makes one pass over the bytes before the parser runs. The parser itself limits lambda,
// not, if-else and unary minus to a depth of 1,000.
func checkNesting(text string) *fault {
	s := nestingScan{text: text, rows: []int{0}}
	for s.at < len(text) {
		if err := s.token(); err != nil {
			return err
		}
	}
	return nil
}

type nestingScan struct {
	text  string
	at    int
	rows  []int // tokens since the last separator, for the top level and each open bracket
	elifs int
}

func (s *nestingScan) token() *fault {
	start := s.at
	switch c := s.text[s.at]; {
	case c == '\n':
		if len(s.rows) == 1 {
			s.rows[0] = 0
		}
		s.at++
	case c <= ' ' || c == '\\':
		s.at++
	case c == '#':
		if s.at = strings.IndexByte(s.text[start:], '\n'); s.at < 0 {
			s.at = len(s.text)
		} else {
			s.at += start
		}
	case isQuote(c):
		s.quoted(c)
		return s.count(start)
	case strings.IndexByte("([{", c) >= 0:
		if len(s.rows) > MaxDepth {
			return tooDeep(start, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
		}
		err := s.count(start)
		s.rows = append(s.rows, 0)
		s.at++
		return err
	case strings.IndexByte(")]}", c) >= 0:
		if len(s.rows) > 1 {
			s.rows = s.rows[:len(s.rows)-1]
		}
		s.at++
	case strings.IndexByte(",:;", c) >= 0:
		s.rows[len(s.rows)-1] = 0
		s.at++
	case isWord(c):
		return s.word()
	default: // An operator of two bytes counts as two, which is exact enough.
		s.at++
		return s.count(start)
	}
	return nil
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (s *nestingScan) word() *fault {
	start := s.at
	for s.at < len(s.text) && isWord(s.text[s.at]) {
		s.at++
	}
	word := s.text[start:s.at]
	if word[0] <= '9' && len(word) > maxDigits {
		return tooDeep(start, tooManyDigits)
	}
	if word == "elif" {
		if s.elifs++; s.elifs > maxElif {
			return tooDeep(start, fmt.Sprintf("the program has more than %d elif", maxElif))
		}
	}
	return s.count(start)
}

// quoted skips a string literal. A backslash also skips the character after it, in raw strings too.
func (s *nestingScan) quoted(quote byte) {
	mark := string(quote)
	if triple := strings.Repeat(mark, 3); strings.HasPrefix(s.text[s.at:], triple) {
		mark = triple
	}
	for s.at += len(mark); s.at < len(s.text); s.at++ {
		switch {
		case strings.HasPrefix(s.text[s.at:], mark):
			s.at += len(mark)
			return
		case s.text[s.at] == '\\':
			s.at++
		case s.text[s.at] == '\n' && len(mark) == 1:
			return // The literal has no end. The parser reports that.
		}
	}
	s.at = len(s.text)
}

func (s *nestingScan) count(at int) *fault {
	top := len(s.rows) - 1
	if s.rows[top]++; s.rows[top] > maxRow {
		return tooDeep(at, fmt.Sprintf("one expression has more than %d parts in a row", maxRow))
	}
	return nil
}

func tooDeep(at int, message string) *fault {
	return &fault{at: at, reached: at, message: message, hint: "Split it into smaller parts.", final: true}
}

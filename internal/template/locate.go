package template

import "strings"

// Locate is the place of the first text in HJSON that has this value: lines and columns count from 1, and are 0 when
// there is none. It reads as Compile does, in linear time and with bounded nesting.
func Locate(text, value string) (line, column int) {
	text = strings.TrimPrefix(text, "\ufeff")
	seek := &sought{text: value}
	r := &hjsonReader{text: text, seek: seek}
	if _, err := r.document(); err != nil || !seek.found {
		return 0, 0
	}
	at := position(text, seek.at)
	return at.line, at.column
}

// sought is a text whose place is looked for.
type sought struct {
	text  string
	found bool
	at    int // offset
}

package template

import (
	"strings"
	"unicode/utf8"

	"muster/internal/fleet"
)

// fault is one thing wrong with a text, at a byte of it.
type fault struct {
	at      int // offset of the place to show
	reached int // offset up to which the text made sense, for telling which of two readings was meant
	message string
	hint    string
	final   bool // the text is HJSON without doubt, so there is no other reading to try
	bare    bool // it is a text without quotes at the top, as every Starlark expression is to HJSON
}

func (f *fault) error(text string) *fleet.Error {
	return invalid(position(text, f.at), f.message, f.hint)
}

// invalid is the error for one fault; the spot is zero when there is no place to show.
func invalid(at spot, message, hint string) *fleet.Error {
	return withDetails([]fleet.Detail{detail(at, message)}, hint)
}

func detail(at spot, message string) fleet.Detail {
	return fleet.Detail{Field: "template", Line: at.line, Column: at.column, Message: cut(message)}
}

// maxDetails is enough to work on; a text can have a hundred thousand faults.
const maxDetails = 20

func withDetails(details []fleet.Detail, hint string) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: details[0].Message, Hint: hint,
		Details: details[:min(len(details), maxDetails)]}
}

// cut bounds a message into which a program could put anything.
func cut(message string) string {
	const most = 2 << 10
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most], "") + "…"
}

// position is the spot of a byte of the text; columns count characters.
func position(text string, at int) spot {
	before := text[:min(at, len(text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return spot{strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1}
}

// spot is a place in a text; both count from 1.
type spot struct{ line, column int }

package fleet

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxMessage is the largest number of characters of a message, and of a title.
const MaxMessage = 200

// CheckMessage checks what a person wrote about a change: one line of UTF-8 text. Characters that end a line, control a
// terminal, turn the direction of writing or show nothing are refused, because a message is shown beside texts of
// Muster.
func CheckMessage(text string) error {
	switch {
	case !utf8.ValidString(text):
		return Invalidf("message", "a message is UTF-8 text")
	case utf8.RuneCountInString(text) > MaxMessage:
		return Invalidf("message", "a message has at most %d characters, this one has %d", MaxMessage,
			utf8.RuneCountInString(text))
	case strings.ContainsFunc(text, HiddenInLine):
		return Invalidf("message", "a message is one line without control characters and invisible ones")
	case text != "" && !strings.ContainsFunc(text, visible):
		return Invalidf("message", "a message consists of more than blanks: write what the change is for, or leave it out")
	}
	return nil
}

// joiners make no mark of their own and belong to words and signs: Persian is written with the first, and several
// emoji are one sign by the second.
const joiners = "\u200c\u200d"

// brailleBlank is a sign that shows nothing.
const brailleBlank = '\u2800'

// HiddenInLine reports whether a character does not belong into one line of text: control characters, marks of
// direction, ends of lines and of paragraphs, and characters that show nothing.
func HiddenInLine(r rune) bool {
	if strings.ContainsRune(joiners, r) {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control,
		unicode.Other_Default_Ignorable_Code_Point)
}

// visible reports whether a character shows something by itself: a letter, a number, a sign.
func visible(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && r != brailleBlank && !HiddenInLine(r)
}

// OneLine replaces the characters that CheckMessage refuses, and cuts the text to the length of a message.
func OneLine(text string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if HiddenInLine(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
	if len(runes) > MaxMessage {
		runes = append(runes[:MaxMessage-1], '…')
	}
	return string(runes)
}

type messageKey struct{}

// WithMessage records in the context what the requester wrote about the change.
func WithMessage(ctx context.Context, text string) context.Context {
	return context.WithValue(ctx, messageKey{}, text)
}

// MessageOf returns what the requester wrote about the change, or "".
func MessageOf(ctx context.Context) string {
	text, _ := ctx.Value(messageKey{}).(string)
	return text
}

package store

import (
	"strings"
	"unicode/utf8"
)

// storable reports whether both databases can store and index a text, and whether it has at most limit bytes.
// PostgreSQL takes only valid UTF-8 without NUL, and puts at most about 2,700 bytes into an index.
func storable(text string, limit int) bool {
	return len(text) <= limit && utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// plainText returns the text with U+FFFD in place of each character that the databases cannot store. It is for texts
// that only people read.
func plainText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

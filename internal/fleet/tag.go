package fleet

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxTagBytes is the longest tag.
const MaxTagBytes = 128

// Tag is a label shared by devices and templates: any text without control characters, case-sensitive.
type Tag string

// ParseTag checks that s may be a tag. It changes nothing: "A", "a" and "a " are three tags.
func ParseTag(s string) (Tag, error) {
	switch {
	case s == "":
		return "", Invalidf("tag", "a tag may not be empty")
	case len(s) > MaxTagBytes:
		return "", Invalidf("tag", "a tag has at most %d bytes, this one has %d", MaxTagBytes, len(s))
	case !utf8.ValidString(s):
		return "", Invalidf("tag", "a tag is UTF-8 text")
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return "", Invalidf("tag", "a tag may not hold control characters")
		}
	}
	return Tag(s), nil
}

// Doubts warns of a tag that looks like another one.
func (t Tag) Doubts() []string {
	switch bare := strings.TrimSpace(string(t)); bare {
	case string(t):
		return nil
	case "":
		return []string{"the tag consists of blanks only"}
	default:
		return []string{fmt.Sprintf("the tag %q begins or ends with a blank: it is another one than %q", t, bare)}
	}
}

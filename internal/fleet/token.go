package fleet

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Role is what somebody may do. Roles are cumulative: viewer < operator < author < admin.
type Role string

const (
	RoleViewer   Role = "viewer"   // reads
	RoleOperator Role = "operator" // tags, apply, pause, consent to removals
	RoleAuthor   Role = "author"   // templates
	RoleAdmin    Role = "admin"    // devices, keys, users, secrets, settings
)

var roleRank = map[Role]int{RoleViewer: 1, RoleOperator: 2, RoleAuthor: 3, RoleAdmin: 4}

// ParseRole takes "viewer", "operator", "author" or "admin".
func ParseRole(s string) (Role, error) {
	if _, ok := roleRank[Role(s)]; ok {
		return Role(s), nil
	}
	return "", Invalidf("role", "role %q is not known: use viewer, operator, author or admin", s)
}

// Includes tells whether r may do what other may do.
func (r Role) Includes(other Role) bool {
	return roleRank[r] > 0 && roleRank[other] > 0 && roleRank[r] >= roleRank[other]
}

// MaxTokenNameBytes is the longest name of a token.
const MaxTokenNameBytes = 128

// ValidateTokenName checks a name: short printable text without blanks around it.
func ValidateTokenName(name string) error {
	switch {
	case name == "":
		return Invalidf("name", "a token needs a name: say who or what uses it")
	case len(name) > MaxTokenNameBytes:
		return Invalidf("name", "a token's name has at most %d bytes, this one has %d", MaxTokenNameBytes, len(name))
	case !utf8.ValidString(name) || strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl):
		return Invalidf("name", "a token's name is text without control characters and without blanks around it")
	}
	return nil
}

// Token is a credential of a program or a person towards Muster. Only the hash of its text is kept.
type Token struct {
	Name       string // unique
	Role       Role
	Hash       string // SHA-256 of the text, hex
	CreatedAt  time.Time
	LastUsedAt time.Time // zero: never
}

package fleet

import (
	"unicode"
	"unicode/utf8"
)

// MaxTokenNameBytes is the longest name of a token.
const MaxTokenNameBytes = 128

// Role says what somebody may do. Roles are cumulative: viewer < operator < author < admin.
type Role string

const (
	RoleViewer   Role = "viewer"   // reads
	RoleOperator Role = "operator" // tags, applying
	RoleAuthor   Role = "author"   // templates
	RoleAdmin    Role = "admin"    // devices, keys, tokens, settings
)

// ParseRole takes one of the four roles.
func ParseRole(s string) (Role, error) {
	if r := Role(s); r.rank() > 0 {
		return r, nil
	}
	return "", Invalidf("role", "role %q is not known: use viewer, operator, author or admin", s)
}

// Includes tells whether r may do everything that other may. An unknown role includes nothing.
func (r Role) Includes(other Role) bool { return r.rank() > 0 && r.rank() >= other.rank() }

func (r Role) rank() int {
	switch r {
	case RoleViewer:
		return 1
	case RoleOperator:
		return 2
	case RoleAuthor:
		return 3
	case RoleAdmin:
		return 4
	}
	return 0
}

// ValidateTokenName checks that a name can be shown and typed.
func ValidateTokenName(name string) error {
	switch {
	case name == "":
		return Invalidf("name", "a token needs a name, so that it can be told apart and deleted")
	case len(name) > MaxTokenNameBytes:
		return Invalidf("name", "a token's name has at most %d bytes, this one has %d", MaxTokenNameBytes, len(name))
	case !utf8.ValidString(name):
		return Invalidf("name", "a token's name is UTF-8 text")
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return Invalidf("name", "a token's name may not hold control characters")
		}
	}
	return nil
}

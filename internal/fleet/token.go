package fleet

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Role is what a user may do. Roles are cumulative: viewer < operator < author < admin.
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
	case ReservedName(name):
		return ReservedNameError(name)
	}
	return nil
}

// Token is a credential of a program or a person towards Muster. Only the hashes of its texts are kept.
type Token struct {
	Name      string // unique
	Role      Role
	Scope     Scope  // of a viewer or an operator; the whole fleet for the others
	Hash      string // SHA-256 of the text, hex
	CreatedAt time.Time
	IssuedAt  time.Time // when the text was made: with the token, or by its last rotation
	ExpiresAt time.Time // from then on it is refused; zero: never
	OldHash   string    // of the text before the last rotation; "": there is none
	OldUntil  time.Time // from then on the text before is refused
	LastUse   TokenUse  // zero: never used
	Altered   bool      // what is kept of it was not written by Muster: it gives no role
}

// TokenUse is when and from where a token was used.
type TokenUse struct {
	At   time.Time
	From string // address, without port
}

// Validate checks what a person asks of a new token.
func (t Token) Validate() error {
	if err := ValidateTokenName(t.Name); err != nil {
		return err
	}
	if _, err := ParseRole(string(t.Role)); err != nil {
		return err
	}
	return checkScope(t.Role, t.Scope)
}

// checkScope refuses a scope for a role that has none.
func checkScope(role Role, scope Scope) error {
	if role.Includes(RoleAuthor) && !scope.Whole() {
		return Invalidf("tags", "the role %s has no tag scope: its templates are for the whole fleet. "+
			"Use the role viewer or operator, or leave tags out", role)
	}
	return nil
}

// Expired tells whether the token is refused by now.
func (t Token) Expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

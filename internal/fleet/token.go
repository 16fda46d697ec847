package fleet

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

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

// Token is a credential of a program or a person for Muster's API. Only hashes of its text are stored.
type Token struct {
	Name      string // unique
	Role      Role
	Scope     Scope  // part of the fleet of a viewer or operator; every other role has the whole fleet
	Hash      string // SHA-256 of the text, hex
	CreatedAt time.Time
	IssuedAt  time.Time // time at which the text was made, at first or by the last rotation
	ExpiresAt time.Time // refused from then on; zero: never
	OldHash   string    // hash of the text before the last rotation; "": none
	OldUntil  time.Time // the old text is refused from then on
	Owner     string    // user who was given the text; "": not known, like that of the token in the home folder
	OldOwner  string    // user who was given the text before the last rotation
	LastUse   TokenUse  // zero: never used
	Altered   bool      // another program changed its row, so it gives no role
}

// TokenUse is when and from where a token was used.
type TokenUse struct {
	At   time.Time
	From string // address, without port
}

// Validate checks the values of a new token.
func (t Token) Validate() error {
	if err := ValidateTokenName(t.Name); err != nil {
		return err
	}
	if _, err := ParseRole(string(t.Role)); err != nil {
		return err
	}
	return checkScope(t.Role, t.Scope)
}

// checkScope refuses a scope for a role that cannot have one.
func checkScope(role Role, scope Scope) error {
	if role.Includes(RoleAuthor) && !scope.Whole() {
		return Invalidf("tags", "the role %s has no tag scope: its templates are for the whole fleet. "+
			"Use the role viewer or operator, or leave tags out", role)
	}
	return nil
}

// Expired reports whether the token is refused at a time.
func (t Token) Expired(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxUserNameBytes is the longest name of a user.
const MaxUserNameBytes = 64

// reservedNames are shown as the actor or the cause in histories and the audit where no person acted.
var reservedNames = []string{
	"muster", "daemon", "template", "person", "restore", "accept", "rollout", "undo", "host", Anonymous,
}

// Anonymous is the actor of what came without a credential, or with a wrong one.
const Anonymous = "anonymous"

// ReservedName tells whether no user and no token may have this name.
func ReservedName(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), enrollKeyActor) ||
		slices.ContainsFunc(reservedNames, func(reserved string) bool { return strings.EqualFold(reserved, name) })
}

// ReservedNameError says which names are not possible.
func ReservedNameError(name string) error {
	return &Error{
		Code: CodeInvalid, Message: fmt.Sprintf("the name %q is reserved: Muster uses it itself in histories", name),
		Hint:    "Choose another name. Not possible are: " + strings.Join(reservedNames, ", ") + ".",
		Details: []Detail{{Field: "name", Message: "it is reserved"}},
	}
}

// User is a person who logs in, with a password or by single sign-on.
type User struct {
	Name        string // unique, in the form that auth.UserName gives
	Role        Role
	Scope       Scope    // of a viewer or an operator; the whole fleet for the others
	Password    string   // its hash in PHC form; "": the user cannot log in with one
	Identity    Identity // by which the user logs in, with no password; zero: the user is none of single sign-on
	CreatedAt   time.Time
	UpdatedAt   time.Time // of the role or the password
	LastLogInAt time.Time // zero: never
	DisabledAt  time.Time // since then the user cannot log in; zero: the user can
	Altered     bool      // what is kept of it was not written by Muster: it cannot log in
}

// Disabled tells whether an administrator keeps the user from logging in.
func (u User) Disabled() bool { return !u.DisabledAt.IsZero() }

// Validate checks what an administrator asks of a user.
func (u User) Validate() error { return checkScope(u.Role, u.Scope) }

// PutUser changes a user. What is nil stays; a role that has no scope ends it.
type PutUser struct {
	Name     string
	Role     *Role
	Scope    *Scope
	Password *string // hash in PHC form
}

// Session is what a user has from a log-in until its end. Only the hash of its token is kept.
type Session struct {
	ID           string // shown to people; no credential
	User         string
	Role         Role     // of the user, now
	Scope        Scope    // likewise
	Identity     Identity // likewise
	Hash         string
	PreviousHash string    // of the token before the last rotation; "": there was none
	CreatedAt    time.Time // the log-in
	RotatedAt    time.Time // when the token was made
	LastUsedAt   time.Time
	ExpiresAt    time.Time // the latest end, however much it is used
	Address      string    // of the client that logged in
	Client       string    // what the client calls itself

	ProviderSession string // hash of the session at the provider of single sign-on; "": it names none
}

// Rotation gives a session another token.
type Rotation struct {
	Session string    // its ID
	Current string    // hash of the newest token; the rotation fails when it is another one by now
	Bearer  string    // hash of the token that the client has: the newest, or the one before; stays good for a while
	Next    string    // hash of the new token
	At      time.Time // now
}

// LoginLink lets its bearer set a password once, and logs them in.
type LoginLink struct {
	Hash      string // of its code
	User      string // whose password it sets; "": it makes a new administrator
	ExpiresAt time.Time
}

// LogIn starts a session.
type LogIn struct {
	Session Session
	// Password is the hash that the password was compared with. The log-in fails when it is another one by now.
	Password string
	Rehashed string // replaces it, made of the same password; "": it stays
}

// UseLink uses a log-in link up: it sets the user's password, or makes the user, and starts a session.
type UseLink struct {
	Hash     string // of the code
	User     string
	Password string // hash in PHC form
	Session  Session
}

package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxUserNameBytes is the longest name of a user.
const MaxUserNameBytes = 64

// reservedNames are names that histories and the audit show when no person acted.
var reservedNames = []string{
	"muster", "daemon", "template", "person", "restore", "accept", "rollout", "undo", "host", Anonymous,
}

// Anonymous is the actor of a request without a valid credential.
const Anonymous = "anonymous"

// ReservedName reports whether a name is not allowed for users and tokens.
func ReservedName(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), enrollKeyActor) ||
		slices.ContainsFunc(reservedNames, func(reserved string) bool { return strings.EqualFold(reserved, name) })
}

// ReservedNameError returns the error for a reserved name.
func ReservedNameError(name string) error {
	return &Error{
		Code: CodeInvalid, Message: fmt.Sprintf("the name %q is reserved: Muster uses it itself in histories", name),
		Hint:    "Choose another name. Not possible are: " + strings.Join(reservedNames, ", ") + ".",
		Details: []Detail{{Field: "name", Message: "it is reserved"}},
	}
}

// User is a person who logs in with a password or by single sign-on.
type User struct {
	Name     string // unique, in the form that auth.UserName gives
	Role     Role
	Scope    Scope  // part of the fleet of a viewer or operator; every other role has the whole fleet
	Password string // hash in PHC form; "": the user cannot log in with a password
	// Identity is the user's identity at single sign-on. It is zero for a user who logs in with a password.
	Identity    Identity
	CreatedAt   time.Time
	UpdatedAt   time.Time // time at which the role or the password last changed
	LastLogInAt time.Time // zero: never
	DisabledAt  time.Time // time at which the user was disabled; zero: the user can log in
	// AccessGivenAt is the last time at which somebody other than the user could learn a way to log in as the user: the
	// user was created, was given a log-in link or used one, or got a password from an administrator. Zero: not known.
	AccessGivenAt time.Time
	Altered       bool // another program changed its row, so the user cannot log in
}

// Disabled reports whether an administrator has disabled the user.
func (u User) Disabled() bool { return !u.DisabledAt.IsZero() }

// Validate checks the values of a user.
func (u User) Validate() error { return checkScope(u.Role, u.Scope) }

// PutUser changes a user. A nil field changes nothing. A new role without a scope removes the scope.
type PutUser struct {
	Name     string
	Role     *Role
	Scope    *Scope
	Password *string // hash in PHC form
	Own      bool    // The user chose the password and has proven the one before, so nobody else knows it.
}

// Session is a log-in of a user. Only the hash of its token is stored.
type Session struct {
	ID           string // shown to people; not a credential
	User         string
	Role         Role     // current role of the user
	Scope        Scope    // current scope of the user
	Identity     Identity // current identity of the user
	Hash         string
	Half         string    // hash of the second half of a browser's session; "": the session is a program's
	PreviousHash string    // hash of the token before the last rotation; "": none
	CreatedAt    time.Time // time of the log-in
	RotatedAt    time.Time // time at which the current token was made
	LastUsedAt   time.Time
	ExpiresAt    time.Time // latest end, even if the session is used
	Address      string    // address of the client that logged in
	Client       string    // User-Agent of the client

	ProviderSession string // hash of the session at the provider of single sign-on; "": none
}

// Rotation gives a session a new token.
type Rotation struct {
	Session string // ID of the session
	Current string // hash of the newest token; the rotation fails if it has changed
	// hash of the token that the client has, the newest or the one before; it stays valid for a while
	Bearer string
	Next   string    // hash of the new token
	At     time.Time // the current time
}

// LinkLife is how long a log-in link can be used where nobody chose another time, and the longest time of a link that
// gives the power of an administrator: its finder would have everything.
const LinkLife = 15 * time.Minute

// LoginLink lets its bearer set a password once, and logs them in.
type LoginLink struct {
	Hash      string // hash of its code
	User      string // user whose password it sets; "": it creates an administrator
	ExpiresAt time.Time
}

// LogIn starts a session.
type LogIn struct {
	Session Session
	// Password is the hash with which the password was compared. The log-in fails if the stored hash has changed
	// since.
	Password string
	Rehashed string // new hash of the same password that replaces it; "": no replacement
}

// LoginLinkFile is the name of the file in the server's home with the log-in link of a new administrator.
const LoginLinkFile = "login-link"

// UseLink uses a log-in link: it sets the user's password, or creates the user, and starts a session.
type UseLink struct {
	Hash     string // hash of the code
	User     string
	Password string // hash in PHC form
	Session  Session
}

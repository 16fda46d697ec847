package fleet

import "time"

// Identity identifies a person at a provider of single sign-on, by issuer and subject. No other claim of a provider,
// such as an e-mail address, belongs to one person for ever. The zero Identity belongs to nobody.
type Identity struct {
	Issuer  string // URL
	Subject string
}

// MaxSubjectBytes is the longest subject of an identity, by OpenID Connect.
const MaxSubjectBytes = 255

// ProvenIdentity is what a provider says about a person who has just logged in there.
type ProvenIdentity struct {
	Identity
	Name   string   // the person's name there; may be blank, and may equal the name of another person in Muster
	Groups []string // unsorted

	Session string // the person's session at the provider; "": unknown
	Grant   Secret // lets Muster ask the provider about the person again; blank: it cannot
}

// SignOn starts a session for a person whom a provider has proven.
type SignOn struct {
	Identity Identity
	Names    []string // possible names when a user must be created; the first that is free is used
	Role     Role
	Scope    Scope
	Session  Session // its user is found by the identity

	Grant Secret // lets Muster ask the provider again; blank: it cannot

	Attempt      string    // hash of the log-in's challenge, which may start one session only
	AttemptUntil time.Time // time at which the challenge becomes too old
}

// SignedOut ends the sessions of a person who has logged out at the provider.
type SignedOut struct {
	Person  Identity // a person without a subject means every person with the session
	Session string   // hash of the session at the provider; "": all sessions of the person

	Token      string    // hash of the logout token, which may be used once
	TokenUntil time.Time // time at which the token becomes too old
}

package fleet

import "time"

// Identity is a person as a provider of single sign-on names them: the subject at the issuer. Nothing else of what a
// provider says about a person, such as an e-mail address, is theirs for good. The zero Identity is nobody's.
type Identity struct {
	Issuer  string // URL
	Subject string
}

// MaxSubjectBytes is the longest subject of an identity, by OpenID Connect.
const MaxSubjectBytes = 255

// ProvenIdentity is what a provider says about a person who has just logged in to it.
type ProvenIdentity struct {
	Identity
	Name   string   // that the person goes by there; may be blank, and may be another person's name here
	Groups []string // in no order

	Session string // of the person at the provider; "": it names none
}

// SignOn starts a session of a person that a provider has proven.
type SignOn struct {
	Identity Identity
	Names    []string // of the user where there is none of this identity yet; the first one that is free
	Role     Role
	Scope    Scope
	Session  Session // its user is found with the identity

	Attempt      string    // hash of what the log-in was begun with; it starts one session only
	AttemptUntil time.Time // when it is too old anyway
}

// SignedOut ends sessions whose person has logged out at the provider.
type SignedOut struct {
	Person  Identity // without a subject: every person with the session
	Session string   // hash of the session at the provider; "": all of the person

	Token      string    // hash of what the provider said; it counts once
	TokenUntil time.Time // when it is too old anyway
}

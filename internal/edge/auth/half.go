package auth

import (
	"crypto/subtle"

	"muster/internal/fleet"
)

// halfPrefix begins the second half of a browser's session.
const halfPrefix = tokenPrefix + "half_"

// complete returns an error unless a request proves its session fully. Browsers send a cookie to every port of a host,
// so a cookie alone proves nothing. The page must also send the other half of the session, which it keeps in the
// storage of its origin: that is the parameter half. The session of a program has no halves, and its token is not
// accepted in a cookie.
func complete(s fleet.Session, kind Credential, half string) error {
	switch {
	case s.Half == "" && kind == CredentialCookie:
		return unauthorized("this cookie holds the token of a program")
	case s.Half == "":
		return nil
	case kind != CredentialCookie, subtle.ConstantTimeCompare([]byte(hashOf(half)), []byte(s.Half)) != 1:
		return unauthorized("a session's cookie alone proves nothing: the other half of the session was not sent")
	}
	return nil
}

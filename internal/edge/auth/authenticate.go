package auth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"muster/internal/fleet"
)

const howToAuthenticate = "Send `Authorization: Bearer TOKEN` or `X-API-Key: TOKEN`, or log in. The first " +
	"administrator's token is in the file admin-token in the server's home."

// SessionHeader carries the second half of a browser's session. The first half is in the cookie.
const SessionHeader = "Muster-Session"

// Authenticator finds out who sends a request.
type Authenticator struct {
	tokens *Tokens
	people *People
	keys   EnrollKeys // nil if enrol keys are not recognised
}

// EnrollKeys recognises enrol keys. RecogniseFrom returns a forbidden error for a key that is unknown or no longer
// registers devices. It returns a too_many error if too many unknown keys came from the address.
type EnrollKeys interface {
	RecogniseFrom(ctx context.Context, text, address string) (fleet.EnrollKey, error)
}

// ErrAltered is the cause of the error for a token that is refused because Muster did not write its row in the
// database.
var ErrAltered = errors.New("the row of the token was not written by Muster")

// NewAuthenticator returns an Authenticator that recognises the tokens of tokens and the sessions of people.
func NewAuthenticator(tokens *Tokens, people *People) *Authenticator {
	return &Authenticator{tokens: tokens, people: people}
}

// WithEnrollKeys makes the Authenticator recognise enrol keys too, and returns it.
func (a *Authenticator) WithEnrollKeys(keys EnrollKeys) *Authenticator {
	a.keys = keys
	return a
}

// Authenticate returns the principal that sent a request. It returns an unauthorized error if the request has no
// credential or an unknown one. A ticket counts only if no header has a token, and a cookie only if there is neither.
// A cookie is valid only together with the other half of its session (see complete). Unknown enrol keys are counted
// and limited. Unknown tokens are not: a token has 256 random bits, and many programs behind one address may use the
// same outdated one. If the cause of the error is ErrAltered, the principal has the token's name and no role.
func (a *Authenticator) Authenticate(r *http.Request) (Principal, error) {
	if sent, ok := ticketOf(r); ok {
		return a.ticket(r.Context(), sent)
	}
	secret, kind, err := credential(r)
	if err != nil {
		return Principal{}, err
	}
	if strings.HasPrefix(secret, sessionPrefix) {
		return a.session(r, secret, kind)
	}
	if kind == CredentialCookie {
		return Principal{}, unauthorized("this cookie holds no session")
	}
	if strings.HasPrefix(secret, fleet.EnrollKeyPrefix) && a.keys != nil {
		return a.enrollKey(r, secret)
	}
	p, ok, err := a.tokens.Principal(r.Context(), secret)
	if err != nil {
		return p, err
	}
	if ok {
		a.tokens.used(p.Name, r)
		return p, nil
	}
	return Principal{}, unauthorized("this token is not known: it is mistyped, or it was deleted")
}

// enrollKey returns the principal of an enrol key. For a key that is unknown or no longer registers devices it returns
// an unauthorized error.
func (a *Authenticator) enrollKey(r *http.Request, text string) (Principal, error) {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	key, err := a.keys.RecogniseFrom(r.Context(), text, address)
	if e := (*fleet.Error)(nil); errors.As(err, &e) && e.Code == fleet.CodeForbidden {
		return Principal{}, &fleet.Error{Code: fleet.CodeUnauthorized, Message: e.Message, Hint: e.Hint}
	}
	if err != nil {
		return Principal{}, err
	}
	return Principal{Name: key.Actor(), Credential: CredentialEnrollKey, EnrollKey: key.Hash}, nil
}

func (a *Authenticator) session(r *http.Request, token string, kind Credential) (Principal, error) {
	s, ok, err := a.people.session(r.Context(), hashOf(token))
	if err != nil {
		return Principal{}, err
	}
	if !ok {
		return Principal{}, sessionEnded()
	}
	if err := complete(s, kind, r.Header.Get(SessionHeader)); err != nil {
		return Principal{}, err
	}
	if s.Identity != (fleet.Identity{}) && a.people.isFresh != nil && !a.people.isFresh(r.Context(), s) {
		return Principal{}, sessionEnded()
	}
	a.people.remember(hashOf(token), s)
	return principalOf(s, kind), nil
}

func sessionEnded() error {
	return &fleet.Error{Code: fleet.CodeUnauthorized, Message: "this session has ended", Hint: "Log in again."}
}

func principalOf(s fleet.Session, kind Credential) Principal {
	return Principal{Name: s.User, Person: s.User, Role: s.Role, Scope: s.Scope, Credential: kind, Session: s.ID,
		ExpiresAt: s.ExpiresAt, SignedOn: s.Identity != (fleet.Identity{}), issued: s.Hash, issuedAt: s.RotatedAt}
}

// credential returns the secret in a request and how it was sent. Without checking it, credential assumes that the
// secret is a session's token: kind is CredentialSession for a header and CredentialCookie for a cookie.
func credential(r *http.Request) (secret string, kind Credential, err error) {
	if key := r.Header.Get("X-API-Key"); key != "" {
		return key, CredentialSession, nil
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		if token := CookieOf(r, SessionCookie); token != "" {
			return token, CredentialCookie, nil
		}
		return "", "", unauthorized("this needs a token, and none was sent")
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if secret = strings.TrimSpace(secret); !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return "", "", unauthorized("the Authorization header holds no bearer token")
	}
	return secret, CredentialSession, nil
}

// Forwarded reports whether a request has headers of a proxy that forwarded it.
func Forwarded(r *http.Request) bool {
	for name := range r.Header {
		if name == "Forwarded" || name == "Via" || strings.HasPrefix(name, "X-Forwarded-") {
			return true
		}
	}
	return false
}

// LoopbackHost reports whether a host, with or without a port, is localhost or a loopback address.
func LoopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

func unauthorized(message string) error {
	return &fleet.Error{Code: fleet.CodeUnauthorized, Message: message, Hint: howToAuthenticate}
}

package auth

import (
	"net/http"
	"strings"

	"muster/internal/fleet"
)

const howToAuthenticate = "Send `Authorization: Bearer TOKEN` or `X-API-Key: TOKEN`. The first administrator's " +
	"token is in the file admin-token in the server's home."

// Authenticator finds out who sends a request.
type Authenticator struct{ tokens *Tokens }

// NewAuthenticator recognises these tokens.
func NewAuthenticator(tokens *Tokens) *Authenticator {
	return &Authenticator{tokens: tokens}
}

// Authenticate is who sends the request. The error is unauthorized without a token or with one that is not known.
// Wrong tokens are not counted: a token has 256 bits, and many programs behind one address may share an old one.
func (a *Authenticator) Authenticate(r *http.Request) (Principal, error) {
	secret, err := credential(r)
	if err != nil {
		return Principal{}, err
	}
	p, ok, err := a.tokens.Principal(r.Context(), secret)
	if err != nil {
		return Principal{}, err
	}
	if ok {
		a.tokens.used(p.Name, r)
		return p, nil
	}
	return Principal{}, unauthorized("this token is not known: it is mistyped, or it was deleted")
}

// credential is the token of a request, from either header.
func credential(r *http.Request) (string, error) {
	if key := r.Header.Get("X-API-Key"); key != "" {
		return key, nil
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		return "", unauthorized("this needs a token, and none was sent")
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if secret = strings.TrimSpace(secret); !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return "", unauthorized("the Authorization header holds no bearer token")
	}
	return secret, nil
}

func unauthorized(message string) error {
	return &fleet.Error{Code: fleet.CodeUnauthorized, Message: message, Hint: howToAuthenticate}
}

package signon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"muster/internal/fleet"
)

const (
	// MaxLogOutAge is the greatest age of a logout token.
	MaxLogOutAge = 5 * time.Minute

	logOutEvent   = "http://schemas.openid.net/event/backchannel-logout"
	maxTokenID    = 1 << 10  // bytes
	maxLogOutSize = 16 << 10 // bytes
)

// LogOut is the content of a logout token (OpenID Connect Back-Channel Logout 1.0): a person has logged out at the
// provider.
type LogOut struct {
	ID      string         // ID of the token; each token may be used once
	Until   time.Time      // time at which the token becomes too old
	Person  fleet.Identity // a person without a subject means every person with this session
	Session string         // session at the provider; "": all sessions of the person
}

// LogOut verifies a logout token. The error has the code unauthorized when the token proves nothing.
func (p *Provider) LogOut(ctx context.Context, raw string) (LogOut, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.http), redeemLimit)
	defer cancel()
	if len(raw) > maxLogOutSize {
		return LogOut{}, p.wrongLogOut(fmt.Errorf("it has %d bytes", len(raw)))
	}
	k, err := p.now(ctx)
	if err != nil {
		return LogOut{}, err
	}
	token, err := k.logOuts.Verify(ctx, raw)
	if err != nil {
		return LogOut{}, p.wrongLogOut(err)
	}
	return p.readLogOut(token)
}

// readLogOut checks the claims of a token whose signature, issuer and audience are already verified.
func (p *Provider) readLogOut(token *oidc.IDToken) (out LogOut, err error) {
	c, err := readClaims(token)
	if err != nil {
		return out, p.wrongLogOut(err)
	}
	now := p.Now()
	out = LogOut{ID: c.text("jti"), Session: c.text("sid"), Until: token.IssuedAt.Add(MaxLogOutAge + clockSkew),
		Person: fleet.Identity{Issuer: p.Issuer, Subject: token.Subject}}
	_, hasNonce := c["nonce"]
	switch {
	case !c.isLogOut():
		err = errors.New("it has no event of a log-out")
	case hasNonce:
		err = errors.New("it has a nonce, so that it is an ID token")
	case token.IssuedAt.After(now.Add(clockSkew)) || now.After(out.Until):
		err = fmt.Errorf("it was issued at %v", token.IssuedAt)
	case !token.Expiry.IsZero() && now.After(token.Expiry.Add(clockSkew)):
		err = fmt.Errorf("it ended at %v", token.Expiry)
	case out.ID == "" || len(out.ID) > maxTokenID:
		err = errors.New("it has no jti")
	case token.Subject == "" && out.Session == "":
		err = errors.New("it has neither sub nor sid")
	case len(token.Subject) > fleet.MaxSubjectBytes:
		err = errors.New("its sub is too long")
	}
	if err != nil {
		return LogOut{}, p.wrongLogOut(err)
	}
	return out, nil
}

// wrongLogOut makes the error for a logout token that proves nothing. The reason is only logged.
func (p *Provider) wrongLogOut(why error) error {
	return p.untrusted("the logout token is not valid", why)
}

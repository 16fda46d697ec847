package signon

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// clockSkew is how much the provider's clock may differ from Muster's.
const clockSkew = time.Minute

// redeemLimit bounds all requests of one log-in together.
const redeemLimit = 20 * time.Second

// Challenge is the set of random values of one log-in. Muster sends them to the provider and checks that they come
// back.
type Challenge struct {
	State    string // comes back in the URL of the answer
	Nonce    string // comes back in the ID token
	Verifier string // its hash is sent at the beginning of the log-in, the text itself at the end (PKCE)
}

// Answer is what a browser brings back from the provider.
type Answer struct {
	Code   string
	Issuer string // issuer that the answer names; "": it names none
}

// AuthURL returns the URL where a person logs in to the provider.
func (p *Provider) AuthURL(ctx context.Context, c Challenge) (string, error) {
	k, err := p.now(ctx)
	if err != nil {
		return "", err
	}
	return k.oauth.AuthCodeURL(c.State, oidc.Nonce(c.Nonce), oauth2.S256ChallengeOption(c.Verifier)), nil
}

// Redeem proves who has logged in to the provider. The error has the code unauthorized when the answer proves nothing.
func (p *Provider) Redeem(ctx context.Context, a Answer, c Challenge) (fleet.ProvenIdentity, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.http), redeemLimit)
	defer cancel()
	k, err := p.now(ctx)
	if err != nil {
		return fleet.ProvenIdentity{}, err
	}
	if err := p.checkIssuer(k, a.Issuer); err != nil {
		return fleet.ProvenIdentity{}, err
	}
	token, err := k.oauth.Exchange(ctx, a.Code, oauth2.VerifierOption(c.Verifier))
	if err != nil {
		return fleet.ProvenIdentity{}, p.refused(err)
	}
	return p.identity(ctx, k, token, &c.Nonce)
}

// checkIssuer refuses an answer of another provider (mix-up attack, RFC 9207).
func (p *Provider) checkIssuer(k *known, says string) error {
	if says == p.Issuer || says == "" && !k.metadata.NamesIssuer {
		return nil
	}
	return p.untrusted("another provider answers than the one that was asked", fmt.Errorf("iss is %.200q", says))
}

// identity verifies an ID token and returns the person that it names. nonce is nil when the log-in used none.
func (p *Provider) identity(ctx context.Context, k *known, token *oauth2.Token, nonce *string) (
	proven fleet.ProvenIdentity, err error) {
	raw, _ := token.Extra("id_token").(string)
	idToken, err := k.verifier.Verify(ctx, raw)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return proven, p.untrusted("the proof of the provider is too old; its clock or that of Muster may be wrong", err)
	case err != nil:
		return proven, p.untrusted("the proof of the provider is not valid", err)
	case nonce != nil && subtle.ConstantTimeCompare([]byte(idToken.Nonce), []byte(*nonce)) != 1:
		return proven, p.untrusted("the proof of the provider is of another log-in", errors.New("the nonce is another one"))
	case idToken.IssuedAt.After(p.Now().Add(clockSkew)):
		return proven, p.untrusted("the proof of the provider is of a time to come; its clock or that of Muster may be wrong",
			fmt.Errorf("issued at %v", idToken.IssuedAt))
	case idToken.AccessTokenHash != "" && idToken.VerifyAccessToken(token.AccessToken) != nil:
		return proven, p.untrusted("the proof of the provider is not valid", errors.New("at_hash is of another token"))
	}
	claims, err := readClaims(idToken)
	if err != nil {
		return proven, p.untrusted("the proof of the provider is not valid", err)
	}
	if party := claims.text("azp"); party != "" && party != p.ClientID || party == "" && len(idToken.Audience) > 1 {
		return proven, p.untrusted("the proof of the provider is for another program", fmt.Errorf("azp is %.200q", party))
	}
	if idToken.Subject == "" || len(idToken.Subject) > fleet.MaxSubjectBytes {
		return proven, p.untrusted("the proof of the provider names nobody", fmt.Errorf("sub is %.300q", idToken.Subject))
	}
	if err := p.addUserInfo(ctx, k, token, idToken.Subject, claims); err != nil {
		return proven, err
	}
	return fleet.ProvenIdentity{Identity: fleet.Identity{Issuer: p.Issuer, Subject: idToken.Subject},
		Name: claims.text(p.NameClaim), Groups: claims.texts(p.GroupsClaim), Session: claims.text("sid"),
		Grant: grantOf(token)}, nil
}

// addUserInfo asks the provider for the claims that the ID token does not contain.
func (p *Provider) addUserInfo(ctx context.Context, k *known, token *oauth2.Token, subject string, c claims) error {
	if c.has(p.GroupsClaim) && c.has(p.NameClaim) || k.provider.UserInfoEndpoint() == "" || token.AccessToken == "" {
		return nil
	}
	info, err := k.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return p.noAnswer(err)
	}
	if info.Subject != subject {
		return p.untrusted("the provider mixes up two people", fmt.Errorf("userinfo is of %.300q", info.Subject))
	}
	more := claims{}
	if err := info.Claims(&more); err != nil {
		return p.noAnswer(err)
	}
	c.add(more)
	return nil
}

// noAnswer makes the error for a request to the provider that failed.
func (p *Provider) noAnswer(err error) error {
	p.log.Warn("the provider of single sign-on does not answer as it should", logkey.Err(short(err)))
	return unreachable(short(err))
}

// untrusted makes the error for an answer that proves nothing. The reason is only logged.
func (p *Provider) untrusted(message string, why error) error {
	p.log.Warn("an answer of the provider of single sign-on is refused", logkey.Reason, message, logkey.Err(short(why)))
	return &fleet.Error{Code: fleet.CodeUnauthorized, Message: message, Hint: beginAgain, Err: short(why)}
}

const beginAgain = "Begin again with the log-in page. If it stays, ask an administrator: the server's log says more."

// refused makes the error for a code that the provider did not accept.
func (p *Provider) refused(err error) error {
	var answer *oauth2.RetrieveError
	switch {
	case !errors.As(err, &answer):
		return p.noAnswer(err)
	case answer.ErrorCode == "invalid_grant":
		return p.untrusted("the provider does not accept this log-in: it was finished before, or is too old",
			errors.New("invalid_grant"))
	case answer.Response != nil && answer.Response.StatusCode >= http.StatusInternalServerError:
		return p.noAnswer(errors.New(answer.Response.Status))
	}
	p.log.Error("the provider of single sign-on refuses Muster: compare --oidc-client-id and --oidc-client-secret-file",
		logkey.Reason, fmt.Sprintf("%.100q", answer.ErrorCode))
	return unreachable(fmt.Errorf("it answered %.100q", answer.ErrorCode))
}

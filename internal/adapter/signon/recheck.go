package signon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"muster/internal/fleet"
)

var (
	// ErrNoGrant is the error of Recheck when the provider gave nothing to ask it again with, or that has expired.
	ErrNoGrant = errors.New("the provider gave nothing to ask again with")
	// ErrGrantEnded is the error of Recheck when the provider refuses to say more about the person.
	ErrGrantEnded = errors.New("the provider does not know the log-in any more")
)

// maxGrant bounds what is kept of a provider for each session, in bytes.
const maxGrant = 16 << 10

// grant is what Muster keeps of a log-in to ask the provider again: a refresh token or, where the provider gives none,
// an access token with a known end.
type grant struct {
	Refresh string    `json:"refresh,omitempty"`
	Access  string    `json:"access,omitempty"`
	Until   time.Time `json:"until,omitzero"`
}

// grantOf returns what is kept of a provider's answer. It is blank when the answer has nothing to ask again with.
func grantOf(token *oauth2.Token) fleet.Secret {
	kept := grant{Refresh: token.RefreshToken}
	if kept.Refresh == "" {
		if token.AccessToken == "" || token.Expiry.IsZero() {
			return fleet.Secret{}
		}
		kept.Access, kept.Until = token.AccessToken, token.Expiry
	}
	text, err := json.Marshal(kept)
	if err != nil || len(text) > maxGrant {
		return fleet.Secret{}
	}
	return fleet.NewSecret(string(text))
}

// Recheck asks the provider what it says about a person now. The error has the code unavailable when the provider does
// not answer. Some providers replace the grant in their first answer, and do not accept the old one afterwards: Recheck
// passes the new one to replace before it asks for more.
func (p *Provider) Recheck(ctx context.Context, kept fleet.Secret, of fleet.Identity, replace func(fleet.Secret)) (
	fleet.ProvenIdentity, error) {
	var g grant
	if json.Unmarshal([]byte(kept.Reveal()), &g) != nil || g.Refresh == "" && !p.Now().Before(g.Until) {
		return fleet.ProvenIdentity{}, ErrNoGrant
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.http), redeemLimit)
	defer cancel()
	k, err := p.now(ctx)
	if err != nil {
		return fleet.ProvenIdentity{}, err
	}
	if g.Refresh == "" {
		return p.byAccess(ctx, k, g, of)
	}
	token, err := k.oauth.TokenSource(ctx, &oauth2.Token{RefreshToken: g.Refresh}).Token()
	var answer *oauth2.RetrieveError
	switch {
	case errors.As(err, &answer) && answer.ErrorCode == "invalid_grant":
		return fleet.ProvenIdentity{}, ErrGrantEnded
	case err != nil:
		return fleet.ProvenIdentity{}, p.refused(err)
	}
	if token.RefreshToken != g.Refresh {
		replace(grantOf(token))
	}
	if raw, _ := token.Extra("id_token").(string); raw == "" {
		return p.byUserInfo(ctx, k, token, of)
	}
	proven, err := p.identity(ctx, k, token, nil)
	if err == nil && proven.Identity != of {
		err = p.untrusted("the provider mixes up two people", fmt.Errorf("the new proof is of %.300q", proven.Subject))
	}
	return proven, ended(err)
}

// ended makes ErrGrantEnded of an answer that proves nothing.
func ended(err error) error {
	if fleet.CodeOf(err) == fleet.CodeUnauthorized {
		return errors.Join(ErrGrantEnded, err)
	}
	return err
}

// byAccess asks with an access token. A provider that refuses the token does not know the log-in any more. Every other
// failure may pass.
func (p *Provider) byAccess(ctx context.Context, k *known, g grant, of fleet.Identity) (fleet.ProvenIdentity, error) {
	proven, err := p.byUserInfo(ctx, k, &oauth2.Token{AccessToken: g.Access, Expiry: g.Until}, of)
	if refusesToken(err) {
		err = errors.Join(ErrGrantEnded, err)
	}
	return proven, err
}

// refusesToken reports whether userinfo refused the access token. go-oidc tells the status only as the first word of
// its text.
func refusesToken(err error) bool {
	var why cause
	if !errors.As(err, &why) {
		return false
	}
	status, _, _ := strings.Cut(why.text, " ")
	return status == strconv.Itoa(http.StatusUnauthorized) || status == strconv.Itoa(http.StatusForbidden)
}

func (p *Provider) byUserInfo(ctx context.Context, k *known, token *oauth2.Token, of fleet.Identity) (
	fleet.ProvenIdentity, error) {
	if k.provider.UserInfoEndpoint() == "" || token.AccessToken == "" {
		return fleet.ProvenIdentity{}, ErrNoGrant
	}
	c := claims{}
	if err := p.addUserInfo(ctx, k, token, of.Subject, c); err != nil {
		return fleet.ProvenIdentity{}, ended(err)
	}
	if !c.has(p.GroupsClaim) { // The provider tells groups in its ID tokens only.
		return fleet.ProvenIdentity{}, ErrNoGrant
	}
	return fleet.ProvenIdentity{Identity: of, Name: c.text(p.NameClaim), Groups: c.texts(p.GroupsClaim),
		Grant: grantOf(token)}, nil
}

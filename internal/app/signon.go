package app

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"muster/internal/adapter/signon"
	"muster/internal/adapter/store"
	"muster/internal/edge/auth"
	"muster/internal/edge/httpapi"
	"muster/internal/edge/pages"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// SignOn contains the settings of single sign-on. Without an issuer single sign-on is off.
type SignOn struct {
	Issuer       string
	ClientID     string
	ClientSecret fleet.Secret
	Name         string // name of the provider, shown to people
	Rules        []auth.RoleRule
	GroupsClaim  string
	NameClaim    string
	Scopes       []string // scopes besides openid
	Roots        string   // file with certificates (PEM) to trust besides the system's
}

// allowPublic allows clients to use the host name in the public URL.
func (a *App) allowPublic() (err error) {
	if a.o.PublicURL == "" {
		return nil
	}
	if a.public, err = pages.PublicAddress(a.o.PublicURL); err != nil {
		return err
	}
	a.o.AllowHosts = append(slices.Clone(a.o.AllowHosts), a.public.Hostname())
	return nil
}

// openSignOn sets up single sign-on if the options ask for it.
func (a *App) openSignOn(ctx context.Context) error {
	if a.o.SignOn.Issuer == "" {
		return nil
	}
	off, err := a.store.SignOnDisabled(ctx)
	if err != nil {
		return err
	}
	if off {
		a.log.Warn("single sign-on is off, for it was switched off on this machine", logkey.Next,
			"muster admin single-sign-on on")
		return nil
	}
	// The provider needs a URL to which it sends people back: the address where the server listens.
	if a.public == nil {
		if a.public, err = url.Parse(a.URL()); err != nil {
			return err
		}
	}
	so := a.o.SignOn
	a.provider, err = signon.New(signon.Options{
		Issuer: so.Issuer, ClientID: so.ClientID, ClientSecret: so.ClientSecret, Scopes: so.Scopes,
		GroupsClaim: so.GroupsClaim, NameClaim: so.NameClaim, Roots: so.Roots, Log: a.log,
		Callback: a.public.JoinPath(auth.CallbackPath).String(), LoggedOut: a.public.JoinPath(auth.LogInPage).String(),
	})
	return err
}

// issuer returns the issuer of single sign-on, or "" when it is off.
func (a *App) issuer() string {
	if a.provider == nil {
		return ""
	}
	return a.o.SignOn.Issuer
}

// signOn is single sign-on as the API and the pages use it.
type signOn interface {
	httpapi.SignOn
	pages.SignOn
}

// newSignOn returns nil when single sign-on is off.
func (a *App) newSignOn(ctx context.Context) (signOn, error) {
	if a.provider == nil {
		return nil, nil //nolint:nilnil // nil switches the API's part off
	}
	key, err := a.store.OwnKey(ctx, "single sign-on")
	if err != nil {
		return nil, fmt.Errorf("read the key of single sign-on: %w", err)
	}
	a.life.background("provider of single sign-on", a.provider.Run, a.fail)
	signOn := auth.NewSignOn(auth.SignOnOptions{
		People: a.people, Provider: a.provider, Name: a.o.SignOn.Name, Rules: a.o.SignOn.Rules, Key: key,
	})
	a.life.background("groups at the provider of single sign-on", signOn.Run, a.fail)
	return signOn, nil
}

// SwitchSignOn switches single sign-on off or on while no server runs. It is for people with access to the home
// directory whose provider lets the wrong people in.
func SwitchSignOn(ctx context.Context, o Options, off bool) error {
	return onHome(ctx, o, func(ctx context.Context, s *store.Store) error {
		return s.SwitchSignOn(ctx, off, byUserOfHost())
	})
}

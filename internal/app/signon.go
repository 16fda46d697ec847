package app

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"muster/internal/auth"
	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/logkey"
	"muster/internal/signon"
	"muster/internal/store"
)

// SignOn says how people log in by single sign-on. Without an issuer they do not.
type SignOn struct {
	Issuer       string
	ClientID     string
	ClientSecret fleet.Secret
	Name         string // of the provider, for people
	Rules        []auth.RoleRule
	GroupsClaim  string
	NameClaim    string
	Scopes       []string // besides openid
	Roots        string   // certificates (PEM) to trust besides the system's
}

// allowPublic allows clients to address the server by the name in its public URL.
func (a *App) allowPublic() (err error) {
	if a.o.PublicURL == "" {
		return nil
	}
	if a.public, err = httpapi.PublicAddress(a.o.PublicURL); err != nil {
		return err
	}
	a.o.AllowHosts = append(slices.Clone(a.o.AllowHosts), a.public.Hostname())
	return nil
}

// openSignOn decides whether there is single sign-on.
func (a *App) openSignOn(ctx context.Context) error {
	if a.o.SignOn.Issuer == "" {
		return nil
	}
	off, err := a.store.SignOnOff(ctx)
	if err != nil {
		return err
	}
	if off {
		a.log.Warn("single sign-on is off, for it was switched off on this machine", logkey.Next,
			"muster admin single-sign-on on")
		return nil
	}
	if a.public == nil { // the provider sends people back to where the server listens
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

// issuer is that of single sign-on, "" where it is off.
func (a *App) issuer() string {
	if a.provider == nil {
		return ""
	}
	return a.o.SignOn.Issuer
}

// newSignOn is nil where single sign-on is off.
func (a *App) newSignOn(ctx context.Context) (httpapi.SignOn, error) {
	if a.provider == nil {
		return nil, nil //nolint:nilnil // the API has none then
	}
	key, err := a.store.OwnKey(ctx, "single sign-on")
	if err != nil {
		return nil, fmt.Errorf("read the key of single sign-on: %w", err)
	}
	a.life.background("provider of single sign-on", a.provider.Run, a.fail)
	return auth.NewSignOn(auth.SignOnOptions{
		People: a.people, Provider: a.provider, Name: a.o.SignOn.Name, Rules: a.o.SignOn.Rules, Key: key,
	}), nil
}

// SwitchSignOn switches single sign-on off, or on again, while no server runs: for those who have the home folder, and
// a provider that lets the wrong people in.
func SwitchSignOn(ctx context.Context, o Options, off bool) error {
	return onHome(ctx, o, func(ctx context.Context, s *store.Store) error {
		return s.SwitchSignOn(ctx, off, byUserOfHost())
	})
}

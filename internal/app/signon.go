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

// openSignOn sets up single sign-on if flags or settings ask for it. If the settings are wrong, openSignOn logs that,
// and the server starts without single sign-on, so that an administrator can log in with a password and correct them.
func (a *App) openSignOn(ctx context.Context) error {
	stored := a.o.SignOn.Issuer == ""
	wrong := func(err error) error {
		if !stored {
			return err
		}
		a.log.Error("single sign-on is off, for its settings are wrong", logkey.Err(err), logkey.Next, "muster setting list")
		return nil
	}
	if stored {
		var err error
		if a.signOn, err = a.storedSignOn(); err != nil {
			return wrong(err)
		}
	}
	if a.signOn.Issuer == "" {
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
	provider, err := a.newProvider(a.signOn)
	if err != nil {
		return wrong(err)
	}
	a.provider = provider
	a.public, err = a.reachedBy()
	return err
}

// reachedBy is the URL that people use: the public one, or the address where the server listens.
func (a *App) reachedBy() (*url.URL, error) {
	if a.public != nil {
		return a.public, nil
	}
	return url.Parse(a.URL())
}

// newProvider makes the client of a provider, which needs a URL to which it sends people back.
func (a *App) newProvider(so SignOn) (*signon.Provider, error) {
	public, err := a.reachedBy()
	if err != nil {
		return nil, err
	}
	return signon.New(signon.Options{
		Issuer: so.Issuer, ClientID: so.ClientID, ClientSecret: so.ClientSecret, Scopes: so.Scopes,
		GroupsClaim: so.GroupsClaim, NameClaim: so.NameClaim, Roots: so.Roots, Log: a.log,
		Callback: public.JoinPath(auth.CallbackPath).String(), LoggedOut: public.JoinPath(auth.LogInPage).String(),
	})
}

// issuer returns the issuer of single sign-on, or "" when it is off.
func (a *App) issuer() string {
	if a.provider == nil {
		return ""
	}
	return a.signOn.Issuer
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
		People: a.people, Provider: a.provider, Name: a.signOn.Name, Rules: a.signOn.Rules, Key: key,
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

package signon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"muster/internal/fleet"
)

const (
	usualInterval = 5 * time.Second // between two polls, when the provider does not say
	maxInterval   = time.Minute
	maxDeviceLife = 30 * time.Minute
	maxUserCode   = 64 // bytes
)

// Device is a log-in of a program without a browser (RFC 8628). A person types the log-in's code at the provider, on
// any machine with a browser.
type Device struct {
	Code     string // secret with which the program gets the result
	UserCode string
	URL      string // page on which the person types the code
	Direct   string // page on which the code is already filled in; "": the provider has no such page
	Interval time.Duration
	Until    time.Time
}

// ErrPending means that the person has not answered yet.
var ErrPending = errors.New("the person has not answered yet")

// ErrSlowDown is ErrPending from a provider that was polled too often.
var ErrSlowDown = fmt.Errorf("%w, and the provider was asked too often", ErrPending)

// HasDevices reports whether the provider supports the log-in of programs without a browser. It waits for the provider
// only if the provider was never read.
func (p *Provider) HasDevices(ctx context.Context) bool {
	p.mu.Lock()
	k, tried := p.known, p.known != nil || p.failed != nil
	p.mu.Unlock()
	if !tried {
		k, _ = p.now(ctx) // An error is logged where it occurs.
	}
	return k != nil && k.oauth.Endpoint.DeviceAuthURL != ""
}

// BeginDevice starts the log-in of a program.
func (p *Provider) BeginDevice(ctx context.Context) (Device, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.http), redeemLimit)
	defer cancel()
	k, err := p.now(ctx)
	if err != nil {
		return Device{}, err
	}
	if k.oauth.Endpoint.DeviceAuthURL == "" {
		return Device{}, &fleet.Error{
			Code:    fleet.CodeConflict,
			Message: "the provider of single sign-on logs people in by browser only",
			Hint: "Use a token of an administrator: `muster token create --role operator --name NAME`. Users " +
				"with a password: `muster login --user NAME`.",
		}
	}
	ctx, options := p.withSecret(ctx, k)
	answer, err := k.oauth.DeviceAuth(ctx, options...)
	if err != nil {
		return Device{}, p.refused(err)
	}
	return p.checkDevice(answer)
}

// withSecret adds Muster's credentials to the request that starts a device log-in. The library adds them only to
// requests for tokens.
func (p *Provider) withSecret(ctx context.Context, k *known) (context.Context, []oauth2.AuthCodeOption) {
	switch secret := p.ClientSecret.Reveal(); {
	case secret == "":
		return ctx, nil
	case k.oauth.Endpoint.AuthStyle == oauth2.AuthStyleInParams:
		return ctx, []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("client_secret", secret)}
	}
	client := *p.http
	client.Transport = basic{RoundTripper: p.http.Transport, id: p.ClientID, secret: p.ClientSecret}
	return oidc.ClientContext(ctx, &client), nil
}

// basic sends Muster's secret in the header, in the form that OAuth requires.
type basic struct {
	http.RoundTripper
	id     string
	secret fleet.Secret
}

func (b basic) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.SetBasicAuth(url.QueryEscape(b.id), url.QueryEscape(b.secret.Reveal()))
	return b.RoundTripper.RoundTrip(r)
}

// checkDevice refuses an answer with values that must not be shown to people.
func (p *Provider) checkDevice(answer *oauth2.DeviceAuthResponse) (Device, error) {
	d := Device{Code: answer.DeviceCode, UserCode: answer.UserCode, URL: answer.VerificationURI,
		Direct: answer.VerificationURIComplete, Interval: time.Duration(answer.Interval) * time.Second, Until: answer.Expiry}
	latest := time.Now().Add(maxDeviceLife) // The library computes the expiry with the same clock.
	switch {
	case d.Code == "" || d.UserCode == "" || len(d.UserCode) > maxUserCode || !plain(d.UserCode):
		return Device{}, unreachable(errors.New("it gives no code that a person can type"))
	case !p.secureText(d.URL) || d.Direct != "" && !p.secureText(d.Direct):
		return Device{}, unreachable(errors.New("the place where the code is to be typed is not secure"))
	}
	if d.Interval < time.Second || d.Interval > maxInterval {
		d.Interval = usualInterval
	}
	if d.Until.IsZero() || d.Until.After(latest) {
		d.Until = latest
	}
	return d, nil
}

func (p *Provider) secureText(text string) bool {
	issuer, err := url.Parse(p.Issuer)
	if err != nil {
		return false
	}
	at, err := url.Parse(text)
	return err == nil && secure(at, issuer) && plain(text)
}

// plain reports whether a text is one line of printable characters.
func plain(text string) bool {
	for _, r := range text {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// RedeemDevice proves who has typed the code of a program. The error is ErrPending until somebody has.
func (p *Provider) RedeemDevice(ctx context.Context, code string) (fleet.ProvenIdentity, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.http), redeemLimit)
	defer cancel()
	k, err := p.now(ctx)
	if err != nil {
		return fleet.ProvenIdentity{}, err
	}
	config := k.oauth
	config.RedirectURL = ""
	// The library's own function would poll by itself. Exchange sends one request, here with another grant type; the
	// library omits the blank code.
	token, err := config.Exchange(ctx, "", oauth2.SetAuthURLParam("grant_type",
		"urn:ietf:params:oauth:grant-type:device_code"), oauth2.SetAuthURLParam("device_code", code))
	if err != nil {
		return fleet.ProvenIdentity{}, p.deviceRefused(err)
	}
	return p.identity(ctx, k, token, nil)
}

// deviceRefused makes the error for a device log-in that the provider refused.
func (p *Provider) deviceRefused(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return p.noAnswer(err)
	}
	switch answer.ErrorCode {
	case "authorization_pending":
		return ErrPending
	case "slow_down":
		return ErrSlowDown
	case "access_denied":
		return p.untrusted("the log-in was refused at the provider", errors.New("access_denied"))
	case "expired_token":
		return p.untrusted("the code was not typed in time", errors.New("expired_token"))
	}
	return p.refused(err)
}

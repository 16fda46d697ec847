// Package signon is the client of one provider of single sign-on (OpenID Connect). It sends people to the provider and
// verifies what the provider says about them. Package auth decides what those people may do. A provider that is slow,
// unreachable or lying can only make log-ins fail.
package signon

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	readAgain  = time.Hour        // how long the provider's metadata may be used before it is read again
	watchEvery = time.Minute      // how often to check that the provider answers
	retryAfter = 10 * time.Second // time before a failed reading is repeated
)

// Options identify the provider, and Muster as its client.
type Options struct {
	Issuer       string // URL, exactly as the provider writes it
	ClientID     string
	ClientSecret fleet.Secret // "": the provider requires no secret
	Callback     string       // URL to which the provider sends people after the log-in
	LoggedOut    string       // URL to which the provider sends people after they logged out there
	Scopes       []string     // scopes to request besides openid
	GroupsClaim  string       // claim with the groups of a person
	NameClaim    string       // claim with the name of a person
	Roots        string       // file with certificates (PEM) to trust besides the system's; "": none
	Now          func() time.Time
	Log          *slog.Logger
}

// Provider is a client of one provider.
type Provider struct {
	Options
	log  *slog.Logger
	http *http.Client

	reading chan struct{} // holds a token while the provider's metadata is being read

	mu          sync.Mutex
	known       *known    // guarded by mu; nil: the metadata was never read
	failed      error     // guarded by mu; why the last reading failed; nil: it succeeded
	failedAt    time.Time // guarded by mu
	failedSince time.Time // guarded by mu; time of the first failure since the last success
}

// known is the provider's metadata.
type known struct {
	metadata metadata
	oauth    oauth2.Config
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	logOuts  *oidc.IDTokenVerifier // verifies logout tokens
	readAt   time.Time
}

// metadata is the part of the metadata that go-oidc does not read.
type metadata struct {
	KeysURL      string   `json:"jwks_uri"`
	EndSession   string   `json:"end_session_endpoint"`
	NamesIssuer  bool     `json:"authorization_response_iss_parameter_supported"`
	SecretsAsked []string `json:"token_endpoint_auth_methods_supported"`
}

// New checks the options. It sends no request to the provider.
func New(o Options) (*Provider, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	at, err := url.Parse(o.Issuer)
	if err != nil || !secure(at, at) || at.RawQuery != "" || at.Fragment != "" {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%q is no issuer of a provider", o.Issuer),
			Hint: "An issuer begins with https://; on a loopback address http:// will do. The provider shows it at " +
				"ISSUER/.well-known/openid-configuration."}
	}
	client, err := newClient(o.Roots)
	if err != nil {
		return nil, err
	}
	return &Provider{Options: o, log: o.Log.With(logkey.Component, "signon"), http: client,
		reading: make(chan struct{}, 1)}, nil
}

// secure reports whether a URL of the provider may be used: HTTPS, or plain HTTP when the issuer is on this machine.
func secure(at, issuer *url.URL) bool {
	if at.Host == "" || at.User != nil {
		return false
	}
	return at.Scheme == "https" || at.Scheme == "http" && loopback(at.Hostname()) && issuer.Scheme == "http" &&
		loopback(issuer.Hostname())
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Run reads the provider's metadata at intervals until ctx ends, so that Muster knows whether the provider can be
// reached before people log in.
func (p *Provider) Run(ctx context.Context) error {
	for again := time.NewTicker(watchEvery); ; {
		// Impairment reports an error of this reading.
		_, _ = p.readBy(ctx, func() (reading, bool) { return reading{}, false })
		select {
		case <-ctx.Done():
			again.Stop()
			return ctx.Err()
		case <-again.C:
		}
	}
}

// Try reads the provider's metadata once, so that an administrator can check a provider before it is set.
func (p *Provider) Try(ctx context.Context) error {
	_, err := p.read(ctx)
	return err
}

// Impairment reports that the provider cannot be read. It returns nil when it can, or when no reading was tried.
func (p *Provider) Impairment() *fleet.Impairment {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		return nil
	}
	return &fleet.Impairment{Part: fleet.PartSignOn,
		Reason: "the provider of single sign-on does not answer as it should since " +
			p.failedSince.UTC().Format(time.DateTime) + " UTC: nobody can log in with it",
		Next: "Look whether this machine reaches " + strings.TrimSuffix(p.Issuer, "/") +
			"/.well-known/openid-configuration; the server's log says what fails. Meanwhile log in with a password or a " +
			"token, or by the link that `muster login-link` prints. Sessions that have begun go on. Groups that change at the " +
			"provider meanwhile change nothing here."}
}

// reading is the result of one attempt to read the metadata.
type reading struct {
	known *known
	err   error // set when known is nil
}

// now returns metadata that is at most an hour old, or older metadata when the provider cannot be read.
func (p *Provider) now(ctx context.Context) (*known, error) { return p.readBy(ctx, p.recent) }

// readBy reads the metadata, unless enough returns a result that is recent enough.
func (p *Provider) readBy(ctx context.Context, enough func() (reading, bool)) (*known, error) {
	if r, ok := enough(); ok {
		return r.known, r.err
	}
	select {
	case p.reading <- struct{}{}:
		defer func() { <-p.reading }()
	case <-ctx.Done():
		return nil, unreachable(ctx.Err())
	}
	if r, ok := enough(); ok { // Another request has read it meanwhile.
		return r.known, r.err
	}
	// Others wait for this reading, so it does not end with ctx; the HTTP client has a time limit.
	k, err := p.read(context.WithoutCancel(ctx))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logChange(err)
	if err != nil && p.failed == nil {
		p.failedSince = p.Now()
	}
	p.failed, p.failedAt = err, p.Now()
	if err == nil {
		p.known = k
	}
	if p.known == nil {
		return nil, err
	}
	return p.known, nil
}

// recent returns the last result, if it is recent enough. After a failure that time is short.
func (p *Provider) recent() (reading, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	switch {
	case p.failed != nil && now.Sub(p.failedAt) < retryAfter && p.known != nil:
		return reading{known: p.known}, true
	case p.failed != nil && now.Sub(p.failedAt) < retryAfter:
		return reading{err: p.failed}, true
	case p.failed == nil && p.known != nil && now.Sub(p.known.readAt) < readAgain:
		return reading{known: p.known}, true
	}
	return reading{}, false
}

// logChange logs when readings start to fail and when they succeed again. The caller holds mu.
func (p *Provider) logChange(err error) {
	switch {
	case err != nil && p.failed == nil:
		p.log.Warn("the provider of single sign-on cannot be read; people log in with passwords meanwhile", logkey.Err(err))
	case err == nil && (p.failed != nil || p.known == nil):
		p.log.Info("single sign-on is ready", logkey.Address, p.Issuer)
	}
}

// read requests the provider's metadata.
func (p *Provider) read(ctx context.Context) (*known, error) {
	ctx = oidc.ClientContext(ctx, p.http)
	provider, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, unreachable(short(err))
	}
	k := &known{provider: provider, readAt: p.Now()}
	if err := provider.Claims(&k.metadata); err != nil {
		return nil, unreachable(short(err))
	}
	endpoint := provider.Endpoint()
	if err := p.checkURLs(endpoint, k.metadata, provider.UserInfoEndpoint()); err != nil {
		return nil, err
	}
	endpoint.AuthStyle = p.secretStyle(k.metadata)
	k.oauth = oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret.Reveal(), Endpoint: endpoint,
		RedirectURL: p.Callback, Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...)}
	k.verifier = provider.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID,
		Now: func() time.Time { return p.Now().Add(-clockSkew) }})
	// Drafts of the standard gave logout tokens no expiry. readLogOut checks their age instead.
	k.logOuts = provider.Verifier(&oidc.Config{ClientID: p.ClientID, SkipExpiryCheck: true})
	return k, nil
}

// secretStyle returns how the provider expects Muster's secret. A provider that does not say expects it in the header,
// by the standard.
func (p *Provider) secretStyle(m metadata) oauth2.AuthStyle {
	basic := len(m.SecretsAsked) == 0 || slices.Contains(m.SecretsAsked, "client_secret_basic")
	if p.ClientSecret.Reveal() != "" && basic {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// checkURLs refuses a provider with URLs to which Muster or a browser would send secrets unencrypted.
func (p *Provider) checkURLs(endpoint oauth2.Endpoint, m metadata, userInfo string) error {
	issuer, err := url.Parse(p.Issuer)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		name, url string
		needed    bool
	}{
		{"authorization_endpoint", endpoint.AuthURL, true}, {"token_endpoint", endpoint.TokenURL, true},
		{"jwks_uri", m.KeysURL, true}, {"device_authorization_endpoint", endpoint.DeviceAuthURL, false},
		{"userinfo_endpoint", userInfo, false}, {"end_session_endpoint", m.EndSession, false},
	} {
		if one.url == "" && !one.needed {
			continue
		}
		if at, err := url.Parse(one.url); err != nil || !secure(at, issuer) {
			return unreachable(fmt.Errorf("its %s is %.200q, which is not secure", one.name, one.url))
		}
	}
	return nil
}

// LogOutURL returns the page where a person logs out of the provider, or "" when the provider has none. The URL
// contains nothing about the person.
func (p *Provider) LogOutURL() string {
	p.mu.Lock()
	k := p.known
	p.mu.Unlock()
	if k == nil || k.metadata.EndSession == "" {
		return ""
	}
	at, err := url.Parse(k.metadata.EndSession)
	if err != nil {
		return ""
	}
	query := at.Query()
	query.Set("client_id", p.ClientID)
	query.Set("post_logout_redirect_uri", p.LoggedOut)
	at.RawQuery = query.Encode()
	return at.String()
}

func unreachable(cause error) error {
	return &fleet.Error{Code: fleet.CodeUnavailable,
		Message: "the provider of single sign-on does not answer as it should",
		Hint:    "Try again in a minute, or log in with a password. The server's log says what is wrong.", Err: cause}
}

// maxCause is how many bytes of an error's text are kept. The text may quote what the provider sent.
const maxCause = 300

type cause struct{ text string }

func (c cause) Error() string { return c.text }

// short returns an error whose text fits into a log: bounded, and on one line.
func short(err error) error {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " ")
	if len(text) > maxCause {
		text = strings.ToValidUTF8(text[:maxCause], "") + "…"
	}
	return cause{text}
}

package cli

import (
	"cmp"
	"net/url"
	"os"

	"muster/internal/app"
	"muster/internal/edge/auth"
	"muster/internal/edge/pages"
	"muster/internal/fleet"
)

// signOnFlags are the flags of single sign-on.
type signOnFlags struct {
	PublicURL            string   `name:"public-url" help:"Address that people reach the server by, as https://muster.example.org; the provider of single sign-on sends them back there. Without it, where the server listens." placeholder:"URL"`
	OIDCIssuer           string   `name:"oidc-issuer" help:"Provider that people log in with (OpenID Connect): its issuer, exactly as the provider writes it. Without it there is no single sign-on." placeholder:"URL"`
	OIDCClientID         string   `name:"oidc-client-id" help:"What Muster is called at the provider." placeholder:"ID"`
	OIDCClientSecret     string   `name:"oidc-client-secret" secret:"" help:"Muster's client secret at the provider. Prefer --oidc-client-secret-file." placeholder:"TEXT"`
	OIDCClientSecretFile string   `name:"oidc-client-secret-file" help:"File with Muster's secret at the provider." type:"path" placeholder:"FILE"`
	OIDCRole             []string `name:"oidc-role" sep:";" help:"Role of those who are in a group of the provider: ROLE=GROUP, or ROLE:TAG,TAG=GROUP for devices with one of these tags only; may be given several times, in the variable with ; between. The highest role of a person counts; who has none gets no access." placeholder:"ROLE=GROUP"`
	OIDCGroupsClaim      string   `name:"oidc-groups-claim" help:"Claim that holds the groups of a person." default:"groups" placeholder:"NAME"`
	OIDCNameClaim        string   `name:"oidc-name-claim" help:"Claim that a new user gets the name from." default:"preferred_username" placeholder:"NAME"`
	OIDCScope            []string `name:"oidc-scope" help:"What Muster asks the provider for besides openid; may be given several times." default:"profile,email" placeholder:"SCOPE"`
	OIDCName             string   `name:"oidc-name" help:"What the log-in page calls the provider; without it, its host." placeholder:"NAME"`
	OIDCCA               string   `name:"oidc-ca" help:"File with a certificate (PEM) of the provider to trust besides the system's." type:"path" placeholder:"FILE"`
}

// check finds flags that are wrong together, before anything is opened.
func (c *signOnFlags) check(listen string) error {
	if c.PublicURL != "" {
		if _, err := pages.PublicAddress(c.PublicURL); err != nil {
			return err
		}
	}
	for _, one := range []struct {
		wrong         bool
		message, hint string
	}{
		{c.OIDCIssuer == "" && (c.OIDCClientID != "" || c.OIDCClientSecret != "" || len(c.OIDCRole) > 0),
			"there are flags about single sign-on, and no --oidc-issuer", "Add --oidc-issuer URL, or leave out --oidc-…."},
		{c.OIDCIssuer != "" && c.OIDCClientID == "", "--oidc-issuer is given, and no --oidc-client-id",
			"Register Muster at the provider, and give the client ID that it shows."},
		{c.OIDCIssuer != "" && len(c.OIDCRole) == 0, "--oidc-issuer is given, and no --oidc-role: nobody would get in",
			"For example --oidc-role admin=muster-admins."},
		{c.OIDCIssuer != "" && c.PublicURL == "" && !auth.LoopbackHost(listen),
			"--oidc-issuer is given, and no --public-url: the provider must know where to send people back to",
			"For example --public-url https://muster.example.org."},
	} {
		if one.wrong {
			return &fleet.Error{Code: fleet.CodeInvalid, Message: one.message, Hint: one.hint}
		}
	}
	return nil
}

// signOn are the settings that the flags give.
func (c *signOnFlags) signOn() (app.SignOn, error) {
	out := app.SignOn{Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID, ClientSecret: fleet.NewSecret(c.OIDCClientSecret),
		GroupsClaim: c.OIDCGroupsClaim, NameClaim: c.OIDCNameClaim, Scopes: c.OIDCScope, Name: c.OIDCName}
	if at, err := url.Parse(c.OIDCIssuer); err == nil {
		out.Name = cmp.Or(out.Name, at.Host)
	}
	for _, text := range c.OIDCRole {
		rule, err := auth.ParseRoleRule(text)
		if err != nil {
			return out, err
		}
		out.Rules = append(out.Rules, rule)
	}
	if c.OIDCCA == "" {
		return out, nil
	}
	roots, err := os.ReadFile(c.OIDCCA)
	if err != nil {
		return out, &fleet.Error{Code: fleet.CodeInvalid, Message: "--oidc-ca cannot be read: " + err.Error(),
			Hint: "Give a file with the certificate of the provider's issuer in PEM."}
	}
	out.Roots = string(roots)
	return out, nil
}

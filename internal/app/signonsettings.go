package app

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// flagsOfSignOn returns the settings of single sign-on that flags give. With --oidc-issuer the flags decide as a whole:
// a provider of the flags with the roles of the settings would let in whom nobody meant.
func flagsOfSignOn(so SignOn) map[fleet.SettingName]string {
	if so.Issuer == "" {
		return nil
	}
	return map[fleet.SettingName]string{
		fleet.SettingOIDCIssuer: so.Issuer, fleet.SettingOIDCClientID: so.ClientID,
		fleet.SettingOIDCClientSecret: so.ClientSecret.Reveal(), fleet.SettingOIDCRoles: rulesText(so.Rules),
		fleet.SettingOIDCGroupsClaim: so.GroupsClaim, fleet.SettingOIDCNameClaim: so.NameClaim,
		fleet.SettingOIDCScopes: strings.Join(so.Scopes, ","), fleet.SettingOIDCName: so.Name,
	}
}

func isOfSignOn(name fleet.SettingName) bool { return strings.HasPrefix(string(name), "oidc") }

func rulesText(rules []auth.RoleRule) string {
	var all []string
	for _, r := range rules {
		role := string(r.Role)
		if !r.Scope.Whole() {
			var tags []string
			for _, tag := range r.Scope.Tags() {
				tags = append(tags, string(tag))
			}
			role += ":" + strings.Join(tags, ",")
		}
		all = append(all, role+"="+r.Group)
	}
	return strings.Join(all, ";")
}

func parseRules(text string) (rules []auth.RoleRule, err error) {
	for _, one := range strings.Split(text, ";") {
		if strings.TrimSpace(one) == "" {
			continue
		}
		rule, err := auth.ParseRoleRule(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// storedSignOn returns single sign-on as the settings have it; without an issuer it is off.
func (a *App) storedSignOn() (SignOn, error) {
	of := func(name fleet.SettingName) string { return a.policy.Of(name).Value }
	so := SignOn{Issuer: of(fleet.SettingOIDCIssuer), ClientID: of(fleet.SettingOIDCClientID),
		ClientSecret: fleet.NewSecret(of(fleet.SettingOIDCClientSecret)),
		GroupsClaim:  of(fleet.SettingOIDCGroupsClaim), NameClaim: of(fleet.SettingOIDCNameClaim),
		Name: of(fleet.SettingOIDCName), Roots: a.o.SignOn.Roots}
	for scope := range strings.SplitSeq(of(fleet.SettingOIDCScopes), ",") {
		if scope = strings.TrimSpace(scope); scope != "" {
			so.Scopes = append(so.Scopes, scope)
		}
	}
	if at, err := url.Parse(so.Issuer); err == nil {
		so.Name = cmp.Or(so.Name, at.Host)
	}
	var err error
	if so.Rules, err = parseRules(of(fleet.SettingOIDCRoles)); err != nil || so.Issuer == "" {
		return so, err
	}
	return so, a.checkSignOn(so)
}

// checkSignOn refuses a provider that could let nobody in.
func (a *App) checkSignOn(so SignOn) error {
	switch {
	case so.ClientID == "":
		return lacksSetting("log-in by a provider", fleet.SettingOIDCClientID)
	case len(so.Rules) == 0:
		return lacksSetting("log-in by a provider", fleet.SettingOIDCRoles)
	case a.o.PublicURL == "" && !auth.LoopbackHost(a.o.Listen):
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the provider must know where to send people back to",
			Hint: "On the server's machine, start it with --public-url https://…, the address that people use."}
	}
	return nil
}

// checkSignOnSetting checks a value together with the other settings of single sign-on.
func (a *App) checkSignOnSetting(now settingStates, name fleet.SettingName, value string) error {
	if name == fleet.SettingOIDCIssuer || name == fleet.SettingOIDCClientID {
		if err := keepSecretHere(now, name, value, fleet.SettingOIDCClientSecret,
			"a client secret is stored, which the server would send to another provider"); err != nil {
			return err
		}
	}
	then := withValue(now, name, value)
	rules, err := parseRules(then(fleet.SettingOIDCRoles))
	if err != nil || then(fleet.SettingOIDCIssuer) == "" {
		return err
	}
	return a.checkSignOn(SignOn{ClientID: then(fleet.SettingOIDCClientID), Rules: rules})
}

// tryProvider reads what a provider says of itself.
func (a *App) tryProvider(ctx context.Context, issuer string) (string, error) {
	if issuer == "" {
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: "there is no provider to try", Hint: "Name its issuer."}
	}
	provider, err := a.newProvider(SignOn{Issuer: issuer, Roots: a.o.SignOn.Roots})
	if err == nil {
		err = a.store.Record(ctx, auditTrial, string(fleet.SettingOIDCIssuer), issuer)
	}
	if err == nil {
		err = provider.Try(ctx)
	}
	if err != nil {
		return "", err
	}
	return "The provider answers at " + issuer +
		". Whether it knows the client ID and the secret shows with the first log-in.", nil
}

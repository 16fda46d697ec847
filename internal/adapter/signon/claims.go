package signon

import (
	"encoding/json"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

// claims are the statements of a provider about a person, by their names.
type claims map[string]json.RawMessage

func readClaims(of *oidc.IDToken) (c claims, err error) { return c, of.Claims(&c) }

// emailClaim is used only when the provider has verified the address. Otherwise people could choose the address of
// somebody else.
const emailClaim = "email"

// has reports whether the claim exists and may be used.
func (c claims) has(name string) bool {
	_, there := c[name]
	return there && (name != emailClaim || c.emailVerified())
}

// emailVerified reports whether email_verified is true or, as some providers send it, "true".
func (c claims) emailVerified() bool {
	return strings.Trim(string(c["email_verified"]), `"`) == "true"
}

// text returns a claim that is a string, or "" when it is another type or may not be used.
func (c claims) text(name string) string {
	var text string
	if !c.has(name) || json.Unmarshal(c[name], &text) != nil {
		return ""
	}
	return text
}

// texts returns a claim that is a string or a list. It skips members that are not strings.
func (c claims) texts(name string) (all []string) {
	if text := c.text(name); text != "" {
		return []string{text}
	}
	var list []any
	if !c.has(name) || json.Unmarshal(c[name], &list) != nil {
		return nil
	}
	for _, one := range list {
		if text, ok := one.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// add adds the claims that are not there yet. email and email_verified are added only together.
func (c claims) add(more claims) {
	_, hasEmail := c[emailClaim]
	if !hasEmail {
		delete(c, "email_verified")
	}
	for name, value := range more {
		if _, there := c[name]; there || hasEmail && name == "email_verified" {
			continue
		}
		c[name] = value
	}
}

// isLogOut reports whether the claims contain the event that makes a token a logout token. The event is an object.
func (c claims) isLogOut() bool {
	var events map[string]json.RawMessage
	var event map[string]json.RawMessage
	return json.Unmarshal(c["events"], &events) == nil && json.Unmarshal(events[logOutEvent], &event) == nil &&
		event != nil
}

package signon

import (
	"encoding/json"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
)

// claims are what a provider says of a person, by name.
type claims map[string]json.RawMessage

func readClaims(of *oidc.IDToken) (c claims, err error) { return c, of.Claims(&c) }

// emailClaim counts only where the provider has verified it: else people choose it themselves.
const emailClaim = "email"

// has tells whether the claim is there and counts.
func (c claims) has(name string) bool {
	_, there := c[name]
	return there && (name != emailClaim || c.emailVerified())
}

// emailVerified is true or, at some providers, "true".
func (c claims) emailVerified() bool {
	return strings.Trim(string(c["email_verified"]), `"`) == "true"
}

// text is a claim that is a text, "" where it is none or does not count.
func (c claims) text(name string) string {
	var text string
	if !c.has(name) || json.Unmarshal(c[name], &text) != nil {
		return ""
	}
	return text
}

// texts is a claim that is a list of texts or a text alone. What is no text in the list does not count.
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

// add adds what is not there yet. An e-mail address goes with the word on whether it is verified.
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

// isLogOut tells whether the claims have the event that makes a token a logout token: a member with an object.
func (c claims) isLogOut() bool {
	var events map[string]json.RawMessage
	var event map[string]json.RawMessage
	return json.Unmarshal(c["events"], &events) == nil && json.Unmarshal(events[logOutEvent], &event) == nil &&
		event != nil
}

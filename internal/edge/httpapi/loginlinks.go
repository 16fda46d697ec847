package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// LoginLinks makes log-in links; see auth.People.
type LoginLinks interface {
	// NewLink gives the default life where life is 0.
	NewLink(ctx context.Context, user string, life time.Duration) (code string, link fleet.LoginLink, err error)
}

// LoginLinkHandlers make log-in links.
type LoginLinkHandlers struct {
	LoginLinks LoginLinks
}

func (s LoginLinkHandlers) routes(*base) []route {
	return []route{{
		method: http.MethodPost, path: Prefix + "/login-links", name: "createLoginLink",
		summary: "Make a link that sets a password, once, within 15 minutes or as long as the body says; the only reply " +
			"that shows it",
		permission: auth.ManageUsers, body: reflect.TypeFor[api.CreateLoginLink](), reply: reflect.TypeFor[api.LoginLink](),
		volatile: true, looksUp: true, off: s.LoginLinks == nil, handle: s.createLoginLink,
	}}
}

func (s LoginLinkHandlers) createLoginLink(r *request) (reply, error) {
	body, err := decode[api.CreateLoginLink](r)
	if err != nil {
		return reply{}, err
	}
	life, err := seconds("expiresInS", body.ExpiresInS)
	if err != nil {
		return reply{}, err
	}
	code, link, err := s.LoginLinks.NewLink(r.Context(), or(body.User, ""), life)
	if err != nil {
		return reply{}, orNotFound(err, noUser(or(body.User, "")))
	}
	return show(api.LoginLink{Path: auth.LoginPath + code, User: link.User, ExpiresAt: api.Time{Time: link.ExpiresAt}})
}

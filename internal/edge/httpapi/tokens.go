package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Tokens issues and revokes tokens.
type Tokens interface {
	List(ctx context.Context) ([]fleet.Token, error)
	Create(ctx context.Context, wanted fleet.Token) (secret string, token fleet.Token, err error)
	Rotate(ctx context.Context, name string, rotation auth.Rotation) (secret string, token fleet.Token, err error)
	Delete(ctx context.Context, name string) error
}

// TokenHandlers make and end tokens.
type TokenHandlers struct {
	*base
	Tokens Tokens
}

func (s TokenHandlers) routes(b *base) []route {
	s.base = b
	const all, one = Prefix + "/tokens", Prefix + "/tokens/{name}"
	return []route{
		{method: http.MethodGet, path: all, name: "listTokens", summary: "All tokens by name, without their secrets",
			permission: auth.ManageTokens,
			reply:      reflect.TypeFor[[]api.Token](), handle: s.listTokens},
		{method: http.MethodPost, path: all, name: "createToken",
			summary: "Create a token; the only reply that shows its secret", permission: auth.ManageTokens,
			body: reflect.TypeFor[api.CreateToken](), reply: reflect.TypeFor[api.NewToken](), creates: true, onlyCreates: true,
			volatile: true, conflicts: true, handle: s.createToken},
		{method: http.MethodPost, path: one + "/rotate", name: "rotateToken",
			summary:    "Give a token another secret, which only this reply shows; the old one works until the overlap is over",
			permission: auth.ManageTokens, body: reflect.TypeFor[api.RotateToken](), reply: reflect.TypeFor[api.NewToken](),
			volatile: true, handle: s.rotateToken},
		{method: http.MethodDelete, path: one, name: "deleteToken", summary: "Revoke a token", permission: auth.ManageTokens,
			conflicts: true, handle: s.deleteToken},
	}
}

func (s TokenHandlers) listTokens(r *request) (reply, error) {
	tokens, err := s.Tokens.List(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(mapped(tokens, wireToken))
}

func (s TokenHandlers) createToken(r *request) (reply, error) {
	body, err := decode[api.CreateToken](r, "name", "role")
	if err != nil {
		return reply{}, err
	}
	wanted, err := tokenFrom(body)
	if err != nil {
		return reply{}, err
	}
	secret, token, err := s.Tokens.Create(r.Context(), wanted)
	if err != nil {
		return reply{}, err
	}
	return showCreated(api.NewToken{Token: wireToken(token), Secret: secret}, true,
		Prefix+"/tokens/"+url.PathEscape(token.Name))
}

// maxTokenTime is the longest life of a token that has an end.
const maxTokenTime = 10 * 365 * 24 * time.Hour

// tokenFrom is the token that a body asks for.
func tokenFrom(body api.CreateToken) (wanted fleet.Token, err error) {
	wanted.Name = *body.Name
	if wanted.Role, err = fleet.ParseRole(*body.Role); err != nil {
		return wanted, err
	}
	lifetime, err := seconds("expiresInS", body.ExpiresInS)
	if err != nil {
		return wanted, err
	}
	if lifetime > 0 {
		wanted.ExpiresAt = time.Now().Add(lifetime)
	}
	wanted.Scope, err = newScope(body.Tags)
	return wanted, err
}

// newScope is the scope of what is made: the whole fleet without tags.
func newScope(tags *[]string) (fleet.Scope, error) {
	if tags == nil {
		return fleet.Scope{}, nil
	}
	if len(*tags) == 0 { // what was meant to narrow a token must not widen it
		return fleet.NoDevices, fleet.Invalidf("tags",
			"a tag scope has at least one tag; leave tags out for the whole fleet")
	}
	return scopeOf(*tags)
}

func scopeOf(names []string) (fleet.Scope, error) {
	tags, err := each(names, "tags", fleet.ParseTag)
	if err != nil {
		return fleet.NoDevices, err
	}
	return fleet.ScopeOf(tags), nil
}

// seconds is a time that a body gives, 0 without one.
func seconds(field string, given *int64) (time.Duration, error) {
	if given == nil {
		return 0, nil
	}
	if *given < 1 || *given > int64(maxTokenTime/time.Second) {
		return 0, fleet.Invalidf(field, "%s is a number of seconds from 1 to %d", field, maxTokenTime/time.Second)
	}
	return time.Duration(*given) * time.Second, nil
}

func (s TokenHandlers) rotateToken(r *request) (reply, error) {
	body, err := decode[api.RotateToken](r)
	if err != nil {
		return reply{}, err
	}
	rotation := auth.Rotation{Overlap: auth.DefaultOverlap}
	if rotation.Lifetime, err = seconds("expiresInS", body.ExpiresInS); err != nil {
		return reply{}, err
	}
	if body.OverlapS != nil && *body.OverlapS == 0 {
		rotation.Overlap = 0
	} else if body.OverlapS != nil {
		if rotation.Overlap, err = seconds("overlapS", body.OverlapS); err != nil {
			return reply{}, err
		}
	}
	name := r.segment("name")
	secret, token, err := s.Tokens.Rotate(r.Context(), name, rotation)
	if err != nil {
		return reply{}, orNotFound(err, noToken(name))
	}
	return show(api.NewToken{Token: wireToken(token), Secret: secret})
}

func (s TokenHandlers) deleteToken(r *request) (reply, error) {
	name := r.segment("name")
	return nothing(orNotFound(s.Tokens.Delete(r.Context(), name), noToken(name)))
}

func noToken(name string) error {
	return notThere(fleet.SeeTokens, "GET "+Prefix+"/tokens lists all.", "there is no token %q", name)
}

func wireToken(token fleet.Token) api.Token {
	return api.Token{Name: token.Name, Role: string(token.Role), Owner: token.Owner, Tags: wireTags(token.Scope.Tags()),
		CreatedAt: api.Time{Time: token.CreatedAt}, IssuedAt: api.Time{Time: token.IssuedAt},
		ExpiresAt: moment(token.ExpiresAt), OldUntil: moment(token.OldUntil),
		LastUsedAt: moment(token.LastUse.At), LastUsedFrom: token.LastUse.From,
		Altered: token.Altered}
}

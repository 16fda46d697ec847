package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// Tokens issues and revokes tokens.
type Tokens interface {
	List(ctx context.Context) ([]fleet.Token, error)
	Create(ctx context.Context, name string, role fleet.Role) (secret string, token fleet.Token, err error)
	Delete(ctx context.Context, name string) error
}

func (s *server) tokenRoutes() []route {
	const all, one = Prefix + "/tokens", Prefix + "/tokens/{name}"
	return []route{
		{method: http.MethodGet, path: all, name: "listTokens", summary: "All tokens by name, without their secrets",
			permission: auth.ManageTokens,
			reply:      reflect.TypeFor[[]api.Token](), handle: s.listTokens},
		{method: http.MethodPost, path: all, name: "createToken",
			summary: "Create a token; the only reply that shows its secret", permission: auth.ManageTokens,
			body: reflect.TypeFor[api.CreateToken](), reply: reflect.TypeFor[api.NewToken](), creates: true, onlyCreates: true,
			volatile: true, conflicts: true, handle: s.createToken},
		{method: http.MethodDelete, path: one, name: "deleteToken", summary: "Revoke a token", permission: auth.ManageTokens,
			conflicts: true, handle: s.deleteToken},
	}
}

func (s *server) listTokens(r *request) (reply, error) {
	tokens, err := s.Tokens.List(r.Context())
	if err != nil {
		return reply{}, err
	}
	out := make([]api.Token, len(tokens))
	for i, token := range tokens {
		out[i] = wireToken(token)
	}
	return show(out)
}

func (s *server) createToken(r *request) (reply, error) {
	body, err := decode[api.CreateToken](r)
	if err != nil {
		return reply{}, err
	}
	if err := missing(map[string]bool{"name": body.Name == nil, "role": body.Role == nil}); err != nil {
		return reply{}, err
	}
	role, err := fleet.ParseRole(*body.Role)
	if err != nil {
		return reply{}, err
	}
	secret, token, err := s.Tokens.Create(r.Context(), *body.Name, role)
	if err != nil {
		return reply{}, err
	}
	return showCreated(api.NewToken{Token: wireToken(token), Secret: secret}, true,
		Prefix+"/tokens/"+url.PathEscape(token.Name))
}

func (s *server) deleteToken(r *request) (reply, error) {
	name := r.segment("name")
	return nothing(orNotFound(s.Tokens.Delete(r.Context(), name), &fleet.Error{
		Code: fleet.CodeNotFound, Message: fmt.Sprintf("there is no token %q", name), Hint: "GET " + Prefix +
			"/tokens lists all.",
	}))
}

func wireToken(token fleet.Token) api.Token {
	return api.Token{Name: token.Name, Role: string(token.Role), CreatedAt: api.Time{Time: token.CreatedAt}}
}

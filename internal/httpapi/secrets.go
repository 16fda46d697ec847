package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"reflect"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// Secrets keeps texts that templates can pass on and nobody can read.
type Secrets interface {
	// SecretNames are sorted.
	SecretNames(ctx context.Context) ([]string, error)
	PutSecret(ctx context.Context, name string, value fleet.Secret) (created bool, err error)
	DeleteSecret(ctx context.Context, name string) error
}

func (s *server) secretRoutes() []route {
	const all, one = Prefix + "/secrets", Prefix + "/secrets/{secret}"
	off := s.Secrets == nil
	return []route{
		{method: http.MethodGet, path: all, name: "listSecrets", summary: "The names of all secrets, sorted; values are shown nowhere", permission: auth.ListSecrets,
			reply: reflect.TypeFor[[]api.Secret](), off: off, handle: s.listSecrets},
		{method: http.MethodPut, path: one, name: "putSecret", summary: "Create or replace a secret", permission: auth.WriteSecrets,
			body: reflect.TypeFor[api.PutSecret](), reply: reflect.TypeFor[api.Secret](), creates: true, volatile: true, off: off, handle: s.putSecret},
		{method: http.MethodDelete, path: one, name: "deleteSecret", summary: "Forget a secret; templates that name it fail", permission: auth.WriteSecrets,
			off: off, handle: s.deleteSecret},
	}
}

func (s *server) listSecrets(r *request) (reply, error) {
	names, err := s.Secrets.SecretNames(r.Context())
	if err != nil {
		return reply{}, err
	}
	out := make([]api.Secret, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return show(out)
}

func (s *server) putSecret(r *request) (reply, error) {
	name := r.segment("secret")
	body, err := decode[api.PutSecret](r)
	if err != nil {
		return reply{}, err
	}
	if err := missing(map[string]bool{"value": body.Value == nil}); err != nil {
		return reply{}, err
	}
	created, err := s.Secrets.PutSecret(r.Context(), name, fleet.NewSecret(*body.Value))
	if err != nil {
		return reply{}, err
	}
	return showCreated(api.Secret{Name: name}, created, Prefix+"/secrets/"+url.PathEscape(name))
}

func (s *server) deleteSecret(r *request) (reply, error) {
	err := s.Secrets.DeleteSecret(r.Context(), r.segment("secret"))
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return reply{}, &fleet.Error{Code: fleet.CodeNotFound, Message: "there is no secret of that name", Hint: "GET " + Prefix + "/secrets lists all.", Err: err}
	}
	return nothing(err)
}

package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strconv"

	"muster/api"
	"muster/internal/core/stconfig"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Secrets keeps texts that templates can pass on and no user can read.
type Secrets interface {
	// Secrets are sorted by name, and without their values.
	Secrets(ctx context.Context) ([]fleet.StoredSecret, error)
	// PutSecret gives the secret without its value.
	PutSecret(ctx context.Context, put fleet.PutSecret) (secret fleet.StoredSecret, created bool, err error)
	DeleteSecret(ctx context.Context, name string) error
}

// SecretHandlers keep secrets.
type SecretHandlers struct {
	*base
	Secrets Secrets
}

func (s SecretHandlers) routes(b *base) []route {
	s.base = b
	const all, one = Prefix + "/secrets", Prefix + "/secrets/{secret}"
	off := s.Secrets == nil
	return []route{
		{method: http.MethodGet, path: all, name: "listSecrets",
			summary:    "All secrets by name, with the keys and tags that they are for; values are shown nowhere",
			permission: auth.ListSecrets,
			reply:      reflect.TypeFor[[]api.Secret](), off: off, handle: s.listSecrets},
		{method: http.MethodPut, path: one, name: "putSecret",
			summary: "Create a secret, or change its value or the keys and tags that it is for", permission: auth.WriteSecrets,
			body: reflect.TypeFor[api.PutSecret](), reply: reflect.TypeFor[api.Secret](), creates: true, volatile: true,
			off: off, handle: s.putSecret},
		{method: http.MethodDelete, path: one, name: "deleteSecret", summary: "Forget a secret; templates that name it fail",
			permission: auth.WriteSecrets,
			off:        off, handle: s.deleteSecret},
	}
}

func (s SecretHandlers) listSecrets(r *request) (reply, error) {
	secrets, err := s.Secrets.Secrets(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(mapped(secrets, wireSecret))
}

func wireSecret(secret fleet.StoredSecret) api.Secret {
	out := api.Secret{Name: secret.Name, Keys: secret.Scope.Keys, Tags: wireTags(secret.Scope.Tags),
		Altered: secret.Altered}
	if out.Keys == nil {
		out.Keys = []string{}
	}
	return out
}

func (s SecretHandlers) putSecret(r *request) (reply, error) {
	body, err := decode[api.PutSecret](r)
	if err != nil {
		return reply{}, err
	}
	put := fleet.PutSecret{Name: r.segment("secret")}
	switch {
	case body.Value == nil && body.Keys == nil && body.Tags == nil:
		return reply{}, missing(map[string]bool{"value": true})
	case body.Value != nil && *body.Value == "":
		return reply{}, fleet.Invalidf("value",
			"the value of a secret may not be empty: leave it out to keep the one that is there")
	case body.Value != nil:
		put.Value = fleet.NewSecret(*body.Value)
	}
	if put.Keys, err = secretKeys(body.Keys); err != nil {
		return reply{}, err
	}
	if put.Tags, err = secretTags(body.Tags); err != nil {
		return reply{}, err
	}
	secret, created, err := s.Secrets.PutSecret(r.Context(), put)
	if err != nil {
		return reply{}, err
	}
	return showCreated(wireSecret(secret), created, Prefix+"/secrets/"+url.PathEscape(put.Name))
}

// secretKeys are the keys that a secret is for: secret fields, in the daemon's spelling.
func secretKeys(texts []string) (*[]string, error) {
	if texts == nil {
		return nil, nil //nolint:nilnil // the list stays
	}
	keys := make([]string, 0, len(texts))
	for i, text := range texts {
		key, err := stconfig.ParseKey(text)
		if err != nil {
			return nil, inside("keys."+strconv.Itoa(i), err)
		}
		if !stconfig.SecretField(key) {
			return nil, fleet.Invalidf("keys."+strconv.Itoa(i),
				"%q is no secret field: those are gui.password, gui.apiKey and "+
					"folders.*.devices.*.encryptionPassword", text)
		}
		keys = append(keys, key.String())
	}
	return &keys, nil
}

func secretTags(names []string) (*[]fleet.Tag, error) {
	if names == nil {
		return nil, nil //nolint:nilnil // the list stays
	}
	tags := make([]fleet.Tag, 0, len(names))
	for i, name := range names {
		tag, err := fleet.ParseTag(name)
		if err != nil {
			return nil, inside("tags."+strconv.Itoa(i), err)
		}
		tags = append(tags, tag)
	}
	return &tags, nil
}

func (s SecretHandlers) deleteSecret(r *request) (reply, error) {
	return nothing(orNotFound(s.Secrets.DeleteSecret(r.Context(), r.segment("secret")),
		notThere(fleet.SeeSecrets, "GET "+Prefix+"/secrets lists all.", "there is no secret of that name")))
}

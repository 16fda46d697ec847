package httpapi

import (
	"muster/api"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

func wireKeys(keys []string) api.AuthorKeys {
	return api.AuthorKeys{AuthorKeys: append([]string{}, keys...)}
}

func shownKeys(keys *[]string) any { return wireKeys(*keys) }

func (s SettingHandlers) getAuthorKeys(r *request, registry *fleet.Registry) (reply, error) {
	return show(wireKeys(registry.AuthorKeys[""]))
}

func (s SettingHandlers) putAuthorKeys(r *request) (reply, error) {
	body, err := decode[api.PutAuthorKeys](r, "authorKeys")
	if err != nil {
		return reply{}, err
	}
	if err := checkAuthorKeys(body.AuthorKeys); err != nil {
		return reply{}, err
	}
	stored, err := s.Limits.PutAuthorKeys(r.Context(), "", body.AuthorKeys, condition(r, shownKeys))
	if err != nil {
		return reply{}, err
	}
	return show(wireKeys(stored))
}

// checkAuthorKeys refuses what is no key of a configuration.
func checkAuthorKeys(keys []string) error {
	if _, err := fleet.ParseAuthorKeys(keys); err != nil {
		return err
	}
	for _, text := range keys {
		if _, err := stconfig.ParseKey(text); err != nil {
			return fleet.Invalidf("authorKeys", "%q is no key: %s", text, fleet.Reason(err))
		}
	}
	return nil
}

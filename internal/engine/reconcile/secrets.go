package reconcile

import (
	"context"
	"fmt"

	"muster/internal/fleet"
)

// secretCache reads each secret at most once for one plan, or one question of a person.
type secretCache struct {
	get  func(name string) (fleet.StoredSecret, error)
	seen map[string]*fleet.StoredSecret // nil for a secret that does not exist
	err  error                          // error of the store; a secret that does not exist is no error
}

func (e *Engine) newSecrets(ctx context.Context) *secretCache {
	return &secretCache{seen: map[string]*fleet.StoredSecret{}, get: func(name string) (fleet.StoredSecret, error) {
		if e.o.Secrets == nil {
			return fleet.StoredSecret{}, fleet.NotFoundf("there are no secrets")
		}
		return e.o.Secrets.Secret(ctx, name)
	}}
}

// stored returns a secret; nil if it does not exist, and after an error of the store (see err).
func (s *secretCache) stored(name string) *fleet.StoredSecret {
	if known, ok := s.seen[name]; ok {
		return known
	}
	switch secret, err := s.get(name); {
	case fleet.CodeOf(err) == fleet.CodeNotFound:
		s.seen[name] = nil
	case err != nil:
		s.err = fmt.Errorf("read secret: %w", err)
	default:
		s.seen[name] = &secret
	}
	return s.seen[name]
}

func (s *secretCache) text(name string) (string, bool) {
	secret := s.stored(name)
	if secret == nil {
		return "", false
	}
	return secret.Value.Reveal(), true
}

func (s *secretCache) bytes(name string) int {
	text, _ := s.text(name)
	return len(text)
}

// scope returns where a secret may be used, and whether the secret exists. After an error of the store every secret
// counts as existing: that error ends the work anyway.
func (s *secretCache) scope(name string) (fleet.SecretScope, bool) {
	secret := s.stored(name)
	if secret == nil {
		return fleet.SecretScope{}, s.err != nil
	}
	return secret.Scope, true
}

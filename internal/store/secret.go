package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
)

const (
	maxSecretNameBytes = 128
	maxSecretBytes     = 64 << 10
)

const selectSecrets = `SELECT name, for_keys, for_tags FROM secrets`

// Secrets are all of them by name, without their values.
func (s *Store) Secrets(ctx context.Context) ([]fleet.StoredSecret, error) {
	secrets, err := collect(ctx, pool{s.reads}, scanSecret, selectSecrets)
	slices.SortFunc(secrets, func(a, b fleet.StoredSecret) int { return strings.Compare(a.Name, b.Name) })
	return secrets, failure("read secrets", err)
}

// Secret is one secret with its value.
func (s *Store) Secret(ctx context.Context, name string) (fleet.StoredSecret, error) {
	if !storable(name, maxSecretNameBytes) {
		return fleet.StoredSecret{}, noSecret(name)
	}
	var sealed []byte
	var keys, tags string
	err := s.reads.QueryRowContext(ctx, `SELECT value, for_keys, for_tags FROM secrets WHERE name = $1`, name).
		Scan(&sealed, &keys, &tags)
	if absent(err) {
		return fleet.StoredSecret{}, noSecret(name)
	}
	if err != nil {
		return fleet.StoredSecret{}, failure("read secret", err)
	}
	secret := fleet.StoredSecret{Name: name}
	if secret.Scope, err = readScope(keys, tags); err != nil {
		return secret, err
	}
	plain, err := s.seal.Open("secrets", name, "value", sealed)
	secret.Value = fleet.NewSecret(string(plain))
	return secret, err
}

func scanSecret(row scanner) (secret fleet.StoredSecret, err error) {
	var keys, tags string
	if err = row.Scan(&secret.Name, &keys, &tags); err != nil {
		return secret, err
	}
	secret.Scope, err = readScope(keys, tags)
	return secret, err
}

func readScope(keys, tags string) (scope fleet.SecretScope, err error) {
	if err = json.Unmarshal([]byte(keys), &scope.Keys); err == nil {
		err = json.Unmarshal([]byte(tags), &scope.Tags)
	}
	if err != nil {
		err = fmt.Errorf("read the lists of a secret: %w", err)
	}
	return scope, err
}

// PutSecret creates a secret, which needs a value, or changes one. It gives the secret without its value.
func (s *Store) PutSecret(ctx context.Context, put fleet.PutSecret) (secret fleet.StoredSecret, created bool,
	err error) {
	switch {
	case !storable(put.Name, maxSecretNameBytes) || put.Name == "":
		return secret, false, fleet.Invalidf("name", "the name of a secret is UTF-8 text of 1 to %d bytes",
			maxSecretNameBytes)
	case len(put.Value.Reveal()) > maxSecretBytes:
		return secret, false, invalidSecret()
	}
	secret, err = write(ctx, s, "put secret", func(t *tx) (fleet.StoredSecret, error) {
		secret, err := scanSecret(t.row(selectSecrets+` WHERE name = $1`, put.Name))
		created = absent(err)
		switch {
		case created && put.Value.IsZero():
			return secret, invalidSecret()
		case err != nil && !created:
			return secret, err
		}
		secret.Name = put.Name
		if put.Keys != nil {
			secret.Scope.Keys = sortedSet(*put.Keys)
		}
		if put.Tags != nil {
			secret.Scope.Tags = sortedSet(*put.Tags)
		}
		return secret, t.putSecret(secret, put.Value, created)
	})
	return secret, created, err
}

func invalidSecret() error {
	return fleet.Invalidf("value", "the value of a secret has 1 to %d bytes", maxSecretBytes)
}

func sortedSet[T cmp.Ordered](list []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// putSecret writes a secret; a value that is zero stays.
func (t *tx) putSecret(secret fleet.StoredSecret, value fleet.Secret, created bool) error {
	keys, tags := textOf(secret.Scope.Keys), textOf(secret.Scope.Tags)
	t.record("secret.put", secret.Name, "keys "+keys+", tags "+tags)
	t.effects.committed.Merge(fleet.Committed{Secrets: true})
	if created {
		if err := t.exec(`INSERT INTO secrets (name, value, created_at, updated_at) VALUES ($1, $2, $3, $3)`,
			secret.Name, []byte{}, millis(t.now)); err != nil {
			return err
		}
	}
	if !value.IsZero() {
		t.forget()
		sealed := t.store.seal.Seal("secrets", secret.Name, "value", []byte(value.Reveal()))
		if err := t.exec(`UPDATE secrets SET value = $2 WHERE name = $1`, secret.Name, sealed); err != nil {
			return err
		}
	}
	return t.exec(`UPDATE secrets SET for_keys = $2, for_tags = $3, updated_at = $4 WHERE name = $1`,
		secret.Name, keys, tags, millis(t.now))
}

// textOf is a list as a JSON array.
func textOf[T ~string](list []T) string {
	if list == nil {
		return "[]"
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // texts
	}
	return string(text)
}

// DeleteSecret forgets a secret.
func (s *Store) DeleteSecret(ctx context.Context, name string) error {
	if !storable(name, maxSecretNameBytes) {
		return noSecret(name)
	}
	_, err := write(ctx, s, "delete secret", func(t *tx) (none struct{}, err error) {
		n, err := t.affect(`DELETE FROM secrets WHERE name = $1`, name)
		if err == nil && n == 0 {
			err = noSecret(name)
		}
		t.forget()
		t.record("secret.delete", name, "")
		t.effects.committed.Merge(fleet.Committed{Secrets: true})
		return none, err
	})
	return err
}

func noSecret(name string) error { return fleet.NotFoundf("there is no secret %q", name) }

package store

import (
	"context"
	"slices"

	"muster/internal/fleet"
)

const (
	maxSecretNameBytes = 128
	maxSecretBytes     = 64 << 10
)

// SecretNames are the names of all secrets, sorted.
func (s *Store) SecretNames(ctx context.Context) ([]string, error) {
	names, err := collect(ctx, pool{s.reads}, func(row scanner) (name string, err error) {
		return name, row.Scan(&name)
	}, `SELECT name FROM secrets`)
	slices.Sort(names)
	return names, failure("read secrets", err)
}

// Secret is the value of one secret.
func (s *Store) Secret(ctx context.Context, name string) (fleet.Secret, error) {
	if !storable(name, maxSecretNameBytes) {
		return fleet.Secret{}, noSecret(name)
	}
	var sealed []byte
	err := s.reads.QueryRowContext(ctx, `SELECT value FROM secrets WHERE name = $1`, name).Scan(&sealed)
	if absent(err) {
		return fleet.Secret{}, noSecret(name)
	}
	if err != nil {
		return fleet.Secret{}, failure("read secret", err)
	}
	plain, err := s.seal.Open("secrets", name, "value", sealed)
	return fleet.NewSecret(string(plain)), err
}

// PutSecret creates or replaces a secret.
func (s *Store) PutSecret(ctx context.Context, name string, value fleet.Secret) (created bool, err error) {
	switch {
	case !storable(name, maxSecretNameBytes) || name == "":
		return false, fleet.Invalidf("name", "the name of a secret is UTF-8 text of 1 to %d bytes", maxSecretNameBytes)
	case value.IsZero() || len(value.Reveal()) > maxSecretBytes:
		return false, fleet.Invalidf("value", "the value of a secret has 1 to %d bytes", maxSecretBytes)
	}
	return write(ctx, s, "put secret", func(t *tx) (created bool, err error) {
		sealed := t.store.seal.Seal("secrets", name, "value", []byte(value.Reveal()))
		n, err := t.affect(`UPDATE secrets SET value = $2, updated_at = $3 WHERE name = $1`, name, sealed, millis(t.now))
		if err != nil {
			return false, err
		}
		t.record("secret.put", name, "")
		if n > 0 {
			return false, nil
		}
		return true, t.exec(`INSERT INTO secrets (name, value, created_at, updated_at) VALUES ($1, $2, $3, $3)`, name, sealed, millis(t.now))
	})
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
		t.record("secret.delete", name, "")
		return none, err
	})
	return err
}

func noSecret(name string) error { return fleet.NotFoundf("there is no secret %q", name) }

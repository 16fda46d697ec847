package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	maxSecretNameBytes = 128
	maxSecretBytes     = 64 << 10
)

const selectSecrets = `SELECT name, for_keys, for_tags, value FROM secrets`

// Secrets returns all secrets sorted by name, without their values. Secrets that Muster did not write have Altered
// set.
func (s *Store) Secrets(ctx context.Context) ([]fleet.StoredSecret, error) {
	kept, in, err := readWithRoster(ctx, s, secretRows, func() ([]secretRow, error) {
		return collect(ctx, pool{s.reads}, s.scanSecret, selectSecrets)
	})
	secrets := make([]fleet.StoredSecret, len(kept))
	for i, one := range kept {
		secrets[i] = fleet.StoredSecret{Name: one.Name, Scope: one.Scope, Altered: in[one.Name] != one.sum()}
	}
	slices.SortFunc(secrets, func(a, b fleet.StoredSecret) int { return strings.Compare(a.Name, b.Name) })
	return secrets, failure("read secrets", err)
}

// Secret returns one secret with its value. It returns a not-found error for an unknown name. It returns an invalid
// error for a secret that Muster did not write, because the row may name keys or tags that no administrator allowed.
func (s *Store) Secret(ctx context.Context, name string) (fleet.StoredSecret, error) {
	if !storable(name, maxSecretNameBytes) {
		return fleet.StoredSecret{}, noSecret(name)
	}
	found, in, err := readWithRoster(ctx, s, secretRows, func() ([]secretRow, error) {
		return collect(ctx, pool{s.reads}, s.scanSecret, selectSecrets+` WHERE name = $1`, name)
	})
	switch {
	case err != nil:
		return fleet.StoredSecret{}, failure("read secret", err)
	case len(found) == 0:
		return fleet.StoredSecret{}, noSecret(name)
	case in[name] != found[0].sum():
		return fleet.StoredSecret{}, alteredSecret(name)
	}
	return found[0].StoredSecret, nil
}

// alteredSecret returns the error for a secret that Muster did not write.
func alteredSecret(name string) error {
	return &fleet.Error{Code: fleet.CodeInvalid,
		Message: fmt.Sprintf("the secret %q was changed in the database: it is given out no more", name),
		Hint: "As an admin, delete it (`muster secret delete NAME`) and store it again (`muster secret put NAME`); " +
			"`muster audit verify` shows what else was changed."}
}

// secretRow is the row of a secret. Its value is zero if the seal does not open.
type secretRow struct {
	fleet.StoredSecret
	keys, tags string // the lists of keys and tags as JSON
}

// sum returns the row's digest for the roster. The digest covers the value, so a row with an earlier value does not
// fit the roster.
func (r secretRow) sum() string { return sumOf(secretRows, r.Name, r.keys, r.tags, r.Value.Reveal()) }

func (s *Store) scanSecret(row scanner) (r secretRow, err error) {
	var sealed []byte
	if err = row.Scan(&r.Name, &r.keys, &r.tags, &sealed); err != nil {
		return r, err
	}
	plain, sealErr := s.seal.Open("secrets", r.Name, "value", sealed)
	scope, scopeErr := readScope(r.keys, r.tags)
	r.Value, r.Scope = fleet.NewSecret(string(plain)), scope
	if err := errors.Join(sealErr, scopeErr); err != nil {
		s.log.Error("a secret in the database cannot be read", logkey.Err(err))
	}
	return r, nil
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

// PutSecret creates or changes a secret. Fields of put that are nil or zero leave the stored ones as they are, but a
// new secret needs a value. PutSecret returns the secret without its value; created reports whether it is new.
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
		is, err := t.secret(put.Name)
		created = absent(err)
		switch {
		case created && put.Value.IsZero():
			return is.StoredSecret, invalidSecret()
		case err != nil && !created:
			return is.StoredSecret, err
		}
		is.Name = put.Name
		if put.Keys != nil {
			is.Scope.Keys = sortedSet(*put.Keys)
		}
		if put.Tags != nil {
			is.Scope.Tags = sortedSet(*put.Tags)
		}
		if !put.Value.IsZero() {
			is.Value = put.Value
		}
		return fleet.StoredSecret{Name: is.Name, Scope: is.Scope}, t.putSecret(is, !put.Value.IsZero())
	})
	return secret, created, err
}

// secret reads a secret that is about to be changed. It returns sql.ErrNoRows for an unknown name, and a conflict
// error if Muster did not write the row.
func (t *tx) secret(name string) (secretRow, error) {
	is, err := t.store.scanSecret(t.row(selectSecrets+` WHERE name = $1`, name))
	if err != nil {
		return is, err
	}
	return is, t.asWritten(secretRows, name, is.sum())
}

func invalidSecret() error {
	return fleet.Invalidf("value", "the value of a secret has 1 to %d bytes", maxSecretBytes)
}

func sortedSet[T cmp.Ordered](list []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// putSecret writes a secret and its entry in the roster. otherValue is true if the secret got a value, which may
// replace an earlier one.
func (t *tx) putSecret(secret secretRow, otherValue bool) error {
	keys, tags := textOf(secret.Scope.Keys), textOf(secret.Scope.Tags)
	t.record("secret.put", secret.Name, "keys "+keys+", tags "+tags)
	t.effects.committed.Merge(fleet.Committed{Secrets: true})
	if otherValue {
		t.forget()
	}
	secret.keys, secret.tags = keys, tags
	if err := t.addToRoster(secretRows, secret.Name, secret.sum()); err != nil {
		return err
	}
	return t.exec(`INSERT INTO secrets (name, value, for_keys, for_tags, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, for_keys = excluded.for_keys,
			for_tags = excluded.for_tags, updated_at = excluded.updated_at`, secret.Name,
		t.store.seal.Seal("secrets", secret.Name, "value", []byte(secret.Value.Reveal())), keys, tags, millis(t.now))
}

// verifySecrets describes the secrets that Muster did not write, and the secrets that are missing.
func (s *Store) verifySecrets(ctx context.Context) ([]string, error) {
	return verifyRoster(ctx, s, rosterOf[secretRow]{secretRows, "secret", "it is given out no more",
		func() ([]secretRow, error) { return collect(ctx, pool{s.reads}, s.scanSecret, selectSecrets) },
		func(secret secretRow) (name, sum string) { return secret.Name, secret.sum() }})
}

// textOf returns a list as a JSON array.
func textOf[T ~string](list []T) string {
	if list == nil {
		return "[]"
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // impossible: a list of texts
	}
	return string(text)
}

// DeleteSecret deletes a secret. It returns a not-found error for an unknown name.
func (s *Store) DeleteSecret(ctx context.Context, name string) error {
	if !storable(name, maxSecretNameBytes) {
		return noSecret(name)
	}
	_, err := write(ctx, s, "delete secret", func(t *tx) (none struct{}, err error) {
		n, err := t.affect(`DELETE FROM secrets WHERE name = $1`, name)
		if err == nil && n == 0 {
			err = noSecret(name)
		}
		if err != nil {
			return none, err
		}
		t.forget()
		t.record("secret.delete", name, "")
		t.effects.committed.Merge(fleet.Committed{Secrets: true})
		return none, t.dropFromRoster(secretRows, name)
	})
	return err
}

func noSecret(name string) error { return fleet.NotFoundf("there is no secret %q", name) }

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

// Secrets are all of them by name, without their values. Those too that Muster did not write are among them.
func (s *Store) Secrets(ctx context.Context) ([]fleet.StoredSecret, error) {
	kept, in, err := enrolled(ctx, s, secretRows, func() ([]keptSecret, error) {
		return collect(ctx, pool{s.reads}, s.scanSecret, selectSecrets)
	})
	secrets := make([]fleet.StoredSecret, len(kept))
	for i, one := range kept {
		secrets[i] = fleet.StoredSecret{Name: one.Name, Scope: one.Scope, Altered: in[one.Name] != one.sum()}
	}
	slices.SortFunc(secrets, func(a, b fleet.StoredSecret) int { return strings.Compare(a.Name, b.Name) })
	return secrets, failure("read secrets", err)
}

// Secret is one secret with its value. One that Muster did not write is invalid: what its row says about where it may
// go is not known to be what an admin said.
func (s *Store) Secret(ctx context.Context, name string) (fleet.StoredSecret, error) {
	if !storable(name, maxSecretNameBytes) {
		return fleet.StoredSecret{}, noSecret(name)
	}
	found, in, err := enrolled(ctx, s, secretRows, func() ([]keptSecret, error) {
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

// alteredSecret answers for a secret that is not as Muster wrote it.
func alteredSecret(name string) error {
	return &fleet.Error{Code: fleet.CodeInvalid,
		Message: fmt.Sprintf("the secret %q was changed in the database: it is given out no more", name),
		Hint: "As an admin, delete it (`muster secret delete`) and store it again (`muster secret put`); " +
			"`muster audit verify` shows what else was changed."}
}

// keptSecret is a secret as its row says. Its value is zero where it does not open.
type keptSecret struct {
	fleet.StoredSecret
	keys, tags string // as the row has them
	readable   bool   // the value opens, and the lists can be read
}

// sum is of the value, too: a value of before, put back, is found.
func (k keptSecret) sum() string { return sumOf(secretRows, k.Name, k.keys, k.tags, k.Value.Reveal()) }

func (s *Store) scanSecret(row scanner) (k keptSecret, err error) {
	var sealed []byte
	if err = row.Scan(&k.Name, &k.keys, &k.tags, &sealed); err != nil {
		return k, err
	}
	plain, sealErr := s.seal.Open("secrets", k.Name, "value", sealed)
	scope, scopeErr := readScope(k.keys, k.tags)
	k.Value, k.Scope = fleet.NewSecret(string(plain)), scope
	if err := errors.Join(sealErr, scopeErr); err != nil {
		s.log.Error("a secret in the database cannot be read", logkey.Err(err))
		return k, nil
	}
	k.readable = true
	return k, nil
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
		return fleet.StoredSecret{Name: is.Name, Scope: is.Scope}, t.putSecret(is, !put.Value.IsZero(), created)
	})
	return secret, created, err
}

// secret is a secret for a write, as Muster wrote it. One that it did not write is a conflict.
func (t *tx) secret(name string) (keptSecret, error) {
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

// putSecret writes a secret, with its line in the roster.
func (t *tx) putSecret(secret keptSecret, sealAnew, created bool) error {
	keys, tags := textOf(secret.Scope.Keys), textOf(secret.Scope.Tags)
	t.record("secret.put", secret.Name, "keys "+keys+", tags "+tags)
	t.effects.committed.Merge(fleet.Committed{Secrets: true})
	if created {
		if err := t.exec(`INSERT INTO secrets (name, value, created_at, updated_at) VALUES ($1, $2, $3, $3)`,
			secret.Name, []byte{}, millis(t.now)); err != nil {
			return err
		}
	}
	if sealAnew {
		t.forget()
		sealed := t.store.seal.Seal("secrets", secret.Name, "value", []byte(secret.Value.Reveal()))
		if err := t.exec(`UPDATE secrets SET value = $2 WHERE name = $1`, secret.Name, sealed); err != nil {
			return err
		}
	}
	secret.keys, secret.tags = keys, tags
	if err := t.enroll(secretRows, secret.Name, secret.sum()); err != nil {
		return err
	}
	return t.exec(`UPDATE secrets SET for_keys = $2, for_tags = $3, updated_at = $4 WHERE name = $1`,
		secret.Name, keys, tags, millis(t.now))
}

// believeSecrets makes the roster of the secrets of a database of before they had one, as they are.
func (t *tx) believeSecrets() error {
	secrets, err := collect(t.ctx, t.session, t.store.scanSecret, selectSecrets)
	if err != nil {
		return err
	}
	rows := roster{}
	for _, secret := range secrets {
		if secret.readable {
			rows[secret.Name] = secret.sum()
		}
	}
	if len(rows) > 0 {
		t.record("secret.believe", "", fmt.Sprintf("the lists of %d secrets were there before and are believed", len(rows)))
	}
	ends, _, err := t.auditEnds()
	if err != nil {
		return err
	}
	return t.putRoster(secretRows, rows, ends)
}

// verifySecrets names the secrets that are not as Muster wrote them, and those that are missing.
func (s *Store) verifySecrets(ctx context.Context) ([]string, error) {
	return verifyRoster(ctx, s, rosterOf[keptSecret]{secretRows, "secret", "it is given out no more",
		func() ([]keptSecret, error) { return collect(ctx, pool{s.reads}, s.scanSecret, selectSecrets) },
		func(secret keptSecret) (name, sum string) { return secret.Name, secret.sum() }})
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
		if err != nil {
			return none, err
		}
		t.forget()
		t.record("secret.delete", name, "")
		t.effects.committed.Merge(fleet.Committed{Secrets: true})
		return none, t.strike(secretRows, name)
	})
	return err
}

func noSecret(name string) error { return fleet.NotFoundf("there is no secret %q", name) }

package store

import (
	"context"
	"database/sql"

	"muster/internal/fleet"
)

// Tokens are all of them.
func (s *Store) Tokens(ctx context.Context) ([]fleet.Token, error) {
	tokens, err := collect(ctx, pool{s.reads}, func(row scanner) (v fleet.Token, err error) {
		var created, used sql.NullInt64
		err = row.Scan(&v.Name, (*string)(&v.Role), &v.Hash, &created, &used)
		v.CreatedAt, v.LastUsedAt = fromMillis(created), fromMillis(used)
		return v, err
	}, `SELECT name, role, hash, created_at, last_used_at FROM tokens`)
	return tokens, failure("read tokens", err)
}

// CreateToken answers conflict for a name that is taken, and invalid for one that is none.
func (s *Store) CreateToken(ctx context.Context, token fleet.Token) error {
	if err := fleet.ValidateTokenName(token.Name); err != nil {
		return err
	}
	_, err := write(ctx, s, "create token", func(t *tx) (none struct{}, err error) {
		if token.CreatedAt.IsZero() {
			token.CreatedAt = t.now
		}
		t.record("token.create", token.Name, string(token.Role))
		return none, t.exec(`INSERT INTO tokens (name, role, hash, created_at, last_used_at) VALUES ($1, $2, $3, $4, $5)`,
			token.Name, string(token.Role), token.Hash, millis(token.CreatedAt), millis(token.LastUsedAt))
	})
	return err
}

// DeleteToken answers not_found for a name that nobody has.
func (s *Store) DeleteToken(ctx context.Context, name string) error {
	if !storable(name, fleet.MaxTokenNameBytes) {
		return noToken(name)
	}
	_, err := write(ctx, s, "delete token", func(t *tx) (none struct{}, err error) {
		n, err := t.affect(`DELETE FROM tokens WHERE name = $1`, name)
		if err == nil && n == 0 {
			err = noToken(name)
		}
		t.record("token.delete", name, "")
		return none, err
	})
	return err
}

func noToken(name string) error { return fleet.NotFoundf("there is no token %q", name) }

// TokenUsed notes that a token was used now. Of one that is gone it notes nothing. Call it now and then, not for every
// request.
func (s *Store) TokenUsed(ctx context.Context, name string) error {
	if !storable(name, fleet.MaxTokenNameBytes) {
		return nil
	}
	_, err := write(ctx, s, "note the use of a token", func(t *tx) (none struct{}, err error) {
		return none, t.exec(`UPDATE tokens SET last_used_at = $2 WHERE name = $1`, name, millis(t.now))
	})
	return err
}

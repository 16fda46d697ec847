package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

const tokenColumns = `name, role, tag_scope, hash, created_at, issued_at, expires_at, old_hash, old_until, last_used_at,
	last_used_from, owner, old_owner`

const selectTokens = `SELECT ` + tokenColumns + ` FROM tokens`

// Tokens returns all tokens. Altered is set in tokens that Muster did not write.
func (s *Store) Tokens(ctx context.Context) ([]fleet.Token, error) {
	tokens, in, err := readWithRoster(ctx, s, tokenRows, func() ([]fleet.Token, error) {
		return collect(ctx, pool{s.reads}, scanToken, selectTokens)
	})
	for i := range tokens {
		tokens[i].Altered = in[tokens[i].Name] != tokenSum(tokens[i])
	}
	return tokens, failure("read tokens", err)
}

func scanToken(row scanner) (v fleet.Token, err error) {
	var created, issued, expires, oldUntil, used sql.NullInt64
	var scope, oldHash sql.NullString
	if err := row.Scan(&v.Name, (*string)(&v.Role), &scope, &v.Hash, &created, &issued, &expires, &oldHash, &oldUntil,
		&used, &v.LastUse.From, &v.Owner, &v.OldOwner); err != nil {
		return v, err
	}
	v.CreatedAt, v.IssuedAt, v.ExpiresAt = fromMillis(created), fromMillis(issued), fromMillis(expires)
	v.OldHash, v.OldUntil, v.LastUse.At = oldHash.String, fromMillis(oldUntil), fromMillis(used)
	v.Scope = readTagScope(scope)
	return v, nil
}

// readTagScope reads a scope from its column. NULL is the whole fleet. A value that cannot be read becomes the scope
// without devices, never the whole fleet.
func readTagScope(text sql.NullString) fleet.Scope {
	if !text.Valid {
		return fleet.Scope{}
	}
	var tags []fleet.Tag
	if err := json.Unmarshal([]byte(text.String), &tags); err != nil || len(tags) == 0 {
		return fleet.NoDevices
	}
	return fleet.ScopeOf(tags)
}

// putScope returns a scope in the form in which its column stores it. It also protects the scope's tags: from now on
// only an admin may put them on devices, because doing so extends the scope's power to that device.
func (t *tx) putScope(scope fleet.Scope) (text any, err error) {
	for _, tag := range scope.Tags() {
		if err := t.protectTag(tag, true); err != nil {
			return nil, err
		}
	}
	return scopeText(scope)
}

func describeScope(scope fleet.Scope) string {
	if scope.Whole() {
		return ""
	}
	return ", only devices tagged " + scope.String()
}

func scopeText(scope fleet.Scope) (any, error) {
	if scope.Whole() {
		return nil, nil //nolint:nilnil // NULL is the whole fleet
	}
	text, err := json.Marshal(scope.Tags())
	return string(text), err
}

// CreateToken stores a new token. It returns a conflict error if a token or user has the name, and an invalid error if
// the text cannot be a name. The tags of the token's scope become protected (see putScope).
func (s *Store) CreateToken(ctx context.Context, token fleet.Token) error {
	if err := token.Validate(); err != nil {
		return err
	}
	_, err := write(ctx, s, "create token", func(t *tx) (none struct{}, err error) {
		if token.CreatedAt.IsZero() {
			token.CreatedAt = t.now
		}
		if token.IssuedAt.IsZero() {
			token.IssuedAt = token.CreatedAt
		}
		if err := t.nameFree(token.Name); err != nil {
			return none, err
		}
		t.record("token.create", token.Name, describeToken(token))
		scope, err := t.putScope(token.Scope)
		if err != nil {
			return none, err
		}
		if err := t.addToRoster(tokenRows, token.Name, tokenSum(token)); err != nil {
			return none, err
		}
		return none, t.exec(`INSERT INTO tokens (`+tokenColumns+
			`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			token.Name, string(token.Role), scope, token.Hash, millis(token.CreatedAt), millis(token.IssuedAt),
			millis(token.ExpiresAt), textOrNull(token.OldHash), millis(token.OldUntil), millis(token.LastUse.At),
			token.LastUse.From, token.Owner, token.OldOwner)
	})
	return err
}

// describeToken returns the audit's text about a token: its role, scope, expiry and owner.
func describeToken(token fleet.Token) string {
	text := string(token.Role) + describeScope(token.Scope)
	if !token.ExpiresAt.IsZero() {
		text += ", until " + token.ExpiresAt.UTC().Format(time.RFC3339)
	}
	if token.Owner != "" {
		text += ", owner " + token.Owner
	}
	return text
}

func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// RotateToken stores the hash of a token's new secret text, and when it expires. The old text is accepted until
// token.OldUntil. RotateToken returns a not-found error if the token was deleted or rotated meanwhile.
func (s *Store) RotateToken(ctx context.Context, token fleet.Token) error {
	if !storable(token.Name, fleet.MaxTokenNameBytes) {
		return noToken(token.Name)
	}
	_, err := write(ctx, s, "rotate token", func(t *tx) (none struct{}, err error) {
		is, err := t.tokenAsWritten(token.Name)
		if err != nil {
			return none, err
		}
		n, err := t.affect(`UPDATE tokens SET hash = $2, issued_at = $3, expires_at = $4, old_hash = $5, old_until = $6,
			owner = $7, old_owner = $8 WHERE name = $1 AND hash = $5`, token.Name, token.Hash, millis(token.IssuedAt),
			millis(token.ExpiresAt), token.OldHash, millis(token.OldUntil), token.Owner, token.OldOwner)
		if err == nil && n == 0 {
			err = noToken(token.Name)
		}
		if err != nil {
			return none, err
		}
		is.Hash, is.IssuedAt, is.ExpiresAt = token.Hash, token.IssuedAt, token.ExpiresAt
		is.OldHash, is.OldUntil = token.OldHash, token.OldUntil
		is.Owner, is.OldOwner = token.Owner, token.OldOwner
		t.record("token.rotate", token.Name, describeToken(is))
		return none, t.addToRoster(tokenRows, token.Name, tokenSum(is))
	})
	return err
}

// tokenAsWritten returns a token that is about to be changed. It returns a conflict error if Muster did not write the
// row.
func (t *tx) tokenAsWritten(name string) (fleet.Token, error) {
	token, err := scanToken(t.row(selectTokens+` WHERE name = $1`, name))
	if absent(err) {
		return token, noToken(name)
	}
	if err != nil {
		return token, err
	}
	return token, t.asWritten(tokenRows, name, tokenSum(token))
}

// DeleteToken deletes a token. It returns a not-found error for an unknown name.
func (s *Store) DeleteToken(ctx context.Context, name string) error {
	if !storable(name, fleet.MaxTokenNameBytes) {
		return noToken(name)
	}
	_, err := write(ctx, s, "delete token", func(t *tx) (none struct{}, err error) {
		n, err := t.affect(`DELETE FROM tokens WHERE name = $1`, name)
		if err == nil && n == 0 {
			err = noToken(name)
		}
		if err != nil {
			return none, err
		}
		t.record("token.delete", name, "")
		return none, t.dropFromRoster(tokenRows, name)
	})
	return err
}

func noToken(name string) error { return fleet.NotFoundf("there is no token %q", name) }

// TokensUsed stores the last use of tokens: when it was and from where. uses maps the name of a token to its use.
// TokensUsed skips deleted tokens, and uses that are older than the stored one.
func (s *Store) TokensUsed(ctx context.Context, uses map[string]fleet.TokenUse) error {
	_, err := write(ctx, s, "note the use of tokens", func(t *tx) (none struct{}, err error) {
		for _, name := range slices.Sorted(maps.Keys(uses)) {
			if !storable(name, fleet.MaxTokenNameBytes) {
				continue
			}
			use := uses[name]
			if err := t.exec(`UPDATE tokens SET last_used_at = $2, last_used_from = $3
				WHERE name = $1 AND created_at <= $2 AND (last_used_at IS NULL OR last_used_at < $2)`,
				name, millis(use.At), plainText(use.From)); err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"muster/internal/fleet"
)

// tokenPrefix makes a token recognisable, to people and to scanners for leaked secrets.
const tokenPrefix = "muster_"

// LooksLikeToken reports whether a text may be a token.
func LooksLikeToken(text string) bool {
	return strings.HasPrefix(text, tokenPrefix) && !strings.ContainsAny(text, " \n")
}

// TokenStore keeps tokens. CreateToken is conflict for a name that is taken. DeleteToken and RotateToken are
// not_found for a name that no token has.
type TokenStore interface {
	Tokens(ctx context.Context) ([]fleet.Token, error)
	CreateToken(ctx context.Context, token fleet.Token) error
	RotateToken(ctx context.Context, token fleet.Token) error
	DeleteToken(ctx context.Context, name string) error
	TokensUsed(ctx context.Context, uses map[string]fleet.TokenUse) error
}

// Tokens issues, revokes and recognises tokens. It has all of them in memory, so that recognising one costs a hash
// and a look-up, also while the store cannot be read. Every change of tokens goes through it.
type Tokens struct {
	store  TokenStore
	writes sync.Mutex // held during a change: two at once could delete the last two administrators' tokens

	mu      sync.Mutex
	byHash  map[string]fleet.Token    // guarded by mu, never changed in place; nil until the tokens were read
	fresh   bool                      // guarded by mu; byHash has the tokens of the store
	changes int                       // guarded by mu; how often fresh became false
	uses    map[string]fleet.TokenUse // guarded by mu; uses by name that the store does not know yet
}

// NewTokens makes a Tokens. It reads nothing yet.
func NewTokens(store TokenStore) *Tokens {
	return &Tokens{store: store, uses: map[string]fleet.TokenUse{}}
}

// List returns all tokens, by name. Their last uses may be a minute old.
func (t *Tokens) List(ctx context.Context) ([]fleet.Token, error) {
	tokens, err := t.store.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(tokens, func(a, b fleet.Token) int { return strings.Compare(a.Name, b.Name) })
	return tokens, nil
}

// Create makes a token with the name, role, scope and expiry of wanted. Its text, secret, is kept nowhere else.
func (t *Tokens) Create(ctx context.Context, wanted fleet.Token) (secret string, token fleet.Token, err error) {
	if err := wanted.Validate(); err != nil {
		return "", fleet.Token{}, err
	}
	secret = newSecret()
	t.writes.Lock()
	defer t.writes.Unlock()
	token = newToken(wanted.Name, wanted.Role, secret)
	token.Scope, token.ExpiresAt = wanted.Scope, wanted.ExpiresAt.UTC().Truncate(time.Millisecond)
	if err := t.store.CreateToken(ctx, token); err != nil {
		return "", fleet.Token{}, err
	}
	t.stale("")
	return secret, token, nil
}

// Delete revokes a token at once. It does not revoke the last unexpired token of an administrator, without which
// nobody could make another.
func (t *Tokens) Delete(ctx context.Context, name string) error {
	t.writes.Lock()
	defer t.writes.Unlock()
	tokens, err := t.store.Tokens(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	admins := slices.DeleteFunc(tokens, func(token fleet.Token) bool {
		return token.Role != fleet.RoleAdmin || token.Expired(now) || token.Altered
	})
	if len(admins) == 1 && admins[0].Name == name {
		return &fleet.Error{
			Code: fleet.CodeConflict, Message: "this is the last token of an administrator",
			Hint: "Create another one with the role admin first.",
		}
	}
	if err := t.store.DeleteToken(ctx, name); err != nil {
		t.stale("") // After an error the token may be deleted all the same.
		return err
	}
	t.stale(name)
	return nil
}

// stale has the tokens read again before the next use, if the store can be read. deleted is the name of a token that
// is surely deleted, or "".
func (t *Tokens) stale(deleted string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fresh = false
	t.changes++
	if t.byHash != nil && deleted != "" {
		t.byHash = maps.Clone(t.byHash)
		maps.DeleteFunc(t.byHash, func(_ string, token fleet.Token) bool { return token.Name == deleted })
	}
}

// replace has a rotated token recognised at once, even while the tokens cannot be read.
func (t *Tokens) replace(token fleet.Token) {
	t.stale(token.Name)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byHash != nil {
		t.byHash = maps.Clone(t.byHash)
		addToken(t.byHash, token)
	}
}

// addToken adds a token under its text, and under its text from before the last rotation.
func addToken(byHash map[string]fleet.Token, token fleet.Token) {
	byHash[token.Hash] = token
	if token.OldHash != "" {
		byHash[token.OldHash] = token
	}
}

// Principal returns the principal of a token. ok is false for a token that does not exist. It is unauthorized for a
// token that has expired or was rotated.
func (t *Tokens) Principal(ctx context.Context, secret string) (p Principal, ok bool, err error) {
	hash := hashOf(secret)
	byHash, err := t.all(ctx, hash)
	if err != nil {
		return Principal{}, false, err
	}
	// The look-up compares hashes of what was sent, so its time tells nothing about a token. The comparison in constant
	// time is for readers who do not want to rely on that.
	token, found := byHash[hash]
	present := subtle.ConstantTimeCompare([]byte(token.Hash), []byte(hash)) == 1
	before := subtle.ConstantTimeCompare([]byte(token.OldHash), []byte(hash)) == 1
	if !found || !present && !before {
		return Principal{}, false, nil
	}
	if token.Altered {
		return Principal{Name: token.Name}, false, altered()
	}
	if err := ended(token, before); err != nil {
		return Principal{}, false, err
	}
	return Principal{Name: token.Name, Role: token.Role, Scope: token.Scope, Credential: CredentialToken}, true, nil
}

// ended returns the error for a token that has expired or, where before is true, for a text from before the last
// rotation whose time is over.
func ended(token fleet.Token, before bool) error {
	now := time.Now()
	switch {
	case token.Expired(now):
		return &fleet.Error{Code: fleet.CodeUnauthorized,
			Message: "this token expired on " + token.ExpiresAt.Format(time.RFC3339),
			Hint:    "Ask an administrator to rotate it: `muster token rotate`."}
	case before && !now.Before(token.OldUntil):
		return &fleet.Error{Code: fleet.CodeUnauthorized,
			Message: "this token was rotated, and its text of before ended on " + token.OldUntil.Format(time.RFC3339),
			Hint:    "Use the text that the rotation printed. If it is lost, have the token rotated again."}
	}
	return nil
}

func altered() error {
	return &fleet.Error{Code: fleet.CodeUnauthorized, Err: ErrAltered,
		Message: "this token is not as Muster wrote it into its database, so it is refused",
		Hint:    "Have an administrator look at `muster audit verify`, revoke this token and make another one."}
}

// patience is how long a request with a known token waits for the tokens to be read.
const patience = 2 * time.Second

// all returns the tokens by hash, for a caller who looks for this hash. While the store cannot be read, or not in time,
// a token is still recognised that was known last: a person must be able to stop Muster because its database is away.
// About other tokens nothing is known then.
func (t *Tokens) all(ctx context.Context, hash string) (map[string]fleet.Token, error) {
	t.mu.Lock()
	known, fresh, at := t.byHash, t.fresh, t.changes
	t.mu.Unlock()
	if fresh {
		return known, nil
	}
	_, recognised := known[hash]
	if recognised {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	tokens, err := t.store.Tokens(ctx)
	switch {
	case err != nil && recognised:
		return known, nil
	case err != nil:
		return nil, err
	}
	byHash := make(map[string]fleet.Token, len(tokens))
	for _, token := range tokens {
		addToken(byHash, token)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changes == at {
		t.byHash, t.fresh = byHash, true
	}
	return byHash, nil
}

// newSecret returns the text for a new token, with twice 128 random bits.
func newSecret() string { return tokenPrefix + strings.ToLower(rand.Text()+rand.Text()) }

func wellFormed(secret string) bool {
	return strings.HasPrefix(secret, tokenPrefix) && len(secret) == len(tokenPrefix)+52
}

func newToken(name string, role fleet.Role, secret string) fleet.Token {
	now := time.Now().UTC().Truncate(time.Millisecond)
	return fleet.Token{Name: name, Role: role, Hash: hashOf(secret), CreatedAt: now, IssuedAt: now}
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

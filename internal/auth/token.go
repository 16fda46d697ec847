package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"muster/internal/fleet"
)

// tokenPrefix makes a token recognisable, to people and to scanners for leaked secrets.
const tokenPrefix = "muster_"

// TokenStore keeps tokens. CreateToken answers conflict for a name that is taken, DeleteToken not_found for one that
// is not.
type TokenStore interface {
	Tokens(ctx context.Context) ([]fleet.Token, error)
	CreateToken(ctx context.Context, token fleet.Token) error
	DeleteToken(ctx context.Context, name string) error
}

// Tokens issues, revokes and recognises tokens. It holds all of them in memory, so that recognising one costs a hash
// and a look-up, also while the store cannot be read; every change goes through it.
type Tokens struct {
	store  TokenStore
	writes sync.Mutex // one change at a time, or two could delete the last two administrators

	mu      sync.Mutex
	byHash  map[string]fleet.Token // guarded by mu, never changed; nil until read
	fresh   bool                   // guarded by mu; byHash is what the store has
	changes int                    // guarded by mu; how often it was not any more
}

// NewTokens reads nothing yet.
func NewTokens(store TokenStore) *Tokens { return &Tokens{store: store} }

// List is all tokens by name.
func (t *Tokens) List(ctx context.Context) ([]fleet.Token, error) {
	tokens, err := t.store.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(tokens, func(a, b fleet.Token) int { return strings.Compare(a.Name, b.Name) })
	return tokens, nil
}

// Create makes a token and is the only place where its text is ever seen.
func (t *Tokens) Create(ctx context.Context, name string, role fleet.Role) (secret string, token fleet.Token,
	err error) {
	if err := fleet.ValidateTokenName(name); err != nil {
		return "", fleet.Token{}, err
	}
	if _, err := fleet.ParseRole(string(role)); err != nil {
		return "", fleet.Token{}, err
	}
	secret = newSecret()
	t.writes.Lock()
	defer t.writes.Unlock()
	token = newToken(name, role, secret)
	switch err := t.store.CreateToken(ctx, token); {
	case fleet.CodeOf(err) == fleet.CodeConflict:
		return "", fleet.Token{}, &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("there is a token %q already", name),
			Hint:    "Choose another name, or revoke that one first.", Err: err}
	case err != nil:
		return "", fleet.Token{}, err
	}
	t.stale("")
	return secret, token, nil
}

// Delete revokes a token at once. The last one of an administrator stays: without it nobody could make another.
func (t *Tokens) Delete(ctx context.Context, name string) error {
	t.writes.Lock()
	defer t.writes.Unlock()
	tokens, err := t.store.Tokens(ctx)
	if err != nil {
		return err
	}
	admins := slices.DeleteFunc(tokens, func(token fleet.Token) bool { return token.Role != fleet.RoleAdmin })
	if len(admins) == 1 && admins[0].Name == name {
		return &fleet.Error{
			Code: fleet.CodeConflict, Message: "this is the last token of an administrator",
			Hint: "Create another one with the role admin first.",
		}
	}
	if err := t.store.DeleteToken(ctx, name); err != nil {
		t.stale("") // an error does not say that it is still there
		return err
	}
	t.stale(name)
	return nil
}

// stale has the tokens read again before they are used, if the store can be read. deleted is one that is gone for
// sure.
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

// Principal is whose token this is; ok is false for a token that nobody has.
func (t *Tokens) Principal(ctx context.Context, secret string) (p Principal, ok bool, err error) {
	hash := hashOf(secret)
	byHash, err := t.all(ctx, hash)
	if err != nil {
		return Principal{}, false, err
	}
	// The look-up compares hashes of what was sent: its time says nothing about a token. The comparison is for readers
	// who do not want to think about that.
	token, found := byHash[hash]
	if !found || subtle.ConstantTimeCompare([]byte(token.Hash), []byte(hash)) != 1 {
		return Principal{}, false, nil
	}
	return Principal{Name: token.Name, Role: token.Role}, true, nil
}

// patience is how long somebody with a known token waits for the tokens to be read.
const patience = 2 * time.Second

// all are the tokens by hash, among which one is looked for. While they cannot be read, or not in time, one that was
// known last is known: who stops Muster because its database is away must not be kept from it. Of another nobody can
// say.
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
		byHash[token.Hash] = token
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.changes == at {
		t.byHash, t.fresh = byHash, true
	}
	return byHash, nil
}

// newSecret is two texts of at least 128 random bits each.
func newSecret() string { return tokenPrefix + strings.ToLower(rand.Text()+rand.Text()) }

func wellFormed(secret string) bool {
	return strings.HasPrefix(secret, tokenPrefix) && len(secret) == len(tokenPrefix)+52
}

func newToken(name string, role fleet.Role, secret string) fleet.Token {
	return fleet.Token{Name: name, Role: role, Hash: hashOf(secret),
		CreatedAt: time.Now().UTC().Truncate(time.Millisecond)}
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

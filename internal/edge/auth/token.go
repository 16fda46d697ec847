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

// tokenPrefix begins every token, so that people and scanners for leaked secrets recognise one.
const tokenPrefix = "muster_"

// LooksLikeToken reports whether a text may be a token.
func LooksLikeToken(text string) bool {
	return strings.HasPrefix(text, tokenPrefix) && !strings.ContainsAny(text, " \n")
}

// TokenStore stores tokens. CreateToken returns a conflict error for a name that is taken. DeleteToken and
// RotateToken return a not-found error for an unknown name.
type TokenStore interface {
	Tokens(ctx context.Context) ([]fleet.Token, error)
	CreateToken(ctx context.Context, token fleet.Token) error
	RotateToken(ctx context.Context, token fleet.Token) error
	DeleteToken(ctx context.Context, name string) error
	TokensUsed(ctx context.Context, uses map[string]fleet.TokenUse) error
}

// Tokens creates, revokes and recognises tokens. It has all tokens in memory, so recognising one costs only a hash and
// a look-up, and works while the store cannot be read. Every change of tokens goes through Tokens.
type Tokens struct {
	store  TokenStore
	writes sync.Mutex // held during a change: two changes at once could delete the last two administrators' tokens

	mu      sync.Mutex
	byHash  map[string]fleet.Token    // guarded by mu, never changed in place; nil until the tokens were read
	fresh   bool                      // guarded by mu; byHash is up to date
	changes int                       // guarded by mu; number of calls of stale
	uses    map[string]fleet.TokenUse // guarded by mu; by name, uses that are not stored yet
}

// NewTokens returns a Tokens. It reads nothing from the store.
func NewTokens(store TokenStore) *Tokens {
	return &Tokens{store: store, uses: map[string]fleet.TokenUse{}}
}

// List returns all tokens, sorted by name. Their last uses may be a minute old.
func (t *Tokens) List(ctx context.Context) ([]fleet.Token, error) {
	tokens, err := t.store.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(tokens, func(a, b fleet.Token) int { return strings.Compare(a.Name, b.Name) })
	return tokens, nil
}

// Create creates a token with the name, role, scope and expiry of wanted. secret is the token's text; the store has
// only its hash. The user who asks for the token owns it.
func (t *Tokens) Create(ctx context.Context, wanted fleet.Token) (secret string, token fleet.Token, err error) {
	if err := wanted.Validate(); err != nil {
		return "", fleet.Token{}, err
	}
	secret = newSecret()
	t.writes.Lock()
	defer t.writes.Unlock()
	token = newToken(wanted.Name, wanted.Role, secret)
	token.Scope, token.ExpiresAt = wanted.Scope, wanted.ExpiresAt.UTC().Truncate(time.Millisecond)
	token.Owner = fleet.PersonOf(ctx)
	if err := t.store.CreateToken(ctx, token); err != nil {
		return "", fleet.Token{}, err
	}
	t.stale("")
	return secret, token, nil
}

// Delete revokes a token at once. It refuses to revoke the last unexpired token of an administrator, without which
// nobody could create another.
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

// stale makes the next use read the tokens again, if the store can be read. It removes the token with the name deleted
// from memory at once, unless deleted is "".
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

// replace puts a rotated token into memory at once, so that its new text is recognised even if the store cannot be
// read.
func (t *Tokens) replace(token fleet.Token) {
	t.stale(token.Name)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byHash != nil {
		t.byHash = maps.Clone(t.byHash)
		addToken(t.byHash, token)
	}
}

// addToken adds a token under the hash of its text and, if the token was rotated, under the hash of the text before.
func addToken(byHash map[string]fleet.Token, token fleet.Token) {
	byHash[token.Hash] = token
	if token.OldHash != "" {
		byHash[token.OldHash] = token
	}
}

// Principal returns the principal of a token. ok is false if there is no such token. It returns an unauthorized error
// for a token that has expired, for an old text whose overlap is over, and for an altered token (see ErrAltered).
func (t *Tokens) Principal(ctx context.Context, secret string) (p Principal, ok bool, err error) {
	hash := hashOf(secret)
	byHash, err := t.all(ctx, hash)
	if err != nil {
		return Principal{}, false, err
	}
	// The look-up compares hashes, so the time that it takes reveals nothing about tokens. The comparison in constant
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
	owner := token.Owner
	if before {
		owner = token.OldOwner
	}
	return Principal{Name: token.Name, Person: owner, Role: token.Role, Scope: token.Scope,
		Credential: CredentialToken}, true, nil
}

// ended returns the error for a token that has expired, else nil. If before is true, the request has the text from
// before the last rotation; ended then also returns an error if the overlap is over.
func ended(token fleet.Token, before bool) error {
	now := time.Now()
	switch {
	case token.Expired(now):
		return &fleet.Error{Code: fleet.CodeUnauthorized,
			Message: "this token expired on " + token.ExpiresAt.Format(time.RFC3339),
			Hint:    "Ask an administrator to rotate it: `muster token rotate NAME`."}
	case before && !now.Before(token.OldUntil):
		return &fleet.Error{Code: fleet.CodeUnauthorized,
			Message: "this token was rotated, and its text of before ended on " + token.OldUntil.Format(time.RFC3339),
			Hint:    "Use the text that the rotation printed. If it is lost, have the token rotated again."}
	}
	return nil
}

func altered() error {
	return &fleet.Error{
		Code:    fleet.CodeUnauthorized,
		Err:     ErrAltered,
		Message: "this token is not as Muster wrote it into its database, so it is refused",
		Hint: "Have an administrator look at `muster audit verify`, revoke this token and make another one. If all " +
			"tokens are refused, stop the server and type `muster admin reset` on its machine.",
	}
}

// patience is how long a request with a known token or session waits for the store.
const patience = 2 * time.Second

// all returns all tokens, by hash. hash is the one that the caller looks for. If the store cannot be read in time and
// memory has a token with this hash, all returns the tokens in memory: a person must be able to stop Muster while its
// database is away. Otherwise it returns the store's error.
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

// newSecret returns the text of a new token, with 256 random bits.
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

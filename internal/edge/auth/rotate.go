package auth

import (
	"context"
	"fmt"
	"slices"
	"time"

	"muster/internal/fleet"
)

const (
	// DefaultOverlap is how long the old text of a token is accepted after a rotation, unless the person asks for
	// another time.
	DefaultOverlap = 24 * time.Hour
	// MaxOverlap is the longest overlap that a person can ask for.
	MaxOverlap = 30 * 24 * time.Hour
)

// Rotation configures the rotation of a token: the token gets a new text.
type Rotation struct {
	Overlap  time.Duration // how long the old text is still accepted
	Lifetime time.Duration // how long the new text is valid; 0: as long as the old text was
}

// Rotate gives a token a new text. The present text is still accepted for r.Overlap, but not longer than it would have
// been valid anyway. A text from before an earlier rotation becomes invalid at once. The user who asks for the new text
// owns the token from then on; the present text stays that of the present owner.
func (t *Tokens) Rotate(ctx context.Context, name string, r Rotation) (secret string, token fleet.Token, err error) {
	if r.Overlap < 0 || r.Overlap > MaxOverlap {
		return "", fleet.Token{}, fleet.Invalidf("overlapS", "the overlap is at most %d days", MaxOverlap/(24*time.Hour))
	}
	if r.Lifetime < 0 {
		return "", fleet.Token{}, fleet.Invalidf("expiresInS", "a token expires in the future")
	}
	t.writes.Lock()
	defer t.writes.Unlock()
	tokens, err := t.store.Tokens(ctx)
	if err != nil {
		return "", fleet.Token{}, err
	}
	i := slices.IndexFunc(tokens, func(token fleet.Token) bool { return token.Name == name })
	if i < 0 {
		return "", fleet.Token{}, fleet.NotFoundf("there is no token %q", name)
	}
	secret = newSecret()
	token = rotated(tokens[i], r, hashOf(secret), time.Now().UTC().Truncate(time.Millisecond))
	token.Owner, token.OldOwner = fleet.PersonOf(ctx), tokens[i].Owner
	if err := t.store.RotateToken(ctx, token); err != nil {
		t.stale("")
		return "", fleet.Token{}, fmt.Errorf("rotate token: %w", err)
	}
	t.replace(token)
	return secret, token, nil
}

func rotated(token fleet.Token, r Rotation, hash string, now time.Time) fleet.Token {
	ends := token.ExpiresAt
	if r.Lifetime == 0 && !ends.IsZero() {
		r.Lifetime = ends.Sub(token.IssuedAt)
	}
	token.OldHash, token.OldUntil = token.Hash, now.Add(r.Overlap)
	if !ends.IsZero() && ends.Before(token.OldUntil) {
		token.OldUntil = ends
	}
	token.Hash, token.IssuedAt, token.ExpiresAt = hash, now, time.Time{}
	if r.Lifetime > 0 {
		token.ExpiresAt = now.Add(r.Lifetime)
	}
	return token
}

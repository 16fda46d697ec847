package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/secure/precis"

	"muster/internal/fleet"
)

const (
	minPasswordRunes = 12
	maxPasswordBytes = 1024

	saltBytes = 16
	hashBytes = 32

	hashWaiters = 16               // the most log-ins that wait for a hash; further ones are refused
	hashWait    = 10 * time.Second // how long a log-in waits at most
)

// PasswordCost is the cost of computing one argon2id hash.
type PasswordCost struct {
	MemoryKiB uint32
	Passes    uint32
	Lanes     uint8
}

// DefaultPasswordCost is the second recommended option of RFC 9106, for machines with little memory.
var DefaultPasswordCost = PasswordCost{MemoryKiB: 64 << 10, Passes: 3, Lanes: 4}

// maxPasswordCost limits the cost that a stored hash may name: somebody may have edited the database to exhaust the
// server.
var maxPasswordCost = PasswordCost{MemoryKiB: 256 << 10, Passes: 16, Lanes: 16}

func (c PasswordCost) within(limit PasswordCost) bool {
	return c.MemoryKiB <= limit.MemoryKiB && c.Passes <= limit.Passes && c.Lanes <= limit.Lanes && c.Passes > 0 &&
		c.Lanes > 0
}

// passwords hashes and compares passwords. It computes at most two hashes at a time, on at most half of the
// processors, because each takes much memory and time on purpose.
type passwords struct {
	cost    PasswordCost
	slots   chan struct{} // holds a token for each hash that is being made
	waiters chan struct{} // holds a token for each hash that waits to be made
	made    atomic.Int64  // hashes that were made since the start
}

func newPasswords(cost PasswordCost) *passwords {
	if cost == (PasswordCost{}) {
		cost = DefaultPasswordCost
	}
	return &passwords{cost: cost, slots: make(chan struct{}, min(2, max(1, runtime.NumCPU()/2))),
		waiters: make(chan struct{}, hashWaiters)}
}

// hash returns the hash of a password in PHC form: $argon2id$v=19$m=65536,t=3,p=4$SALT$HASH.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	h := phc{cost: p.cost, salt: make([]byte, saltBytes)}
	_, _ = rand.Read(h.salt) // never fails
	var err error
	h.sum, err = p.sum(ctx, password, h)
	return h.String(), err
}

// compare reports whether a password matches a hash in PHC form. outdated reports whether the hash has another cost,
// or a salt of another length, than new hashes get. If hash is "", no password matches; compare then takes as long as
// otherwise, so that the time does not reveal which users exist.
func (p *passwords) compare(ctx context.Context, password, hash string) (matches, outdated bool, err error) {
	h := phc{cost: p.cost, salt: make([]byte, saltBytes)}
	if hash != "" {
		if h, err = parsePHC(hash); err != nil {
			return false, false, err
		}
	}
	sum, err := p.sum(ctx, password, h)
	if err != nil {
		return false, false, err
	}
	matches = subtle.ConstantTimeCompare(sum, h.sum) == 1 && hash != ""
	return matches, h.cost != p.cost || len(h.salt) != saltBytes, nil
}

func (p *passwords) sum(ctx context.Context, password string, h phc) ([]byte, error) {
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	defer func() { <-p.slots }()
	p.made.Add(1)
	length := uint32(hashBytes)
	if len(h.sum) > 0 {
		length = uint32(len(h.sum))
	}
	return argon2.IDKey([]byte(normal(password)), h.salt, h.cost.Passes, h.cost.MemoryKiB, h.cost.Lanes, length), nil
}

// enter waits for one of the slots for computing a hash. The caller frees the slot.
func (p *passwords) enter(ctx context.Context) error {
	busy := &fleet.Error{Code: fleet.CodeTooMany, Message: "too many people log in at the same time",
		Hint: "Wait a few seconds, then try again."}
	select {
	case p.waiters <- struct{}{}:
	default:
		return busy
	}
	defer func() { <-p.waiters }()
	ctx, cancel := context.WithTimeoutCause(ctx, hashWait, busy)
	defer cancel()
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// normal returns the same text for all ways of encoding the same password in Unicode. A password that has no normal
// form is returned unchanged.
func normal(password string) string {
	if text, err := precis.OpaqueString.String(password); err == nil {
		return text
	}
	return password
}

// validatePassword checks a new password of a user.
func validatePassword(user, password string) error {
	switch {
	case len(password) > maxPasswordBytes:
		return fleet.Invalidf("password", "a password has at most %d bytes", maxPasswordBytes)
	case !utf8.ValidString(password):
		return fleet.Invalidf("password", "a password is UTF-8 text")
	case utf8.RuneCountInString(password) < minPasswordRunes:
		return fleet.Invalidf("password", "a password has at least %d characters: a few words do well", minPasswordRunes)
	case strings.EqualFold(password, user), strings.Count(password, password[:1]) == len(password):
		return fleet.Invalidf("password", "this password is too easy to guess: a few words do well")
	}
	if _, err := precis.OpaqueString.String(password); err != nil {
		return fleet.Invalidf("password", "a password has no control characters")
	}
	return nil
}

// phc is a stored hash with its cost and salt.
type phc struct {
	cost      PasswordCost
	salt, sum []byte
}

func (h phc) String() string {
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.cost.MemoryKiB, h.cost.Passes,
		h.cost.Lanes, text(h.salt), text(h.sum))
}

// parsePHC parses a stored hash. Its error has no code and so counts as internal, because no request can cause it.
func parsePHC(text string) (h phc, err error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprint("v=", argon2.Version) {
		return h, errors.New("a stored password hash is not argon2id in PHC form")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.cost.MemoryKiB, &h.cost.Passes, &h.cost.Lanes); err != nil {
		return h, fmt.Errorf("read the cost of a stored password hash: %w", err)
	}
	if !h.cost.within(maxPasswordCost) {
		return h, errors.New("a stored password hash costs more than any that Muster makes")
	}
	if h.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return h, fmt.Errorf("read the salt of a stored password hash: %w", err)
	}
	if h.sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(h.sum) < 16 || len(h.sum) > 64 {
		return h, errors.New("a stored password hash has no hash")
	}
	return h, nil
}

package enrollment

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// CreateKey makes an enrol key with the tags, uses and end of wanted. Its text is kept nowhere else.
func (e *Enrollments) CreateKey(ctx context.Context, wanted fleet.EnrollKey) (text string, key fleet.EnrollKey,
	err error) {
	text = fleet.EnrollKeyPrefix + strings.ToLower(rand.Text()+rand.Text())
	id, _ := fleet.EnrollKeyID(text)
	key = fleet.EnrollKey{ID: id, Hash: fleet.EnrollKeyHash(text), Uses: wanted.Uses,
		Tags:      slices.Compact(slices.Sorted(slices.Values(wanted.Tags))),
		CreatedBy: fleet.ActorOf(ctx), CreatedAt: e.now(), ExpiresAt: wanted.ExpiresAt.UTC().Truncate(time.Millisecond)}
	if err := key.Validate(e.o.Now()); err != nil {
		return "", key, err
	}
	if err := e.o.Policy().Check(key); err != nil {
		return "", key, err
	}
	defer e.forgetKeys()
	if err := e.o.Store.CreateEnrollKey(ctx, key); err != nil {
		return "", key, err
	}
	return text, key, nil
}

// Keys returns all enrol keys, without their texts, as the policy limits them.
func (e *Enrollments) Keys(ctx context.Context) ([]fleet.EnrollKey, error) {
	keys, err := e.o.Store.EnrollKeys(ctx)
	policy := e.o.Policy()
	limited := make([]fleet.EnrollKey, len(keys))
	for i, key := range keys {
		limited[i] = policy.Limited(key)
	}
	return limited, err
}

// RevokeKey revokes an enrol key at once.
func (e *Enrollments) RevokeKey(ctx context.Context, id string) error {
	defer e.forgetKeys()
	return e.o.Store.DeleteEnrollKey(ctx, id)
}

// keysKnownFor is how long keys that were read are used to recognise a key, so that guesses do not each cost a query.
// The transaction that registers a device reads its key anew.
const keysKnownFor = time.Second

// knownKeys are the enrol keys as they were read at one moment.
type knownKeys struct {
	keys    []fleet.EnrollKey
	at      time.Time
	changes int // how often the keys were forgotten
}

func (e *Enrollments) forgetKeys() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keys = knownKeys{changes: e.keys.changes + 1}
}

func (e *Enrollments) recentKeys(ctx context.Context) ([]fleet.EnrollKey, error) {
	now := e.o.Now()
	e.mu.Lock()
	known := e.keys
	e.mu.Unlock()
	if age := now.Sub(known.at); age >= 0 && age < keysKnownFor {
		return known.keys, nil
	}
	keys, err := e.o.Store.EnrollKeys(ctx)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.keys.changes == known.changes {
		e.keys.keys, e.keys.at = keys, now
	}
	return keys, nil
}

// Recognise returns the enrol key with this text, if it can register a further device. It does not count a use; the
// registration does.
func (e *Enrollments) Recognise(ctx context.Context, text string) (fleet.EnrollKey, error) {
	id, ok := fleet.EnrollKeyID(text)
	if !ok {
		return fleet.EnrollKey{}, fleet.UnknownEnrollKey()
	}
	keys, err := e.recentKeys(ctx)
	if err != nil {
		return fleet.EnrollKey{}, err
	}
	i := slices.IndexFunc(keys, func(key fleet.EnrollKey) bool { return key.ID == id })
	if i < 0 || subtle.ConstantTimeCompare([]byte(keys[i].Hash), []byte(fleet.EnrollKeyHash(text))) != 1 {
		return fleet.EnrollKey{}, fleet.UnknownEnrollKey()
	}
	policy := e.o.Policy()
	key := policy.Limited(keys[i])
	if err := key.Usable(e.o.Now()); err != nil {
		return key, err
	}
	return key, policy.Admits(key)
}

// tagsOfKey returns the tags that an enrol key gives to the devices that it registers.
func (e *Enrollments) tagsOfKey(ctx context.Context, hash string) ([]fleet.Tag, error) {
	keys, err := e.recentKeys(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(keys, func(key fleet.EnrollKey) bool { return key.Hash == hash })
	if i < 0 {
		return nil, fleet.UnknownEnrollKey()
	}
	return keys[i].Tags, nil
}

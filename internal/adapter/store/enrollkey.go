package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"muster/internal/fleet"
)

const (
	maxEnrollKeys = 1000
	// enrollKeyKept is how long an enrol key is listed after it has expired.
	enrollKeyKept = 30 * 24 * time.Hour
)

const (
	enrollKeyColumns = `id, hash, tags, uses, used, created_by, created_at, expires_at, last_used_at`
	selectEnrollKeys = `SELECT ` + enrollKeyColumns + ` FROM enroll_keys`
)

// enrollKeySum returns the digest of everything that an enrol key allows, and of how often it was used. So the key
// becomes invalid if somebody lowers the count in the database.
func enrollKeySum(key fleet.EnrollKey) string {
	return sumOf(enrollKeyRows, key.ID, key.Hash, textOf(key.Tags), strconv.Itoa(key.Uses), strconv.Itoa(key.Used),
		unixMilli(key.CreatedAt), unixMilli(key.ExpiresAt))
}

func scanEnrollKey(row scanner) (key fleet.EnrollKey, err error) {
	var tags string
	var created, expires, used sql.NullInt64
	err = row.Scan(&key.ID, &key.Hash, &tags, &key.Uses, &key.Used, &key.CreatedBy, &created, &expires, &used)
	if err == nil && json.Unmarshal([]byte(tags), &key.Tags) != nil {
		key.Tags = []fleet.Tag{fleet.Tag(tags)} // The sum then differs, so the key is refused.
	}
	key.CreatedAt, key.ExpiresAt, key.LastUsedAt = fromMillis(created), fromMillis(expires), fromMillis(used)
	return key, err
}

// EnrollKeys returns all enrol keys in the order of creation. Keys that Muster did not write are among them, with
// Altered set.
func (s *Store) EnrollKeys(ctx context.Context) ([]fleet.EnrollKey, error) {
	keys, in, err := readWithRoster(ctx, s, enrollKeyRows, func() ([]fleet.EnrollKey, error) {
		return collect(ctx, pool{s.reads}, scanEnrollKey, selectEnrollKeys+` ORDER BY created_at, id`)
	})
	for i := range keys {
		keys[i].Altered = in[keys[i].ID] != enrollKeySum(keys[i])
	}
	return keys, failure("read enrol keys", err)
}

// CreateEnrollKey stores a new enrol key. It also deletes keys that expired more than enrollKeyKept ago.
func (s *Store) CreateEnrollKey(ctx context.Context, key fleet.EnrollKey) error {
	_, err := write(ctx, s, "create enrol key", func(t *tx) (none struct{}, err error) {
		if err := key.Validate(t.now); err != nil {
			return none, err
		}
		if err := t.forgetOldEnrollKeys(); err != nil {
			return none, err
		}
		var keys int
		if err := t.row(`SELECT COUNT(*) FROM enroll_keys`).Scan(&keys); err != nil {
			return none, err
		}
		if keys >= maxEnrollKeys {
			return none, &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("there are %d enrol keys", keys),
				Hint: "Revoke those that are not needed: `muster enroll-key list`, `muster enroll-key revoke KEY`."}
		}
		t.record("enroll-key.create", key.ID, describeEnrollKey(key))
		if err := t.addToRoster(enrollKeyRows, key.ID, enrollKeySum(key)); err != nil {
			return none, err
		}
		return none, t.exec(`INSERT INTO enroll_keys (`+enrollKeyColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			key.ID, key.Hash, textOf(key.Tags), key.Uses, key.Used, plainText(key.CreatedBy), millis(key.CreatedAt),
			millis(key.ExpiresAt), millis(key.LastUsedAt))
	})
	return err
}

// describeEnrollKey describes an enrol key for the audit.
func describeEnrollKey(key fleet.EnrollKey) string {
	return fmt.Sprintf("for %d devices, tags %s, until %s", key.Uses, textOf(key.Tags),
		key.ExpiresAt.UTC().Format(time.RFC3339))
}

func (t *tx) forgetOldEnrollKeys() error {
	old, err := collect(t.ctx, t.session, func(row scanner) (id string, err error) {
		return id, row.Scan(&id)
	}, `SELECT id FROM enroll_keys WHERE expires_at < $1`, millis(t.now.Add(-enrollKeyKept)))
	if err != nil || len(old) == 0 {
		return err
	}
	for _, id := range old {
		if err := t.exec(`DELETE FROM enroll_keys WHERE id = $1`, id); err != nil {
			return err
		}
	}
	return t.changeRoster(enrollKeyRows, func(r roster) {
		for _, id := range old {
			delete(r, id)
		}
	})
}

// DeleteEnrollKey revokes an enrol key. It returns a not-found error for an unknown ID.
func (s *Store) DeleteEnrollKey(ctx context.Context, id string) error {
	_, err := write(ctx, s, "delete enrol key", func(t *tx) (none struct{}, err error) {
		if !storable(id, maxEnrollKeyID) {
			return none, noEnrollKey(id)
		}
		n, err := t.affect(`DELETE FROM enroll_keys WHERE id = $1`, id)
		if err == nil && n == 0 {
			err = noEnrollKey(id)
		}
		if err != nil {
			return none, err
		}
		t.record("enroll-key.delete", id, "")
		if err := t.dropFromRoster(enrollKeyRows, id); err != nil {
			return none, err
		}
		// A decision that a device was deleted matters only for enrol keys that were made before it. If there is no such key
		// any more, the decision is deleted too.
		return none, t.deleteDecisions(`decision = $1 AND NOT EXISTS
			(SELECT 1 FROM enroll_keys WHERE created_at <= decided_at)`, deletedDecision)
	})
	return err
}

const maxEnrollKeyID = 64 // bytes; the IDs of keys are shorter

func noEnrollKey(id string) error { return fleet.NotFoundf("there is no enrol key %q", id) }

// useEnrollKey counts one use of the enrol key with this hash, to register a device. decision is the decision about
// that device. It returns an error if the key is not valid or may not register the device. It locks the key's row, so
// that the second of two simultaneous uses sees the count of the first.
func (t *tx) useEnrollKey(hash string, policy fleet.EnrollmentPolicy, decision fleet.EnrollmentDecision,
) (fleet.EnrollKey, error) {
	key, err := scanEnrollKey(t.row(`UPDATE enroll_keys SET used = used WHERE hash = $1 RETURNING `+enrollKeyColumns,
		hash))
	if absent(err) {
		return key, fleet.UnknownEnrollKey()
	}
	if err != nil {
		return key, err
	}
	rows, _, err := t.roster(enrollKeyRows)
	if err != nil {
		return key, err
	}
	key.Altered = rows[key.ID] != enrollKeySum(key)
	if err := policy.Limited(key).Usable(t.now); err != nil {
		return key, err
	}
	if err := policy.Admits(key); err != nil {
		return key, err
	}
	if err := t.mayRegister(key, decision); err != nil {
		return key, err
	}
	key.Used++
	key.LastUsedAt = t.now
	if err := t.exec(`UPDATE enroll_keys SET used = $2, last_used_at = $3 WHERE id = $1`, key.ID, key.Used,
		millis(t.now)); err != nil {
		return key, err
	}
	return key, t.addToRoster(enrollKeyRows, key.ID, enrollKeySum(key))
}

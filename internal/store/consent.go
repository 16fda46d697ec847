package store

import (
	"context"
	"database/sql"
	"slices"

	"muster/internal/fleet"
)

// PutConsents keeps a person's answers, in one transaction, and gives them with their IDs. An answer keep is acted on at
// once, and closed with that.
func (s *Store) PutConsents(ctx context.Context, consents []fleet.Consent) ([]fleet.Consent, error) {
	return write(ctx, s, "put consents", func(t *tx) ([]fleet.Consent, error) {
		kept := slices.Clone(consents)
		for i := range kept {
			c := &kept[i]
			if there, err := t.exists(c.Device); err != nil || !there {
				return nil, orElse(err, noDevice(c.Device))
			}
			if !storable(c.Key, maxBaseKeyBytes) {
				return nil, fleet.Invalidf("key", "a key is UTF-8 text of at most %d bytes", maxBaseKeyBytes)
			}
			var closed any
			if c.Answer == fleet.AnswerKeep {
				closed = millis(t.now)
			}
			err := t.row(`
				INSERT INTO consents (device_id, key, answer, change, given_by, given_at, until, closed_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
				string(c.Device), c.Key, string(c.Answer), c.Change, plainText(c.By), c.At.UnixMilli(), c.Until.UnixMilli(), closed).Scan(&c.ID)
			if err != nil {
				return nil, err
			}
		}
		return kept, nil
	})
}

// OpenConsents are the answers of all devices that were not used and are not over, oldest first.
func (s *Store) OpenConsents(ctx context.Context) ([]fleet.Consent, error) {
	consents, err := collect(ctx, pool{s.reads}, func(row scanner) (c fleet.Consent, err error) {
		var at, until sql.NullInt64
		err = row.Scan(&c.ID, (*string)(&c.Device), &c.Key, (*string)(&c.Answer), &c.Change, &c.By, &at, &until)
		c.At, c.Until = fromMillis(at), fromMillis(until)
		return c, err
	}, `SELECT id, device_id, key, answer, change, given_by, given_at, until FROM consents WHERE closed_at IS NULL ORDER BY id`)
	return consents, failure("read consents", err)
}

// CloseConsents says that answers were used by an intent, or, with 0, that they are over. One that is closed stays so.
func (s *Store) CloseConsents(ctx context.Context, ids []int64, intent int64) error {
	_, err := write(ctx, s, "close consents", func(t *tx) (none struct{}, err error) {
		used := sql.NullInt64{Int64: intent, Valid: intent != 0}
		for _, id := range ids {
			err := t.exec(`UPDATE consents SET closed_at = $2, intent_id = $3 WHERE id = $1 AND closed_at IS NULL`, id, millis(t.now), used)
			if err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

package store

import (
	"context"
	"database/sql"

	"muster/internal/fleet"
)

// PutConsents stores a person's answers to held changes in one transaction, and returns the stored ones with their
// IDs. It leaves out two kinds of answers: those for devices that are not registered any more, and those whose group
// already has an answer that the device used for the same key.
func (s *Store) PutConsents(ctx context.Context, consents []fleet.Consent) ([]fleet.Consent, error) {
	return write(ctx, s, "put consents", func(t *tx) ([]fleet.Consent, error) { return t.putConsents(consents) })
}

func (t *tx) putConsents(consents []fleet.Consent) ([]fleet.Consent, error) {
	kept := make([]fleet.Consent, 0, len(consents))
	for _, c := range consents {
		switch err := t.putConsent(&c); {
		case err == nil:
			kept = append(kept, c)
		case !absent(err):
			return nil, err
		}
	}
	return kept, nil
}

// putConsent stores one answer and sets c.ID. An answer of a group replaces the earlier answer of that group for the
// same device and key, as long as the device has not used the earlier one. After that, or if the device is not
// registered, putConsent returns sql.ErrNoRows. The row also gets the new c.Change: within a group, changes count as
// equal that differ only in the registered devices they name.
func (t *tx) putConsent(c *fleet.Consent) error {
	if there, err := t.exists(c.Device); err != nil || !there {
		return orElse(err, sql.ErrNoRows)
	}
	if !storable(c.Key, maxBaseKeyBytes) {
		return fleet.Invalidf("key", "a key is UTF-8 text of at most %d bytes", maxBaseKeyBytes)
	}
	err := t.unmark(consentRows, `group_id = $1 AND device_id = $2 AND key = $3 AND closed_at IS NULL`, c.Group,
		string(c.Device), c.Key)
	if err != nil {
		return err
	}
	err = t.row(`
		INSERT INTO consents (device_id, key, answer, change, given_by, given_at, until, group_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (group_id, device_id, key) DO UPDATE
		SET answer = excluded.answer, change = excluded.change, given_by = excluded.given_by, given_at = excluded.given_at,
			until = excluded.until, unreachable_since = NULL, intent_id = NULL
		WHERE consents.closed_at IS NULL RETURNING id`,
		string(c.Device), c.Key, string(c.Answer), c.Change, plainText(c.By), c.At.UnixMilli(), c.Until.UnixMilli(),
		sql.NullInt64{Int64: c.Group, Valid: c.Group != 0}).Scan(&c.ID)
	if err != nil {
		return err
	}
	return t.mark(consentRows, c.ID)
}

// OpenConsents returns the open answers of all devices, oldest first. An answer is open while it was neither used nor
// ended. Rows that are not believed are left out.
func (s *Store) OpenConsents(ctx context.Context) ([]fleet.Consent, error) {
	return s.openConsents(ctx, "")
}

// OpenConsentsOf returns the open answers of one device, oldest first.
func (s *Store) OpenConsentsOf(ctx context.Context, device fleet.DeviceID) ([]fleet.Consent, error) {
	return s.openConsents(ctx, ` AND device_id = $1`, string(device))
}

func (s *Store) openConsents(ctx context.Context, where string, args ...any) ([]fleet.Consent, error) {
	consents, err := collect(ctx, pool{s.reads}, believing(s, consentRows, func(row scanner) (c fleet.Consent, err error) {
		var at, until, group, away sql.NullInt64
		err = row.Scan(&c.ID, (*string)(&c.Device), &c.Key, (*string)(&c.Answer), &c.Change, &c.By, &at, &until, &group,
			&away)
		c.At, c.Until, c.Group, c.UnreachableSince = fromMillis(at), fromMillis(until), group.Int64, fromMillis(away)
		return c, err
	}), `SELECT id, device_id, key, answer, change, given_by, given_at, until, group_id, unreachable_since, `+
		consentRows.columns("")+` FROM consents WHERE closed_at IS NULL`+where+` ORDER BY id`, args...)
	return onlyBelieved(consents), failure("read consents", err)
}

// PutConsentTimes stores two times of each open answer: until when it may be used, and since when its device cannot be
// reached (zero: the device can be reached).
func (s *Store) PutConsentTimes(ctx context.Context, consents []fleet.Consent) error {
	_, err := write(ctx, s, "put times of consents", func(t *tx) (none struct{}, err error) {
		for _, c := range consents {
			away := sql.NullInt64{Int64: c.UnreachableSince.UnixMilli(), Valid: !c.UnreachableSince.IsZero()}
			err := t.amendConsent(c.ID, `UPDATE consents SET until = $2, unreachable_since = $3
				WHERE id = $1 AND closed_at IS NULL`, c.Until.UnixMilli(), away)
			if err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

// amendConsent runs an UPDATE of some columns of one consent. In text, $1 is the consent's ID; args follow from $2 on.
func (t *tx) amendConsent(id int64, text string, args ...any) error {
	return t.amending(consentRows, func() error { return t.exec(text, append([]any{id}, args...)...) }, id)
}

// CloseConsents records that an intent used these answers. intent is its ID, or 0 if nothing had to be sent. Answers
// that were closed before stay as they are.
func (s *Store) CloseConsents(ctx context.Context, ids []int64, intent int64) error {
	return s.closeConsents(ctx, ids, sql.NullInt64{Int64: intent, Valid: true})
}

// EndConsents records that these answers ended without being used.
func (s *Store) EndConsents(ctx context.Context, ids []int64) error {
	return s.closeConsents(ctx, ids, sql.NullInt64{})
}

func (s *Store) closeConsents(ctx context.Context, ids []int64, used sql.NullInt64) error {
	_, err := write(ctx, s, "close consents", func(t *tx) (none struct{}, err error) {
		for _, id := range ids {
			err := t.amendConsent(id, `UPDATE consents SET closed_at = $2, intent_id = $3
				WHERE id = $1 AND closed_at IS NULL`, millis(t.now), used)
			if err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

// ReopenConsents makes answers usable again that this intent had used. It leaves other answers in ids as they are. It
// is for an intent whose write was not sent.
func (s *Store) ReopenConsents(ctx context.Context, ids []int64, intent int64) error {
	_, err := write(ctx, s, "reopen consents", func(t *tx) (none struct{}, err error) {
		for _, id := range ids {
			err := t.amendConsent(id, `UPDATE consents SET closed_at = NULL, intent_id = NULL
				WHERE id = $1 AND intent_id = $2`, intent)
			if err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

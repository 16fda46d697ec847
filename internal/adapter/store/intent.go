package store

import (
	"cmp"
	"context"
	"database/sql"
	"strconv"

	"muster/internal/fleet"
)

// BeginIntent stores an intent before any of its writes is sent to the daemon, and replaces the device's base entries
// by base. When it returns without an error, both are on disk; after an error, neither is.
func (s *Store) BeginIntent(ctx context.Context, intent fleet.Intent, base []fleet.BaseEntry) (id int64, err error) {
	return write(ctx, s, "begin intent", func(t *tx) (id int64, err error) {
		// The column writes is sealed for the row's ID, which exists only after the INSERT.
		err = t.row(`
			INSERT INTO intents (device_id, generation, plan_digest, observed, cause, writes, outcome, detail, created_at)
			SELECT id, CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), $6, '', CAST($7 AS TEXT),
				CAST($8 AS BIGINT)
			FROM devices WHERE id = $1 RETURNING id`,
			string(intent.Device), intent.Generation, intent.PlanDigest, intent.Observed, plainText(intent.Cause),
			[]byte{}, plainText(intent.Detail), millis(t.now)).Scan(&id)
		if absent(err) {
			return 0, noDevice(intent.Device)
		}
		if err != nil {
			return 0, err
		}
		err = t.exec(`UPDATE intents SET writes = $2 WHERE id = $1`, id,
			t.store.seal.Seal("intents", intentRow(id), "writes", intent.Writes))
		if err != nil {
			return 0, err
		}
		if err := t.beginSending(intent.Device, intent.Generation); err != nil {
			return 0, err
		}
		return id, t.replaceBase(intent.Device, base)
	})
}

// FinishIntent stores the outcome of an intent and the base entries in e. If another configuration was read back than
// the intent started from, that configuration gets the intent's cause. FinishIntent returns a not-found error if the
// intent is not open, or if its device was deleted.
func (s *Store) FinishIntent(ctx context.Context, id int64, e fleet.Ending) error {
	_, err := write(ctx, s, "finish intent", func(t *tx) (none struct{}, err error) {
		if e.Outcome == fleet.OutcomeOpen {
			return none, fleet.Invalidf("outcome", "an intent is finished with an outcome")
		}
		var device fleet.DeviceID
		var observed, cause string
		err = t.row(`UPDATE intents SET outcome = $2, detail = $3, finished_at = $4 WHERE id = $1 AND outcome = ''
			RETURNING device_id, observed, cause`,
			id, string(e.Outcome), plainText(e.Detail), millis(t.now)).Scan((*string)(&device), &observed, &cause)
		if absent(err) {
			return none, fleet.NotFoundf("there is no open intent %d", id)
		}
		if err != nil {
			return none, err
		}
		if e.Outcome == fleet.OutcomeAbandoned {
			err = t.wasNotSent(device)
		}
		if err != nil {
			return none, err
		}
		if e.Outcome != fleet.OutcomeAbandoned && e.Read != "" && e.Read != observed {
			if err := t.explainRevision(device, e.Read, cmp.Or(cause, fleet.CauseTemplate)); err != nil {
				return none, err
			}
		}
		return none, t.replaceBase(device, e.Base)
	})
	return err
}

// OpenIntents returns the intents whose outcome is not known, oldest first.
func (s *Store) OpenIntents(ctx context.Context) ([]fleet.Intent, error) {
	intents, err := collect(ctx, pool{s.reads}, s.scanIntent, `
		SELECT id, device_id, generation, plan_digest, observed, cause, writes, outcome, detail, created_at, finished_at
		FROM intents WHERE outcome = '' ORDER BY id`)
	return intents, failure("read open intents", err)
}

func (s *Store) scanIntent(row scanner) (i fleet.Intent, err error) {
	var sealed []byte
	var created, finished sql.NullInt64
	err = row.Scan(&i.ID, (*string)(&i.Device), &i.Generation, &i.PlanDigest, &i.Observed, &i.Cause, &sealed,
		(*string)(&i.Outcome), &i.Detail, &created, &finished)
	if err != nil {
		return i, err
	}
	i.CreatedAt, i.FinishedAt = fromMillis(created), fromMillis(finished)
	i.Writes, err = s.seal.Open("intents", intentRow(i.ID), "writes", sealed)
	return i, err
}

func intentRow(id int64) string { return strconv.FormatInt(id, 10) }

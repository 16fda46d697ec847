package store

import (
	"context"

	"muster/internal/fleet"
)

// sentGeneration is the newest generation for which Muster sent something to a device, or may have. earlier is what it
// is again if the open intent turns out not to have been sent.
type sentGeneration struct{ newest, earlier int64 }

func scanSentGeneration(row scanner) (sent sentGeneration, err error) {
	return sent, row.Scan(&sent.newest, &sent.earlier)
}

var selectSentGeneration = `SELECT generation, earlier, ` + sentRows.columns("") +
	` FROM sent_generations WHERE device_id = $1`

// Touched reports whether Muster sent, or may have sent, something to a device for this generation or a later one. A
// device whose row is not believed counts as touched: the gates of a rollout then do not overlook it.
func (s *Store) Touched(ctx context.Context, id fleet.DeviceID, generation int64) (touched bool, err error) {
	sent, err := believing(s, sentRows, scanSentGeneration)(s.reads.QueryRowContext(ctx, selectSentGeneration, string(id)))
	if absent(err) {
		return s.doubted(sentRows), nil
	}
	return !sent.believed || sent.value.newest >= generation, failure("read what was sent", err)
}

// beginSending notes that something may be sent to a device for a generation.
func (t *tx) beginSending(id fleet.DeviceID, generation int64) error {
	is, err := t.sentGeneration(id)
	if err != nil {
		return err
	}
	return t.putSentGeneration(id, is, sentGeneration{max(is.newest, generation), is.newest})
}

// wasNotSent takes back what beginSending noted.
func (t *tx) wasNotSent(id fleet.DeviceID) error {
	is, err := t.sentGeneration(id)
	if err != nil {
		return err
	}
	return t.putSentGeneration(id, is, sentGeneration{is.earlier, is.earlier})
}

// sentGeneration returns the row of a device, or the zero value if it has none. Generations begin at 1.
func (t *tx) sentGeneration(id fleet.DeviceID) (sentGeneration, error) {
	sent, err := believing(t.store, sentRows, scanSentGeneration)(t.row(selectSentGeneration, string(id)))
	if absent(err) {
		return sentGeneration{}, nil
	}
	return sent.value, err
}

// putSentGeneration stores the row of a device, unless it stays as it is. A row that is not believed stays so.
func (t *tx) putSentGeneration(id fleet.DeviceID, was, is sentGeneration) error {
	if was == is {
		return nil
	}
	return t.amending(sentRows, func() error {
		return t.exec(`INSERT INTO sent_generations (device_id, generation, earlier)
			SELECT id, CAST($2 AS BIGINT), CAST($3 AS BIGINT) FROM devices WHERE id = $1
			ON CONFLICT (device_id) DO UPDATE SET generation = excluded.generation, earlier = excluded.earlier`,
			string(id), is.newest, is.earlier)
	}, string(id))
}

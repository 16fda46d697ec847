package store

import (
	"context"
	"database/sql"

	"muster/internal/fleet"
)

// Stops returns, for each device that has some, the keys of its configuration to which Muster does not write for now.
func (s *Store) Stops(ctx context.Context) (map[fleet.DeviceID][]fleet.Stop, error) {
	stops := map[fleet.DeviceID][]fleet.Stop{}
	_, err := collect(ctx, pool{s.reads}, func(row scanner) (none struct{}, err error) {
		var device fleet.DeviceID
		var stop fleet.Stop
		var since sql.NullInt64
		err = row.Scan((*string)(&device), &stop.Key, (*string)(&stop.Kind), &stop.Reason, &stop.Observed, &stop.Templates,
			&since, &stop.Answers)
		stop.Since = fromMillis(since)
		stops[device] = append(stops[device], stop)
		return none, err
	}, `SELECT device_id, key, kind, reason, observed, templates, stopped_at, answers FROM stops ORDER BY device_id, key`)
	return stops, failure("read stops", err)
}

// PutStops replaces the stops of a device.
func (s *Store) PutStops(ctx context.Context, id fleet.DeviceID, stops []fleet.Stop) error {
	_, err := write(ctx, s, "put stops", func(t *tx) (none struct{}, err error) {
		if there, err := t.exists(id); err != nil || !there {
			return none, orElse(err, noDevice(id))
		}
		if err := t.exec(`DELETE FROM stops WHERE device_id = $1`, string(id)); err != nil {
			return none, err
		}
		for _, stop := range stops {
			if !storable(stop.Key, maxBaseKeyBytes) {
				return none, fleet.Invalidf("key", "a key is UTF-8 text of at most %d bytes", maxBaseKeyBytes)
			}
			err := t.exec(`
				INSERT INTO stops (device_id, key, kind, reason, observed, templates, stopped_at, answers)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
				string(id), stop.Key, string(stop.Kind), plainText(stop.Reason), stop.Observed, stop.Templates,
				stop.Since.UnixMilli(), stop.Answers)
			if err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

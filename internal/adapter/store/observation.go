package store

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"muster/internal/fleet"
)

// SaveObservations stores what watchers observed, all or nothing. It leaves out devices that are no longer registered;
// their watchers may not know that yet.
func (s *Store) SaveObservations(ctx context.Context, observations []fleet.Observation) error {
	prepared := make([]preparedObservation, 0, len(observations))
	for _, o := range observations {
		p, err := s.prepare(o) // here and not in the writer's goroutine, because compressing takes time
		if err != nil {
			return err
		}
		prepared = append(prepared, p)
	}
	_, err := write(ctx, s, "save observations", func(t *tx) (none struct{}, err error) {
		for _, p := range prepared {
			if err := t.observe(p); err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

type preparedObservation struct {
	fleet.Observation
	document []byte   // sealed; nil without a configuration
	paths    []string // paths of the folders in the configuration
}

func (s *Store) prepare(o fleet.Observation) (p preparedObservation, err error) {
	p.Observation = o
	if o.Config == nil {
		return p, nil
	}
	if p.paths = o.Config.Paths; p.paths == nil {
		p.paths = pathsIn(o.Config.JSON)
	}
	p.document, err = s.sealDocument(o.Device, o.Config.Digest, o.Config.JSON)
	return p, err
}

func (t *tx) observe(p preparedObservation) error {
	if there, err := t.observeSighting(p.Observation); err != nil || !there {
		return err
	}
	if p.Config != nil {
		if err := t.observeConfig(p); err != nil {
			return err
		}
	}
	if p.Status != nil {
		if err := t.putDocument("statuses", p.Device, *p.Status, p.Status.CreatedAt,
			p.Status.UpdatedAt); err != nil {
			return err
		}
	}
	if p.Version != nil {
		if err := t.putDocument("versions", p.Device, *p.Version, p.Version.CreatedAt,
			p.Version.UpdatedAt); err != nil {
			return err
		}
	}
	for _, summary := range p.Summaries {
		if err := t.putSummary(p.Device, summary); err != nil {
			return err
		}
	}
	if p.Proven != nil {
		return t.observeProven(p.Device, *p.Proven, p.FirstUse)
	}
	return nil
}

// putDocument stores the newest document of one kind about a device. The column created_at keeps the time of the
// device's first document.
func (t *tx) putDocument(table string, id fleet.DeviceID, body any, created, updated time.Time) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	created, updated = t.times(created, updated)
	return t.exec(`INSERT INTO `+table+` (device_id, body, created_at, updated_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (device_id) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at`,
		string(id), string(text), millis(created), millis(updated))
}

// times returns created and updated with defaults: a zero updated becomes now, and a zero created becomes updated.
func (t *tx) times(created, updated time.Time) (time.Time, time.Time) {
	if updated.IsZero() {
		updated = t.now
	}
	if created.IsZero() {
		created = updated
	}
	return created, updated
}

func (t *tx) putSummary(id fleet.DeviceID, summary fleet.FolderSummary) error {
	if !storableFolder(summary.Folder) {
		return nil
	}
	text, err := json.Marshal(summary)
	if err != nil {
		return err
	}
	created, updated := t.times(summary.CreatedAt, summary.UpdatedAt)
	return t.exec(`
		INSERT INTO summaries (device_id, folder, body, created_at, updated_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (device_id, folder) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at`,
		string(id), summary.Folder, string(text), millis(created), millis(updated))
}

// observeSighting stores when a device was reached and how its address was found, unless o.LastSeen is zero. there
// reports whether the device is still registered.
func (t *tx) observeSighting(o fleet.Observation) (there bool, err error) {
	if o.LastSeen.IsZero() {
		return t.exists(o.Device)
	}
	n, err := t.affect(`
		UPDATE sightings SET last_seen_at = CASE WHEN $2 > last_seen_at THEN $2 ELSE last_seen_at END
		WHERE device_id = $1 AND ($3 = '' OR found_by = $3)`, string(o.Device), millis(o.LastSeen), o.FoundBy)
	if err != nil || n > 0 {
		return n > 0, err // The mark covers only how the address was found, which is as it was.
	}
	if err := t.unmark(sightingRows, `device_id = $1`, string(o.Device)); err != nil {
		return false, err
	}
	n, err = t.affect(`
		INSERT INTO sightings (device_id, last_seen_at, found_by)
			SELECT id, CAST($2 AS BIGINT), CAST($3 AS TEXT) FROM devices WHERE id = $1
		ON CONFLICT (device_id) DO UPDATE SET last_seen_at =
			CASE WHEN excluded.last_seen_at > sightings.last_seen_at THEN excluded.last_seen_at ELSE sightings.last_seen_at END,
			found_by = CASE WHEN excluded.found_by <> '' THEN excluded.found_by ELSE sightings.found_by END`,
		string(o.Device), millis(o.LastSeen), o.FoundBy)
	if err == nil {
		err = t.mark(sightingRows, string(o.Device))
	}
	return n > 0, err
}

// maxFolderBytes bounds a folder ID. Real IDs are short. A daemon that reports a longer one lies, and the folder is
// left out.
const maxFolderBytes = 1 << 10

func storableFolder(folder string) bool { return folder != "" && storable(folder, maxFolderBytes) }

// replaceFolders stores the folders of a device's current configuration, and deletes the summaries of all other
// folders of the device. It writes nothing if the folders are the same as before, which is so for most new
// configurations.
func (t *tx) replaceFolders(id fleet.DeviceID, folders []fleet.FolderLabel) error {
	before, err := collect(t.ctx, t.session, scanFolder, selectFolders+` WHERE device_id = $1`, string(id))
	if err != nil {
		return err
	}
	is, was := make(map[string]string, len(folders)), make(map[string]string, len(before))
	for _, f := range folders {
		if storableFolder(f.Folder) {
			is[f.Folder] = plainText(f.Label)
		}
	}
	for _, f := range before {
		was[f.what.Folder] = f.what.Label
	}
	if maps.Equal(is, was) {
		return nil
	}
	if err := t.exec(`DELETE FROM folders WHERE device_id = $1`, string(id)); err != nil {
		return err
	}
	for folder, label := range is {
		err := t.exec(`INSERT INTO folders (device_id, folder, label) VALUES ($1, $2, $3)`, string(id), folder, label)
		if err != nil {
			return err
		}
	}
	return t.exec(`DELETE FROM summaries WHERE device_id = $1
		AND folder NOT IN (SELECT folder FROM folders WHERE device_id = $1)`, string(id))
}

package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// Status returns the newest status that the device's daemon reported.
func (s *Store) Status(ctx context.Context, id fleet.DeviceID) (fleet.Status, error) {
	return one(ctx, s, id, scanStatus, selectStatuses)
}

// Version returns the software version that the device's daemon reported last.
func (s *Store) Version(ctx context.Context, id fleet.DeviceID) (fleet.Version, error) {
	return one(ctx, s, id, scanVersion, selectVersions)
}

// one reads the newest document of one kind about a device. It returns a not-found error if the device is not
// registered, or if its daemon has never answered.
func one[T any](ctx context.Context, s *Store, id fleet.DeviceID, scan func(scanner) (about[T], error),
	text string) (none T, err error) {
	if _, err := s.registered(id); err != nil {
		return none, err
	}
	found, err := scan(s.reads.QueryRowContext(ctx, text+` WHERE device_id = $1`, string(id)))
	if absent(err) {
		return none, &fleet.Error{
			Code:    fleet.CodeNotFound,
			Message: "the device has not been reached yet",
			Hint:    "Its state says why: GET devices/{id}/state.",
			See:     fleet.Reference{Subject: fleet.SeeDeviceState, ID: string(id)},
		}
	}
	return found.what, failure("read mirror", err)
}

// about is a value that is stored for one device.
type about[T any] struct {
	device fleet.DeviceID
	what   T
}

const (
	selectStatuses  = `SELECT device_id, body, created_at, updated_at FROM statuses`
	selectVersions  = `SELECT device_id, body, created_at, updated_at FROM versions`
	selectFolders   = `SELECT device_id, folder, label FROM folders`
	selectSummaries = `
		SELECT s.device_id, s.folder, s.body, s.created_at, s.updated_at FROM summaries s
		JOIN folders f ON f.device_id = s.device_id AND f.folder = s.folder`
)

func scanStatus(row scanner) (a about[fleet.Status], err error) {
	var text string
	var created, updated sql.NullInt64
	if err := row.Scan((*string)(&a.device), &text, &created, &updated); err != nil {
		return a, err
	}
	err = json.Unmarshal([]byte(text), &a.what)
	a.what.CreatedAt, a.what.UpdatedAt = fromMillis(created), fromMillis(updated)
	return a, err
}

func scanVersion(row scanner) (a about[fleet.Version], err error) {
	var text string
	var created, updated sql.NullInt64
	if err := row.Scan((*string)(&a.device), &text, &created, &updated); err != nil {
		return a, err
	}
	err = json.Unmarshal([]byte(text), &a.what)
	a.what.Device, a.what.CreatedAt, a.what.UpdatedAt = a.device, fromMillis(created), fromMillis(updated)
	return a, err
}

func scanSummary(row scanner) (v fleet.FolderSummary, err error) {
	var device, folder, text string
	var created, updated sql.NullInt64
	if err := row.Scan(&device, &folder, &text, &created, &updated); err != nil {
		return v, err
	}
	err = json.Unmarshal([]byte(text), &v)
	v.Device, v.Folder, v.CreatedAt, v.UpdatedAt = fleet.DeviceID(device), folder, fromMillis(created),
		fromMillis(updated)
	return v, err
}

func scanFolder(row scanner) (a about[fleet.FolderLabel], err error) {
	err = row.Scan((*string)(&a.device), &a.what.Folder, &a.what.Label)
	return a, err
}

// Folders returns the folders in the current configurations of all devices, sorted by ID. A folder gets the label that
// most devices use for it. If several labels are equally frequent, it gets the first of them in alphabetical order.
func (s *Store) Folders(ctx context.Context) ([]fleet.FolderLabel, error) {
	type used struct {
		fleet.FolderLabel
		by int64
	}
	labels, err := collect(ctx, pool{s.reads}, func(row scanner) (u used, err error) {
		err = row.Scan(&u.Folder, &u.Label, &u.by)
		return u, err
	}, `SELECT folder, label, COUNT(*) FROM folders GROUP BY folder, label`)
	if err != nil {
		return nil, failure("read folders", err)
	}
	slices.SortFunc(labels, func(a, b used) int {
		return cmp.Or(strings.Compare(a.Folder, b.Folder), -cmp.Compare(a.by, b.by), strings.Compare(a.Label, b.Label))
	})
	folders := []fleet.FolderLabel{}
	for _, u := range labels {
		if n := len(folders); n == 0 || folders[n-1].Folder != u.Folder {
			folders = append(folders, u.FolderLabel)
		}
	}
	return folders, nil
}

// FolderSummaries returns what the devices reported about one folder, sorted by device ID. It covers only devices
// whose current configuration has the folder, and returns a not-found error if there is no such device.
func (s *Store) FolderSummaries(ctx context.Context, folder string) ([]fleet.FolderSummary, error) {
	none := fleet.NotFoundf("no device has a folder %q", folder)
	if !storableFolder(folder) {
		return nil, none
	}
	var devices int
	if err := s.reads.QueryRowContext(ctx, `SELECT COUNT(*) FROM folders WHERE folder = $1`,
		folder).Scan(&devices); err != nil {
		return nil, failure("read folders", err)
	}
	if devices == 0 {
		return nil, none
	}
	summaries, err := collect(ctx, pool{s.reads}, scanSummary, selectSummaries+` WHERE s.folder = $1`, folder)
	slices.SortFunc(summaries, func(a, b fleet.FolderSummary) int { return cmp.Compare(a.Device, b.Device) })
	return summaries, failure("read folder summaries", err)
}

// Known returns the last known snapshot of every registered device. With it, a server that was restarted can show a
// device before it has reached the device.
func (s *Store) Known(ctx context.Context) (map[fleet.DeviceID]fleet.Snapshot, error) {
	devices := s.model.current().registry.Devices
	all := make(map[fleet.DeviceID]*fleet.Snapshot, len(devices))
	for id := range devices {
		all[id] = &fleet.Snapshot{Device: id, Summaries: map[string]fleet.FolderSummary{}}
		if s.doubted(sightingRows) {
			all[id].FoundBy = fleet.FoundByAgent // See believedSighting.
		}
	}
	q := pool{s.reads}
	for _, err := range []error{
		each(ctx, q, all, scanStatus, func(k *fleet.Snapshot, v fleet.Status) { k.Status = &v }, selectStatuses),
		each(ctx, q, all, scanVersion, func(k *fleet.Snapshot, v fleet.Version) { k.Version = &v }, selectVersions),
		each(ctx, q, all, scanFolder, func(k *fleet.Snapshot, v fleet.FolderLabel) { k.Folders = append(k.Folders, v) },
			selectFolders),
		each(ctx, q, all, func(row scanner) (about[fleet.FolderSummary], error) {
			v, err := scanSummary(row)
			return about[fleet.FolderSummary]{v.Device, v}, err
		}, func(k *fleet.Snapshot, v fleet.FolderSummary) { k.Summaries[v.Folder] = v }, selectSummaries),
		each(ctx, q, all, s.scanProven, func(k *fleet.Snapshot, v fleet.Certificate) { k.Proven = v }, selectCertificates),
		each(ctx, q, all, scanDigest, func(k *fleet.Snapshot, v string) { k.Digest = v }, selectNewestDigests),
		each(ctx, q, all, s.believedSighting(), func(k *fleet.Snapshot, v sighting) {
			k.LastSeen, k.FoundBy = fromMillis(v.at), v.foundBy
		}, `SELECT device_id, last_seen_at, found_by, `+sightingRows.columns("")+` FROM sightings`),
	} {
		if err != nil {
			return nil, failure("read what is last known", err)
		}
	}
	known := make(map[fleet.DeviceID]fleet.Snapshot, len(all))
	for id, k := range all {
		slices.SortFunc(k.Folders, compareFolders)
		known[id] = *k
	}
	return known, nil
}

// sighting is when a device answered last, and how its address was found then.
type sighting struct {
	at      sql.NullInt64
	foundBy string
}

// believedSighting returns a function that reads a sighting. If the row is not believed, the device counts as found by
// its agent: then no API key goes to an address that nothing has proven.
func (s *Store) believedSighting() func(scanner) (about[sighting], error) {
	scan := believing(s, sightingRows, scanSighting)
	return func(row scanner) (about[sighting], error) {
		read, err := scan(row)
		if !read.believed {
			read.value.what.foundBy = fleet.FoundByAgent
		}
		return read.value, err
	}
}

func scanSighting(row scanner) (a about[sighting], err error) {
	err = row.Scan((*string)(&a.device), &a.what.at, &a.what.foundBy)
	return a, err
}

// each runs a query and calls put for every row, with the row's value and the snapshot of the row's device. all has
// the snapshots; rows of other devices are skipped.
func each[T any](ctx context.Context, q querier, all map[fleet.DeviceID]*fleet.Snapshot,
	scan func(scanner) (about[T], error), put func(*fleet.Snapshot, T), text string) error {
	rows, err := collect(ctx, q, scan, text)
	for _, row := range rows {
		if k := all[row.device]; k != nil { // nil: the device was registered after all was made
			put(k, row.what)
		}
	}
	return err
}

func compareFolders(a, b fleet.FolderLabel) int { return strings.Compare(a.Folder, b.Folder) }

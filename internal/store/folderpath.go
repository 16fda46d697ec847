package store

import (
	"context"
	"encoding/json"

	"muster/internal/fleet"
)

// maxFolderPathBytes is what an index of PostgreSQL surely takes.
const maxFolderPathBytes = 2 << 10

// maxFolderPaths bounds what a daemon can make Muster remember. Beyond it the paths of a device are not known.
const maxFolderPaths = 4096

const selectFolderPaths = `SELECT path FROM folder_paths WHERE device_id = $1 ORDER BY path`

// FolderPaths are where folders of a device were ever seen, as the daemon spelled it. For a device that had
// maxFolderPaths or more it is an error with CodeTooLarge.
func (s *Store) FolderPaths(ctx context.Context, id fleet.DeviceID) ([]string, error) {
	paths, err := collect(ctx, pool{s.reads}, scanFolderPath, selectFolderPaths, string(id))
	if err == nil && len(paths) >= maxFolderPaths {
		return nil, &fleet.Error{Code: fleet.CodeTooLarge, Message: "the device had folders in too many places to remember"}
	}
	return paths, failure("read folder paths", err)
}

func scanFolderPath(row scanner) (path string, err error) { return path, row.Scan(&path) }

// folderPaths are those that are kept of a device.
func (t *tx) folderPaths(id fleet.DeviceID) (map[string]bool, error) {
	paths, err := collect(t.ctx, t.session, scanFolderPath, selectFolderPaths, string(id))
	kept := make(map[string]bool, len(paths))
	for _, path := range paths {
		kept[path] = true
	}
	return kept, err
}

// rememberEarlierPaths keeps the paths of the configuration before this one, where it was seen by a version of Muster
// that kept none.
func (t *tx) rememberEarlierPaths(id fleet.DeviceID, newest fleet.Revision) error {
	kept, err := t.folderPaths(id)
	if err != nil || len(kept) > 0 || newest.Number == 0 {
		return err
	}
	var sealed []byte
	if _, err := scanRevisionAnd(t.row(selectDocuments+` AND r.number = $2`, string(id), newest.Number),
		&sealed); err != nil {
		return err
	}
	packed, err := t.store.openDocument(t.ctx, id, newest.Digest, sealed)
	if err != nil {
		return err
	}
	document, err := packed.read(t.ctx)
	if err != nil {
		return err
	}
	return t.rememberPaths(id, document)
}

// rememberPaths keeps where the folders of a configuration lie.
func (t *tx) rememberPaths(id fleet.DeviceID, document []byte) error {
	var config struct {
		Folders []struct {
			Path string `json:"path"`
		} `json:"folders"`
	}
	if err := json.Unmarshal(document, &config); err != nil {
		return nil //nolint:nilerr // nothing is planned from such a document
	}
	kept, err := t.folderPaths(id)
	if err != nil {
		return err
	}
	for _, folder := range config.Folders {
		if kept[folder.Path] || !storable(folder.Path, maxFolderPathBytes) {
			continue
		}
		if len(kept) >= maxFolderPaths {
			return nil
		}
		kept[folder.Path] = true
		err := t.exec(`INSERT INTO folder_paths (device_id, path) VALUES ($1, $2)`, string(id), folder.Path)
		if err != nil {
			return err
		}
	}
	return nil
}

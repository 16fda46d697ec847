package store

import (
	"context"
	"encoding/json"

	"muster/internal/fleet"
)

// maxFolderPathBytes bounds a path, because PostgreSQL cannot put longer values into an index. Longer paths are not
// stored.
const maxFolderPathBytes = 2 << 10

// maxFolderPaths bounds how many paths Muster stores for a device. A device with so many paths counts as one whose
// paths are not known.
const maxFolderPaths = 4096

const selectFolderPaths = `SELECT path FROM folder_paths WHERE device_id = $1 ORDER BY path`

// FolderPaths returns all paths at which folders of a device were ever observed, as the daemon wrote them. For a
// device with maxFolderPaths paths it returns an error with CodeTooLarge, because there may be further ones that are
// not stored. It returns a conflict error if another program removed paths. One that another program added counts: it
// only keeps authors away.
func (s *Store) FolderPaths(ctx context.Context, id fleet.DeviceID) ([]string, error) {
	if s.doubted(folderPathRows) {
		return nil, &fleet.Error{Code: fleet.CodeConflict, During: "read folder paths",
			Message: "the paths of earlier folders are not as Muster wrote them", Hint: acceptHint}
	}
	paths, err := collect(ctx, pool{s.reads}, scanFolderPath, selectFolderPaths, string(id))
	if err == nil && len(paths) >= maxFolderPaths {
		return nil, &fleet.Error{Code: fleet.CodeTooLarge, Message: "the device had folders in too many places to remember"}
	}
	return paths, failure("read folder paths", err)
}

func scanFolderPath(row scanner) (path string, err error) { return path, row.Scan(&path) }

// folderPaths returns the stored paths of a device.
func (t *tx) folderPaths(id fleet.DeviceID) (map[string]bool, error) {
	paths, err := collect(t.ctx, t.session, scanFolderPath, selectFolderPaths, string(id))
	kept := make(map[string]bool, len(paths))
	for _, path := range paths {
		kept[path] = true
	}
	return kept, err
}

// rememberPaths stores the paths that are not stored yet, until the device has maxFolderPaths. It leaves out paths
// that the databases cannot store.
func (t *tx) rememberPaths(id fleet.DeviceID, paths []string) error {
	kept, err := t.folderPaths(id)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if kept[path] || !storable(path, maxFolderPathBytes) {
			continue
		}
		if len(kept) >= maxFolderPaths {
			return nil
		}
		kept[path] = true
		key := []string{string(id), path}
		mark := t.store.markOf(folderPathRows, key, nil)
		t.countChange(folderPathRows, key, nil, mark)
		if err := t.exec(`INSERT INTO folder_paths (device_id, path, mark) VALUES ($1, $2, $3)`, string(id), path,
			mark); err != nil {
			return err
		}
	}
	return nil
}

// pathsIn returns the paths of the folders in a configuration. It returns none if the document cannot be read. That
// does no harm, because nothing is planned from such a document.
func pathsIn(document []byte) (paths []string) {
	var config struct {
		Folders []struct {
			Path string `json:"path"`
		} `json:"folders"`
	}
	if err := json.Unmarshal(document, &config); err != nil {
		return nil
	}
	for _, folder := range config.Folders {
		paths = append(paths, folder.Path)
	}
	return paths
}

package store

import (
	"context"
	"encoding/json"

	"muster/internal/fleet"
)

// maxFolderPathBytes bounds a path, because an index of PostgreSQL takes no longer values.
const maxFolderPathBytes = 2 << 10

// maxFolderPaths bounds how many paths a daemon can make Muster remember. If a device reaches it, the paths of its
// folders count as unknown.
const maxFolderPaths = 4096

const selectFolderPaths = `SELECT path FROM folder_paths WHERE device_id = $1 ORDER BY path`

// FolderPaths returns all paths at which folders of a device were ever seen, as the daemon wrote them. It returns an
// error with CodeTooLarge for a device that had maxFolderPaths or more.
func (s *Store) FolderPaths(ctx context.Context, id fleet.DeviceID) ([]string, error) {
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

// rememberPaths stores paths of a device's folders that are not stored yet, up to maxFolderPaths.
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
		if err := t.exec(`INSERT INTO folder_paths (device_id, path) VALUES ($1, $2)`, string(id), path); err != nil {
			return err
		}
	}
	return nil
}

// pathsIn returns the paths of the folders in a configuration. It returns none if the document cannot be read;
// nothing is planned from such a document either.
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

package store

import (
	"context"
	"encoding/json"

	"muster/internal/fleet"
)

// maxFolderPathBytes is what an index of PostgreSQL surely takes.
const maxFolderPathBytes = 2 << 10

// FolderPaths are where folders of a device were ever seen, as the daemon spelled it.
func (s *Store) FolderPaths(ctx context.Context, id fleet.DeviceID) ([]string, error) {
	paths, err := collect(ctx, pool{s.reads}, func(row scanner) (path string, err error) {
		return path, row.Scan(&path)
	}, `SELECT path FROM folder_paths WHERE device_id = $1 ORDER BY path`, string(id))
	return paths, failure("read folder paths", err)
}

// rememberPaths keeps where the folders of a configuration lie.
func (t *tx) rememberPaths(id fleet.DeviceID, document []byte) error {
	var config struct {
		Folders []struct {
			Path string `json:"path"`
		} `json:"folders"`
	}
	if json.Unmarshal(document, &config) != nil {
		return nil // nothing is planned from such a document
	}
	for _, folder := range config.Folders {
		if !storable(folder.Path, maxFolderPathBytes) {
			continue
		}
		err := t.exec(`INSERT INTO folder_paths (device_id, path) VALUES ($1, $2) ON CONFLICT (device_id, path) DO NOTHING`,
			string(id), folder.Path)
		if err != nil {
			return err
		}
	}
	return nil
}

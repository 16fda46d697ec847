package store

import (
	"context"
	"encoding/json"
	"slices"

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

// rememberPaths keeps where the folders of a configuration lie; before is the revision before it.
func (t *tx) rememberPaths(id fleet.DeviceID, paths []string, before fleet.Revision) error {
	kept, err := t.folderPaths(id)
	if err != nil {
		return err
	}
	if len(kept) == 0 && before.Number > 0 {
		earlier, err := t.earlierPaths(id, before)
		if err != nil {
			return err
		}
		paths = slices.Concat(earlier, paths)
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

// earlierPaths are those of a configuration that was seen by a version of Muster that kept none.
func (t *tx) earlierPaths(id fleet.DeviceID, r fleet.Revision) ([]string, error) {
	var sealed []byte
	if _, err := scanRevisionAnd(t.row(selectDocuments+` AND r.number = $2`, string(id), r.Number), &sealed); err != nil {
		return nil, err
	}
	packed, err := t.store.openDocument(t.ctx, id, r.Digest, sealed)
	if err != nil {
		return nil, err
	}
	document, err := packed.read(t.ctx)
	return pathsIn(document), err
}

// pathsIn are where the folders of a configuration lie. Nothing is planned from a document that cannot be read.
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

package stsim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

const (
	filesPerDirectory = 40
	pageSize          = 1 << 16 // A list has at most so many entries.
	flagReceiveOnly   = 8       // A file with it was edited in a receive-only folder.
)

// made is when every file was changed last.
var made = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

// fileName is the name of file i of a folder. A folder has the files 0 to globalFiles-1, and lacks the last of them.
func fileName(i int64) string {
	return fmt.Sprintf("%d/item-%05d.dat", 2015+(i/filesPerDirectory)%10, i)
}

// fileNumber is the number of a file, -1 where it has none.
func fileNumber(name string) int64 {
	var year, i int64
	if _, err := fmt.Sscanf(name, "%d/item-%05d.dat", &year, &i); err != nil || fileName(i) != name {
		return -1
	}
	return i
}

// fileValue is a file as the daemon writes it; of one that it does not know the members are empty.
func (d *Daemon) fileValue(name string, size, sequence, flags int64, by fleet.DeviceID) map[string]any {
	file := map[string]any{
		"name": name, "type": "FILE_INFO_TYPE_FILE", "size": size, "deleted": false, "ignored": false,
		"invalid": flags != 0, "localFlags": flags, "mustRescan": false, "noPermissions": false, "numBlocks": 1,
		"permissions": "0644", "sequence": sequence, "modified": made.Format(time.RFC3339Nano), "modifiedBy": by.Short(),
		"version": []string{by.Short() + ":" + strconv.FormatInt(made.Unix(), 10)},
	}
	if name == "" {
		file["modified"], file["modifiedBy"], file["permissions"] = "1970-01-01T00:00:00Z", "", "0"
		file["numBlocks"], file["version"] = 0, []string{}
	}
	if d.Version() == V2 {
		file["inodeChange"], file["blocksHash"], file["previousBlocksHash"] = file["modified"], nil, nil
		file["platform"] = map[string]any{"unix": nil, "windows": nil, "linux": nil, "darwin": nil, "freebsd": nil,
			"netbsd": nil}
	}
	return file
}

// author is the device that made the files of a folder: the first that it is shared with.
func author(config stconfig.Value) fleet.DeviceID {
	for member := range config.Get("devices").Values() {
		return fleet.DeviceID(member.Get("deviceID").Str())
	}
	return ""
}

func (e *endpoint) dbFile(w http.ResponseWriter, r *http.Request, _ string) {
	d, id, name := e.daemon, query(r).Get("folder"), query(r).Get("file")
	holders := d.holders(id, name)
	var says map[string]any
	err := e.lookUp(r, func(f *folder, config stconfig.Value) {
		global, local := d.fileVersions(f, config, name)
		if global == nil {
			return
		}
		says = map[string]any{"global": global, "local": local, "availability": holders, "mtime": map[string]any{
			"err": nil, "value": map[string]string{"real": "0001-01-01T00:00:00Z", "virtual": "0001-01-01T00:00:00Z"},
		}}
	})
	if err == nil && says == nil {
		err = answer(http.StatusNotFound, errors.New("No such object in the index")) //nolint:staticcheck // the daemon's text
	}
	if err != nil {
		sendError(w, err)
		return
	}
	e.sendJSON(w, r, says)
}

// fileVersions is a file as all have it and as this device has it, nil when nobody knows it. The caller holds mu.
func (d *Daemon) fileVersions(f *folder, config stconfig.Value, name string) (global, local map[string]any) {
	s := f.shown()
	by, size := author(config), fileBytes(s)
	if slices.Contains(f.conflicts, name) {
		file := d.fileValue(name, size, s.Sequence, 0, d.id)
		return file, file
	}
	i := fileNumber(name)
	switch {
	case i < 0 || i >= s.GlobalFiles+f.local.files:
		return nil, nil
	case i >= s.GlobalFiles:
		file := d.fileValue(name, size, s.Sequence, flagReceiveOnly, d.id)
		return file, file
	case i >= s.GlobalFiles-s.NeedFiles, f.fails(name):
		return d.fileValue(name, size, i+1, 0, by), d.fileValue("", 0, 0, 0, "")
	}
	return d.fileValue(name, size, i+1, 0, by), d.fileValue(name, size, i+1, 0, by)
}

// holders are the connected peers that have a file: nil where nobody has, as the daemon says it.
func (d *Daemon) holders(id, name string) []any {
	var found []any
	for _, peer := range d.sharers(id) {
		if to, _ := d.linkTo(string(peer.id)); to == nil {
			continue
		}
		numbers, err := peer.Summary(id)
		if i := fileNumber(name); err == nil && i >= 0 && i < numbers.GlobalFiles-numbers.NeedFiles && !peer.fails(id, name) {
			found = append(found, map[string]any{"id": peer.id, "fromTemporary": false})
		}
	}
	return found
}

// fails reports whether the folder could not bring in a file.
func (f *folder) fails(name string) bool {
	return slices.ContainsFunc(f.errors, func(e fileError) bool { return e.Path == name })
}

// fails reports whether a folder of the daemon could not bring in a file.
func (d *Daemon) fails(id, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.folders[id]
	return f != nil && f.fails(name)
}

// page is the part of a list that a request asks for.
func page[T any](r *http.Request, list []T) (part []T, number, size int) {
	number, _ = strconv.Atoi(query(r).Get("page"))
	size, _ = strconv.Atoi(query(r).Get("perpage"))
	number = max(number, 1)
	if size <= 0 {
		size = pageSize
	}
	most := min(size, pageSize)
	from := min(len(list), (min(number, pageSize)-1)*most)
	return list[from:min(len(list), from+most)], number, size
}

// folderErrors is null where nothing failed, an empty list where a page has nothing.
func (e *endpoint) folderErrors(w http.ResponseWriter, r *http.Request, _ string) {
	says := map[string]any{"folder": query(r).Get("folder")}
	if err := e.lookUp(r, func(f *folder, _ stconfig.Value) {
		says["errors"], says["page"], says["perpage"] = page(r, f.shownErrors())
	}); err != nil {
		sendError(w, err)
		return
	}
	e.sendJSON(w, r, says)
}

// missing are the files of a folder that lacks so many of them.
func (d *Daemon) missing(s fleet.FolderSummary, config stconfig.Value) []map[string]any {
	files := make([]map[string]any, 0, max(0, min(s.NeedFiles, pageSize)))
	for i := s.GlobalFiles - s.NeedFiles; i < s.GlobalFiles && len(files) < cap(files); i++ {
		file := d.fileValue(fileName(i), fileBytes(s), i+1, 0, author(config))
		file["numBlocks"] = nil // A list does not read the blocks.
		files = append(files, file)
	}
	return files
}

// dbNeed says of files that are on their way that they are in progress: the first, while the folder is syncing.
func (e *endpoint) dbNeed(w http.ResponseWriter, r *http.Request, _ string) {
	says := map[string]any{}
	if err := e.lookUp(r, func(f *folder, config stconfig.Value) {
		var files []map[string]any
		files, says["page"], says["perpage"] = page(r, e.daemon.missing(f.shown(), config))
		coming := 0
		if f.state == stateSyncing && says["page"] == 1 {
			coming = min(1, len(files))
		}
		says["progress"], says["queued"], says["rest"] = files[:coming], []any{}, files[coming:]
	}); err != nil {
		sendError(w, err)
		return
	}
	e.sendJSON(w, r, says)
}

// dbRemoteNeed is what a peer lacks.
func (e *endpoint) dbRemoteNeed(w http.ResponseWriter, r *http.Request, _ string) {
	peer, err := fleet.ParseDeviceID(query(r).Get("device"))
	if err != nil {
		http.Error(w, strconv.Quote(query(r).Get("device"))+": device ID invalid: incorrect length",
			http.StatusInternalServerError)
		return
	}
	numbers := e.daemon.lacks(peer, query(r).Get("folder"))
	says := map[string]any{}
	if err := e.lookUp(r, func(_ *folder, config stconfig.Value) {
		says["files"], says["page"], says["perpage"] = page(r, e.daemon.missing(numbers, config))
	}); err != nil {
		sendError(w, err)
		return
	}
	e.sendJSON(w, r, says)
}

// dbLocalChanged is what was edited in a receive-only folder.
func (e *endpoint) dbLocalChanged(w http.ResponseWriter, r *http.Request, _ string) {
	says := map[string]any{}
	if err := e.lookUp(r, func(f *folder, _ stconfig.Value) {
		files := []map[string]any{}
		for i := range f.local.files {
			files = append(files, e.daemon.fileValue(fileName(f.numbers.GlobalFiles+i), fileBytes(f.numbers),
				f.numbers.Sequence, flagReceiveOnly, e.daemon.id))
		}
		says["files"], says["page"], says["perpage"] = page(r, files)
	}); err != nil {
		sendError(w, err)
		return
	}
	e.sendJSON(w, r, says)
}

// changeFolder is the handler of an order to a folder. Where it means nothing it is answered with 200, too.
func changeFolder(change func(f *folder)) handler {
	return func(e *endpoint, w http.ResponseWriter, r *http.Request, _ string) {
		id := query(r).Get("folder")
		if _, err := e.daemon.folderConfig(id); err != nil {
			return
		}
		if err := e.daemon.change(id, change); err != nil {
			sendError(w, err)
		}
	}
}

package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// Files are items of folders, as daemons say when they are asked; see view.View.
type Files interface {
	FileOn(ctx context.Context, folder, path string, devices []*fleet.Registered) ([]view.FileOn, error)
	LastFailedItems(folder string, devices []*fleet.Registered) []view.FailedOn
	ConflictFiles(folder string, devices []*fleet.Registered) []view.ConflictFile
	FailedItems(
		ctx context.Context,
		device *fleet.Registered,
		folder string,
		page, size int,
	) ([]view.FailedOn, bool, error)
}

// Logs gives the newest lines of a daemon's own log, the oldest first.
type Logs interface {
	Log(ctx context.Context, id fleet.DeviceID, since time.Time) ([]fleet.LogLine, error)
}

const (
	maxAskedDevices = 100     // daemons that are asked for one answer
	failedPage      = 100     // items that a daemon is asked for
	maxFilePath     = 4 << 10 // bytes
)

// FileHandlers ask daemons for files and logs.
type FileHandlers struct {
	*base
	Files  Files
	Logs   Logs
	Shares Shares
}

func (s FileHandlers) routes(b *base) []route {
	s.base = b
	const folder = Prefix + "/folders/{folderID}"
	return []route{
		{method: http.MethodGet, path: folder + "/files", name: "listFileOnDevices", permission: auth.Read,
			summary: "Whether one file of a folder is on each device; the daemons are asked, 100 at most in one answer",
			query:   []parameter{filePath, tagParam, limitParam, afterParam}, reply: reflect.TypeFor[[]api.FileOnDevice](),
			volatile: true, off: s.Files == nil, handle: s.listFileOnDevices},
		{method: http.MethodGet, path: folder + "/failed", name: "listFailedItems", permission: auth.Read,
			summary: "Items that daemons could not sync: of one device all, of all devices the first of each as last told",
			query:   []parameter{failedDevice, limitParam, afterParam}, reply: reflect.TypeFor[[]api.FailedItem](),
			volatile: true, off: s.Files == nil, handle: s.listFailedItems},
		{method: http.MethodGet, path: folder + "/conflicts", name: "listConflictFiles", permission: auth.Read,
			summary: "Conflict files, the newest first, as far as daemons remember them: of each device the newest 100 at most",
			query:   []parameter{conflictDevice, limitParam, afterParam}, reply: reflect.TypeFor[[]api.ConflictFile](),
			volatile: true, off: s.Files == nil, handle: s.listConflictFiles},
		{method: http.MethodGet, path: Prefix + "/devices/{deviceID}/log", name: "getDeviceLog", permission: auth.Read,
			summary: "The newest lines of the daemon's own log, the oldest first",
			query:   []parameter{logSince}, reply: reflect.TypeFor[[]api.LogLine](), volatile: true, off: s.Logs == nil,
			handle: s.getDeviceLog},
	}
}

var (
	failedDevice   = deviceParam("Only items of this device, which is asked for them")
	conflictDevice = deviceParam("Only files on this device")
	logSince       = timeParam("since", "Only lines after this time")
	filePath       = func() param[string] {
		p := textParam("path", "The file, directory or symlink: its path within the folder, with / between the names")
		text := p.parse
		p.required = true
		p.parse = func(given string) (string, error) {
			given, err := text(given)
			if err == nil && (given == "" || len(given) > maxFilePath || strings.ContainsRune(given, 0)) {
				err = fleet.Invalidf("path", "path is a path within the folder, of at most %d bytes", maxFilePath)
			}
			return given, err
		}
		return p
	}()
)

func (s FileHandlers) listFileOnDevices(r *request) (reply, error) {
	path, err := filePath.of(r)
	if err != nil {
		return reply{}, err
	}
	folder, devices, q, err := s.devicesOfFolder(r)
	if err != nil {
		return reply{}, err
	}
	devices = slices.DeleteFunc(devices, func(d *fleet.Registered) bool { return !q.carries(d.Tags) })
	if q.limit == 0 || q.limit > maxAskedDevices {
		q.limit = maxAskedDevices
	}
	page, link, err := pageOfDevices(r, q, devices)
	if err != nil {
		return reply{}, err
	}
	inside, err := s.insideOf(r.Context())
	if err != nil {
		return reply{}, err
	}
	found, err := s.Files.FileOn(r.Context(), folder, path, page)
	if err != nil {
		return reply{}, err
	}
	shown := make([]api.FileOnDevice, len(found))
	for i, one := range found {
		shown[i] = wireFile(one, inside)
		if !r.who.Scope.Whole() {
			shown[i].ModifiedBy = "" // a device outside may have made the version
		}
	}
	out, err := showPage(shown)
	out.link = link
	return out, err
}

// devicesOfFolder are the folder of the path, the devices that have it, and what the client asks of the list.
func (s FileHandlers) devicesOfFolder(r *request) (folder string, devices []*fleet.Registered, q listQuery, err error) {
	if folder, err = r.folderID(); err != nil {
		return folder, nil, q, err
	}
	q, registry, err := s.listAsked(r)
	if err != nil {
		return folder, nil, q, err
	}
	if devices = s.Shares.DevicesWith(registry, folder); len(devices) == 0 {
		err = noFolder(nil)
	}
	return folder, devices, q, err
}

func wireFile(f view.FileOn, inside func(fleet.DeviceID) bool) api.FileOnDevice {
	local, global := f.File.Local, f.File.Global
	wire := api.FileOnDevice{DeviceID: string(f.Device.ID), Label: f.Device.Label, State: string(f.Presence),
		Reason: f.Reason, Failed: f.Failed, Version: local.Digest(), Size: local.Size, Modified: moment(local.Modified),
		Newest: global.Digest(), NewestSize: global.Size, ModifiedBy: global.ModifiedBy, HeldBy: []string{}}
	for _, holder := range f.File.HeldBy {
		if inside(holder) {
			wire.HeldBy = append(wire.HeldBy, string(holder))
		}
	}
	return wire
}

func (s FileHandlers) listFailedItems(r *request) (reply, error) {
	id, err := failedDevice.of(r)
	if err != nil {
		return reply{}, err
	}
	folder, devices, q, err := s.devicesOfFolder(r)
	if err != nil {
		return reply{}, err
	}
	first, err := q.place()
	if err != nil {
		return reply{}, err
	}
	if id == "" {
		return showFrom(r, q, first, s.Files.LastFailedItems(folder, devices), wireFailed)
	}
	at := slices.IndexFunc(devices, func(d *fleet.Registered) bool { return d.ID == id })
	if at < 0 {
		return reply{}, fleet.Invalidf("query.device", "this device does not have the folder")
	}
	if q.limit == 0 || q.limit > failedPage {
		q.limit = failedPage
	}
	items, more, err := s.Files.FailedItems(r.Context(), devices[at], folder, first/q.limit+1, q.limit)
	if err != nil {
		return reply{}, err
	}
	out, err := showPage(mapped(items, wireFailed))
	if more {
		out.link = r.next(strconv.Itoa(first + q.limit))
	}
	return out, err
}

// place is where in a list that has no other order a page begins.
func (q listQuery) place() (first int, err error) {
	if q.after == "" {
		return 0, nil
	}
	if first, err = strconv.Atoi(q.after); err != nil || first < 0 {
		return 0, noSuchPlace()
	}
	return first, nil
}

func (s FileHandlers) listConflictFiles(r *request) (reply, error) {
	id, err := conflictDevice.of(r)
	if err != nil {
		return reply{}, err
	}
	folder, devices, q, err := s.devicesOfFolder(r)
	if err != nil {
		return reply{}, err
	}
	first, err := q.place()
	if err != nil {
		return reply{}, err
	}
	if id != "" {
		devices = slices.DeleteFunc(devices, func(d *fleet.Registered) bool { return d.ID != id })
		if len(devices) == 0 {
			return reply{}, fleet.Invalidf("query.device", "this device does not have the folder")
		}
	}
	return showFrom(r, q, first, s.Files.ConflictFiles(folder, devices), func(file view.ConflictFile) api.ConflictFile {
		return api.ConflictFile{Path: file.Path, At: api.Time{Time: file.At},
			Devices: mapped(file.Devices, func(d *fleet.Registered) string { return string(d.ID) })}
	})
}

// showFrom shows a page of a list that has no other order, from a place on.
func showFrom[T, Wire any](r *request, q listQuery, first int, all []T, wire func(T) Wire) (reply, error) {
	all = all[min(first, len(all)):]
	link := ""
	if q.limit > 0 && len(all) > q.limit {
		all, link = all[:q.limit], r.next(strconv.Itoa(first+q.limit))
	}
	out, err := showPage(mapped(all, wire))
	out.link = link
	return out, err
}

func wireFailed(item view.FailedOn) api.FailedItem {
	return api.FailedItem{DeviceID: string(item.Device.ID), Path: item.Path, Text: item.Text}
}

func (s FileHandlers) getDeviceLog(r *request) (reply, error) {
	since, err := logSince.of(r)
	if err != nil {
		return reply{}, err
	}
	device, err := s.registered(r)
	if err != nil {
		return reply{}, err
	}
	lines, err := s.Logs.Log(r.Context(), device.ID, since)
	if err != nil {
		return reply{}, err
	}
	return show(mapped(lines, func(line fleet.LogLine) api.LogLine {
		return api.LogLine{At: api.Time{Time: line.At}, Level: line.Level, Text: line.Text}
	}))
}

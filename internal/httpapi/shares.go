package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// Shares gives how configurations share folders.
type Shares interface {
	// FolderShare is a folder in the configuration that a device was last seen with; nil where it has none of that ID, or
	// was never seen.
	FolderShare(ctx context.Context, id fleet.DeviceID, folder string) (*fleet.FolderShare, error)
	// DeviceShares gives each folder in that configuration, until more is false, and the configuration's digest, also
	// with an error; "" for a device that was never seen. One that has no usable folders is an error with
	// CodeUnbelievable.
	DeviceShares(ctx context.Context, id fleet.DeviceID, more func(fleet.FolderShare) bool) (digest string, err error)
}

const (
	maxSharesPage = 200 // devices whose configurations are read for one answer
	maxMatrix     = 60  // devices of a matrix
	maxMatrixRows = 500 // folders of a matrix
)

func (s *server) shareRoutes() []route {
	return []route{
		{method: http.MethodGet, path: Prefix + "/folders/{folderID}/shares", name: "listFolderShares",
			permission: auth.Read, query: []*huma.Param{limitParam, afterParam},
			summary: "How each device shares the folder, and which shares only one side has; 200 devices at most",
			reply:   reflect.TypeFor[[]api.FolderShare](), off: s.Shares == nil || s.Inventory == nil,
			handle: s.listFolderShares},
		{method: http.MethodGet, path: Prefix + "/overview/one-sided-shares", name: "listOneSidedShares",
			permission: auth.Read, query: []*huma.Param{searchParam, tagParam, limitParam, afterParam},
			summary: "Shares of all folders that only one side has, by folder; 10,000 at most",
			reply:   reflect.TypeFor[[]api.OneSidedShare](), off: s.Shares == nil || s.Inventory == nil,
			handle: s.listOneSidedShares},
		{method: http.MethodGet, path: Prefix + "/overview/matrix", name: "getFolderMatrix", permission: auth.Read,
			summary: "Folders by device: how each of them is on the first 60 devices that the filters pick",
			query:   []*huma.Param{searchParam, tagParam}, reply: reflect.TypeFor[api.FolderMatrix](),
			off: s.Inventory == nil, handle: s.getFolderMatrix},
	}
}

func (s *server) listFolderShares(r *request) (reply, error) {
	folder, err := r.folderID()
	if err != nil {
		return reply{}, err
	}
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	var with []*fleet.Registered
	for _, device := range sortedDevices(registry) {
		if snapshot := s.Inventory.Snapshot(device.ID); snapshot != nil && hasFolder(snapshot, folder) {
			with = append(with, device)
		}
	}
	if len(with) == 0 {
		return reply{}, &fleet.Error{Code: fleet.CodeNotFound, Message: "no device has a folder with this ID",
			Hint: "GET " + Prefix + "/folders lists all. A folder's ID is not its label."}
	}
	if q.limit == 0 || q.limit > maxSharesPage {
		q.limit = maxSharesPage
	}
	known := &shareReader{server: s, folder: folder, read: map[fleet.DeviceID]*fleet.FolderShare{}}
	page, link, err := pageOfDevices(r, q, with)
	if err != nil {
		return reply{}, err
	}
	shown := make([]api.FolderShare, len(page))
	for i, device := range page {
		if shown[i], err = known.of(r.Context(), registry, device); err != nil {
			return reply{}, err
		}
	}
	out, err := showPage(shown)
	out.link = link
	return out, err
}

// pageOfDevices are the devices that one answer is about, and the way to the next ones.
func pageOfDevices(r *request, q listQuery, all []*fleet.Registered) ([]*fleet.Registered, string, error) {
	first := 0
	if q.after != "" {
		at := slices.IndexFunc(all, func(device *fleet.Registered) bool { return string(device.ID) == q.after })
		if at < 0 {
			return nil, "", fleet.Invalidf("query.after",
				"after is no place in this list: take it from the Link header of the page before")
		}
		first = at + 1
	}
	end := min(first+q.limit, len(all))
	if end == len(all) {
		return all[first:end], "", nil
	}
	return all[first:end], r.next(string(all[end-1].ID)), nil
}

func hasFolder(s *fleet.Snapshot, folder string) bool {
	return slices.ContainsFunc(s.Folders, func(f fleet.FolderLabel) bool { return f.Folder == folder })
}

// shareReader reads each configuration once for one answer.
type shareReader struct {
	*server
	folder string
	read   map[fleet.DeviceID]*fleet.FolderShare
}

// share is how a device has the folder; nil where it has not. read is false where enough was read already.
func (k *shareReader) share(ctx context.Context, id fleet.DeviceID) (share *fleet.FolderShare, read bool, err error) {
	if share, read = k.read[id]; read {
		return share, true, nil
	}
	if len(k.read) >= 2*maxSharesPage {
		return nil, false, nil
	}
	err = k.within(ctx, func(ctx context.Context) (err error) {
		share, err = k.Shares.FolderShare(ctx, id, k.folder)
		return err
	})
	if err == nil {
		k.read[id] = share
	}
	return share, err == nil, err
}

func (k *shareReader) of(ctx context.Context, registry *fleet.Registry, device *fleet.Registered) (api.FolderShare,
	error) {
	out := api.FolderShare{DeviceID: string(device.ID), Label: device.Label, Peers: []api.SharePeer{}}
	share, read, err := k.share(ctx, device.ID)
	if err != nil || !read || share == nil {
		return out, err
	}
	out.Known, out.Type, out.Path, out.Paused = true, share.Type, share.Path, share.Paused
	for _, peer := range share.Peers {
		if peer.Device == device.ID {
			continue
		}
		shown := api.SharePeer{DeviceID: string(peer.Device), Encrypted: peer.Encrypted, Side: "unmanaged"}
		if other := registry.Devices[peer.Device]; other != nil {
			shown.Label = other.Label
			if shown.Side, err = k.sideOf(ctx, device.ID, other.ID); err != nil {
				return out, err
			}
		}
		out.Peers = append(out.Peers, shown)
	}
	return out, nil
}

// sideOf tells whether the peer shares the folder with the device, too.
func (k *shareReader) sideOf(ctx context.Context, device, peer fleet.DeviceID) (string, error) {
	snapshot := k.Inventory.Snapshot(peer)
	if snapshot == nil || snapshot.Digest == "" {
		return "unknown", nil
	}
	back, read, err := k.share(ctx, peer)
	switch {
	case err != nil || !read:
		return "unknown", err
	case back != nil && slices.ContainsFunc(back.Peers, func(p fleet.FolderPeer) bool { return p.Device == device }):
		return "both", nil
	}
	return "onlyHere", nil
}

func (s *server) getFolderMatrix(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	out := api.FolderMatrix{Devices: []api.MatrixDevice{}, Folders: []api.MatrixFolder{}}
	rows := map[string]*api.MatrixFolder{}
	for _, device := range sortedDevices(registry) {
		if !q.carries(device.Tags) || !q.holds(device.Label, string(device.ID)) {
			continue
		}
		snapshot := s.Inventory.Snapshot(device.ID)
		if snapshot == nil || len(snapshot.Folders) == 0 {
			continue
		}
		if len(out.Devices) == maxMatrix {
			out.MoreDevices++
			continue
		}
		column := len(out.Devices)
		out.Devices = append(out.Devices, api.MatrixDevice{DeviceID: string(device.ID), Label: device.Label,
			Connection: string(snapshot.Connection)})
		for _, f := range snapshot.Folders {
			row := rows[f.Folder]
			if row == nil {
				row = &api.MatrixFolder{Folder: f.Folder, Label: f.Label, Cells: []api.MatrixCell{}}
				rows[f.Folder] = row
			}
			row.Cells = append(row.Cells, matrixCell(column, snapshot, f.Folder))
		}
	}
	for _, row := range rows {
		out.Folders = append(out.Folders, *row)
	}
	slices.SortFunc(out.Folders, func(a, b api.MatrixFolder) int { return strings.Compare(a.Folder, b.Folder) })
	if out.MoreFolders = max(0, len(out.Folders)-maxMatrixRows); out.MoreFolders > 0 {
		out.Folders = out.Folders[:maxMatrixRows]
	}
	return show(out)
}

func matrixCell(column int, s *fleet.Snapshot, folder string) api.MatrixCell {
	summary, known := s.Summaries[folder]
	cell := api.MatrixCell{Device: column, State: "inSync", Completion: completionOf(summary),
		NeedBytes: summary.NeedBytes}
	switch {
	case !known:
		cell.State, cell.Completion = "unknown", 0
	case s.Connection != fleet.Online:
		cell.State = "unknown"
	case summary.InError():
		cell.State = "inError"
	case summary.State == "":
		cell.State = "paused"
	case summary.Lacks():
		cell.State = "outOfSync"
	}
	return cell
}

// completionOf is how much of a folder a device has, in percent; 100 only where it lacks nothing at all.
func completionOf(f fleet.FolderSummary) int {
	switch {
	case !f.Lacks():
		return 100
	case f.GlobalBytes <= 0:
		return 99
	}
	return int(max(0, min(99, float64(f.GlobalBytes-f.NeedBytes)/float64(f.GlobalBytes)*100)))
}

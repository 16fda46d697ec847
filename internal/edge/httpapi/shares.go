package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// Shares is how devices share folders; see view.View.
type Shares interface {
	DevicesWith(registry *fleet.Registry, folder string) []*fleet.Registered
	FoldersOn(device fleet.DeviceID) []string
	SharesOf(ctx context.Context, registry *fleet.Registry, folder string, devices []*fleet.Registered) (
		[]view.SharedFolder, error)
	OneSidedShares(ctx context.Context, whole, seen *fleet.Registry,
		show func(from view.Source, shares func() []view.OneSidedShare) error) error
	// Matrix is how folders stand on the devices that a query picks.
	Matrix(ctx context.Context, registry *fleet.Registry, q view.MatrixQuery) (view.Matrix, error)
}

// ShareHandlers show how devices share folders.
type ShareHandlers struct {
	*base
	Shares Shares
}

const (
	maxSharesPage = 200    // devices whose configurations are read for one answer
	maxOneSided   = 10_000 // shares of one answer
)

func (s ShareHandlers) routes(b *base) []route {
	s.base = b
	return []route{
		{method: http.MethodGet, path: Prefix + "/folders/{folderID}/shares", name: "listFolderShares",
			permission: auth.Read, query: []parameter{limitParam, afterParam, sharePeers, shareSide},
			summary: "How each device shares the folder, and which shares only one side has; 200 devices at most",
			reply:   reflect.TypeFor[[]api.FolderShare](), off: s.Shares == nil, handle: s.listFolderShares},
		{method: http.MethodGet, path: Prefix + "/overview/one-sided-shares", name: "listOneSidedShares",
			permission: auth.Read, query: []parameter{searchParam, tagParam, limitParam, afterParam},
			summary: "Shares of all folders that only one side has, by folder; 10,000 at most",
			reply:   reflect.TypeFor[[]api.OneSidedShare](), off: s.Shares == nil, handle: s.listOneSidedShares},
		{method: http.MethodGet, path: Prefix + "/overview/matrix", name: "getFolderMatrix", permission: auth.Read,
			summary: "Folders by device: how each of them is on the devices that the filters pick; 60 devices and 500 " +
				"folders at most",
			query: append(slices.Clone(inventoryFilters), sortParam, limitParam, offsetParam, matrixFolder,
				matrixFolderLimit, matrixFolderOffset),
			reply: reflect.TypeFor[api.FolderMatrix](), off: s.Shares == nil, handle: s.getFolderMatrix},
	}
}

var (
	sharePeers = numberParam("peers", "Of each device at most so many peers that are connected to it, and as many that "+
		"are not; those that do not share it back first", 1, maxListLimit)
	shareSide = choiceParam("side", "Only devices and peers with this side of a share: those that peers do not share back",
		view.OnlyHere)
	matrixFolder       = textParam("folder", "Only folders with this text in ID or label, whatever its letter case")
	matrixFolderLimit  = numberParam("folderLimit", "At most so many folders", 1, view.MaxMatrixFolders)
	matrixFolderOffset = numberParam("folderOffset", "Leave out so many folders", 0, 0)
)

func (s ShareHandlers) listFolderShares(r *request) (reply, error) {
	folder, err := r.folderID()
	if err != nil {
		return reply{}, err
	}
	q, registry, err := s.listAsked(r)
	if err != nil {
		return reply{}, err
	}
	var peers int
	var side view.Side
	if err := cmp.Or(sharePeers.read(r, &peers), shareSide.read(r, &side)); err != nil {
		return reply{}, err
	}
	with := s.Shares.DevicesWith(registry, folder)
	if len(with) == 0 {
		return reply{}, noFolder(nil)
	}
	if q.limit == 0 || q.limit > maxSharesPage {
		q.limit = maxSharesPage
	}
	page, link, err := pageOfDevices(r, q, with)
	if err != nil {
		return reply{}, err
	}
	shares, err := s.Shares.SharesOf(r.Context(), registry, folder, page)
	if err != nil {
		return reply{}, err
	}
	if side == view.OnlyHere {
		shares = oneSidedOf(shares)
	}
	out, err := showPage(mapped(shares, func(one view.SharedFolder) api.FolderShare { return wireShare(one, peers) }))
	out.link = link
	return out, err
}

// oneSidedOf are the shares that peers do not have, with those peers alone.
func oneSidedOf(shares []view.SharedFolder) (found []view.SharedFolder) {
	for _, share := range shares {
		if one := share.OneSided(); len(one.Peers) > 0 {
			found = append(found, one)
		}
	}
	return found
}

// pageOfDevices are the devices that one answer is about, and the way to the next ones.
func pageOfDevices(r *request, q listQuery, all []*fleet.Registered) ([]*fleet.Registered, string, error) {
	first := 0
	if q.after != "" {
		at := slices.IndexFunc(all, func(device *fleet.Registered) bool { return string(device.ID) == q.after })
		if at < 0 {
			return nil, "", noSuchPlace()
		}
		first = at + 1
	}
	end := min(first+q.limit, len(all))
	if end == len(all) {
		return all[first:end], "", nil
	}
	return all[first:end], r.next(string(all[end-1].ID)), nil
}

func wireShare(s view.SharedFolder, mostPeers int) api.FolderShare {
	wire := api.FolderShare{DeviceID: string(s.Device.ID), Label: s.Device.Label, Peers: []api.SharePeer{}}
	if s.Share == nil {
		return wire
	}
	wire.Known, wire.Type, wire.Path, wire.Paused = true, s.Share.Type, s.Share.Path, s.Share.Paused
	wire.PeerCount, wire.ConnectedCount = len(s.Peers), s.Connected()
	for _, peer := range s.FirstPeers(mostPeers) {
		wire.Peers = append(wire.Peers, api.SharePeer{DeviceID: string(peer.Device), Label: peer.Label,
			Encrypted: peer.Encrypted, Connected: connectedWord(peer), Side: string(peer.Side)})
	}
	return wire
}

func connectedWord(peer view.SharePeer) string {
	switch {
	case !peer.KnowsConnected:
		return "unknown"
	case peer.Connected:
		return "yes"
	}
	return "no"
}

func (s ShareHandlers) listOneSidedShares(r *request) (out reply, err error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	if q.limit == 0 || q.limit > maxOneSided {
		q.limit = maxOneSided
	}
	whole, err := s.wholeRegistry(r.Context())
	if err != nil {
		return reply{}, err
	}
	seen, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	err = s.Shares.OneSidedShares(r.Context(), whole, seen,
		func(from view.Source, shares func() []view.OneSidedShare) (err error) {
			out, err = s.answered(r, from, "", func() (reply, error) { return showOneSided(r, q, shares()) })
			return err
		})
	return out, err
}

func showOneSided(r *request, q listQuery, all []view.OneSidedShare) (reply, error) {
	return showList(r, q, all, listing[view.OneSidedShare, api.OneSidedShare]{
		matches: func(o view.OneSidedShare) bool {
			return (q.carries(o.Device.Tags) || q.carries(o.Peer.Tags)) && q.holds(o.Folder.Folder, o.Folder.Label,
				o.Device.Label, string(o.Device.ID), o.Peer.Label, string(o.Peer.ID))
		},
		cursor: func(o view.OneSidedShare) string {
			return string(o.Device.ID) + " " + string(o.Peer.ID) + " " + o.Folder.Folder
		},
		beyond: func(cursor string, o view.OneSidedShare) (bool, error) {
			device, rest, _ := strings.Cut(cursor, " ")
			peer, folder, _ := strings.Cut(rest, " ")
			place := view.SharePlace{Folder: folder, Device: fleet.DeviceID(device), Peer: fleet.DeviceID(peer)}
			return o.Place().Compare(place) > 0, nil
		},
		wire: func(o view.OneSidedShare) api.OneSidedShare {
			return api.OneSidedShare{Folder: o.Folder.Folder, FolderLabel: o.Folder.Label, DeviceID: string(o.Device.ID),
				Label: o.Device.Label, PeerID: string(o.Peer.ID), PeerLabel: o.Peer.Label}
		},
	})
}

func (s ShareHandlers) getFolderMatrix(r *request) (reply, error) {
	q, err := r.matrixQuery()
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	matrix, err := s.Shares.Matrix(r.Context(), registry, q)
	if err != nil {
		return reply{}, err
	}
	out, err := show(wireMatrix(matrix))
	out.link = r.nextAt(matrix.Next)
	return out, err
}

// matrixQuery reads which part of the matrix is asked for.
func (r *request) matrixQuery() (q view.MatrixQuery, err error) {
	if q.Devices, err = r.inventoryQuery(); err != nil {
		return q, err
	}
	err = cmp.Or(matrixFolder.read(r, &q.Folder), matrixFolderLimit.read(r, &q.FolderLimit),
		matrixFolderOffset.read(r, &q.FolderStart))
	q.Folder = strings.ToLower(q.Folder)
	return q, err
}

func wireMatrix(matrix view.Matrix) api.FolderMatrix {
	out := api.FolderMatrix{Devices: []api.MatrixDevice{}, Folders: []api.MatrixFolder{},
		MatchedDevices: matrix.MatchedDevices, MoreDevices: matrix.MatchedDevices - len(matrix.Devices),
		MatchedFolders: matrix.MatchedFolders, MoreFolders: matrix.MatchedFolders - len(matrix.Folders)}
	for _, d := range matrix.Devices {
		out.Devices = append(out.Devices, api.MatrixDevice{DeviceID: string(d.Device.ID), Label: d.Device.Label,
			Connection: string(d.Connection)})
	}
	for _, f := range matrix.Folders {
		row := api.MatrixFolder{Folder: f.Folder, Label: f.Label, Cells: make([]api.MatrixCell, len(f.Cells))}
		for i, cell := range f.Cells {
			row.Cells[i] = wireCell(cell)
		}
		out.Folders = append(out.Folders, row)
	}
	return out
}

func wireCell(cell view.MatrixCell) api.MatrixCell {
	wire := api.MatrixCell{Device: cell.Device, State: cell.State.String(), NeedBytes: cell.Summary.NeedBytes}
	if cell.Current {
		completion := cell.Summary.Completion()
		wire.Completion = &completion
	}
	return wire
}

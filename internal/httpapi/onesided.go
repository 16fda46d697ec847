package httpapi

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"muster/api"
	"muster/internal/fleet"
)

const (
	maxOneSided    = 10_000  // shares of one answer
	readsAtOnce    = 4       // configurations
	maxKnownShares = 200_000 // of one device; with more of them its side is not known
)

// shareIndex keeps with whom each device shares each folder. A configuration is read when a request asks and the
// device was seen with another one since.
type shareIndex struct {
	turn    chan struct{} // of the one request that has the rest: it reads configurations meanwhile
	devices map[fleet.DeviceID]*deviceShares
	version uint64 // grows when a device's shares become others
}

// deviceShares are the shares of one device. They are immutable.
type deviceShares struct {
	digest  string // of the configuration that has them
	folders map[string][]peerHandle
	unknown bool // folders has not all: they are too many, or what the daemon gave is none
}

// peerHandle is a device ID that is kept once for all that share with it.
type peerHandle = unique.Handle[fleet.DeviceID]

func comparePeers(a, b peerHandle) int { return cmp.Compare(a.Value(), b.Value()) }

// has tells whether the device shares the folder with a peer.
func (d *deviceShares) has(folder string, peer peerHandle) bool {
	_, found := slices.BinarySearchFunc(d.folders[folder], peer, comparePeers)
	return found
}

// readShares reads the shares of a device.
func (s *server) readShares(ctx context.Context, id fleet.DeviceID) (*deviceShares, error) {
	var out *deviceShares
	err := s.within(ctx, func(ctx context.Context) (err error) {
		count := 0
		out = &deviceShares{folders: map[string][]peerHandle{}}
		out.digest, err = s.Shares.DeviceShares(ctx, id, func(share fleet.FolderShare) bool {
			if count += len(share.Peers); count > maxKnownShares {
				out.folders, out.unknown = nil, true
				return false
			}
			peers := make([]peerHandle, 0, len(share.Peers))
			for _, peer := range share.Peers {
				if peer.Device != id {
					peers = append(peers, unique.Make(peer.Device))
				}
			}
			slices.SortFunc(peers, comparePeers)
			out.folders[share.Folder] = peers
			return true
		})
		if fleet.CodeOf(err) == fleet.CodeUnbelievable { // costs that device alone
			out.folders, out.unknown, err = nil, true, nil
		}
		return err
	})
	return out, err
}

// takeTurn waits until no other request has the index; the given function gives it back.
func (x *shareIndex) takeTurn(ctx context.Context) (done func(), err error) {
	select {
	case x.turn <- struct{}{}:
		return func() { <-x.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refreshShares brings the index up to the configurations that the devices were last seen with. It is the caller's
// turn.
func (s *server) refreshShares(ctx context.Context, registry *fleet.Registry) error {
	x := &s.shares
	if x.devices == nil {
		x.devices = map[fleet.DeviceID]*deviceShares{}
	}
	before := len(x.devices)
	maps.DeleteFunc(x.devices, func(id fleet.DeviceID, _ *deviceShares) bool { return registry.Devices[id] == nil })
	if len(x.devices) < before {
		x.version++
	}
	var read sync.Mutex // guards x.devices and x.version while devices are read
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for id, known := range x.stale(registry, s.Inventory.Snapshot) {
		group.Go(func() error {
			now, err := s.readShares(ctx, id)
			if err != nil || now.digest == "" || now.digest == known { // what it was seen with is not kept yet
				return err
			}
			read.Lock()
			defer read.Unlock()
			x.devices[id] = now
			x.version++
			return nil
		})
	}
	return group.Wait()
}

// stale are the devices that were seen with another configuration than the one that is known, with the digest of that
// one. It is the caller's turn.
func (x *shareIndex) stale(registry *fleet.Registry,
	of func(fleet.DeviceID) *fleet.Snapshot) map[fleet.DeviceID]string {
	stale := map[fleet.DeviceID]string{}
	for id := range registry.Devices {
		snapshot, known := of(id), ""
		if shares := x.devices[id]; shares != nil {
			known = shares.digest
		}
		if snapshot != nil && snapshot.Digest != known {
			stale[id] = known
		}
	}
	return stale
}

// shareSource is what a list of one-sided shares is made from.
type shareSource struct {
	registry *fleet.Registry
	folders  *fleet.FolderLabel
	version  uint64
}

func (s *server) listOneSidedShares(r *request) (reply, error) {
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
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	folders, err := s.foldersFor(r)
	if err != nil {
		return reply{}, err
	}
	done, err := s.shares.takeTurn(r.Context())
	if err != nil {
		return reply{}, err
	}
	defer done()
	if err := s.refreshShares(r.Context(), whole); err != nil {
		return reply{}, err
	}
	source := shareSource{registry: registry, folders: unsafe.SliceData(folders), version: s.shares.version}
	return s.shareLists.cached(source, r, "", func() (reply, error) {
		return showList(r, q, s.shares.oneSided(registry, folders), listing[oneSidedShare, api.OneSidedShare]{
			matches: func(o oneSidedShare) bool { return o.matches(q) },
			cursor:  oneSidedShare.cursor,
			beyond:  func(cursor string, o oneSidedShare) (bool, error) { return o.beyond(cursor), nil },
			wire:    oneSidedShare.wire,
		})
	})
}

// oneSidedShare is a share that device has and peer has not.
type oneSidedShare struct {
	folder       *fleet.FolderLabel
	device, peer *fleet.Registered
}

// oneSided are the shares between the devices of a registry that one side has and the other one does not, by folder,
// then IDs. What is not known of either side is left out. It is the caller's turn.
func (x *shareIndex) oneSided(registry *fleet.Registry, folders []fleet.FolderLabel) []oneSidedShare {
	labels := make(map[string]*fleet.FolderLabel, len(folders))
	for i := range folders {
		labels[folders[i].Folder] = &folders[i]
	}
	var found []oneSidedShare
	for id, device := range registry.Devices {
		shares := x.devices[id]
		if shares == nil {
			continue
		}
		self := unique.Make(id)
		for folder, peers := range shares.folders {
			label := labels[folder]
			if label == nil {
				continue
			}
			for _, peer := range peers {
				other, back := registry.Devices[peer.Value()], x.devices[peer.Value()]
				if other != nil && back != nil && !back.unknown && !back.has(folder, self) {
					found = append(found, oneSidedShare{folder: label, device: device, peer: other})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b oneSidedShare) int {
		return a.place().compare(b.place())
	})
	return found
}

// sharePlace is where a share is in the list. It has IDs alone: a share that is gone has one, too.
type sharePlace struct {
	folder       string
	device, peer fleet.DeviceID
}

func (p sharePlace) compare(other sharePlace) int {
	return cmp.Or(cmp.Compare(p.folder, other.folder), cmp.Compare(p.device, other.device),
		cmp.Compare(p.peer, other.peer))
}

func (o oneSidedShare) place() sharePlace {
	return sharePlace{folder: o.folder.Folder, device: o.device.ID, peer: o.peer.ID}
}

func (o oneSidedShare) matches(q listQuery) bool {
	return (q.carries(o.device.Tags) || q.carries(o.peer.Tags)) &&
		q.holds(o.folder.Folder, o.folder.Label, o.device.Label, string(o.device.ID), o.peer.Label, string(o.peer.ID))
}

func (o oneSidedShare) cursor() string {
	return string(o.device.ID) + " " + string(o.peer.ID) + " " + o.folder.Folder
}

func (o oneSidedShare) beyond(cursor string) bool {
	device, rest, _ := strings.Cut(cursor, " ")
	peer, folder, _ := strings.Cut(rest, " ")
	return o.place().compare(sharePlace{folder, fleet.DeviceID(device), fleet.DeviceID(peer)}) > 0
}

func (o oneSidedShare) wire() api.OneSidedShare {
	return api.OneSidedShare{Folder: o.folder.Folder, FolderLabel: o.folder.Label, DeviceID: string(o.device.ID),
		Label: o.device.Label, PeerID: string(o.peer.ID), PeerLabel: o.peer.Label}
}

package view

import (
	"cmp"
	"context"
	"slices"
	"unique"

	"muster/internal/fleet"
)

const (
	readsAtOnce    = 4       // configurations
	maxKnownShares = 200_000 // of one device; with more of them its side is not known
	maxShareReads  = 400     // configurations that are read for one folder
)

// Shares gives how the configurations that devices were last seen with share folders.
type Shares interface {
	// FolderShare is a folder of a device; nil where it has none of that ID, or was never seen.
	FolderShare(ctx context.Context, id fleet.DeviceID, folder string) (*fleet.FolderShare, error)
	// DeviceShares gives each folder of a device until more is false, and the configuration's digest, also with an error;
	// "" for a device that was never seen. A configuration that has no usable folders is an error with CodeUnbelievable.
	DeviceShares(ctx context.Context, id fleet.DeviceID, more func(fleet.FolderShare) bool) (digest string, err error)
}

// deviceShares is with whom one device shares each folder. It is immutable.
type deviceShares struct {
	digest  string // of the configuration that has them
	folders map[string][]peerHandle
	unknown bool // folders has not all: they are too many, or what the daemon gave cannot be read
}

// peerHandle is a device ID that is kept once for all that share with it.
type peerHandle = unique.Handle[fleet.DeviceID]

func comparePeers(a, b peerHandle) int { return cmp.Compare(a.Value(), b.Value()) }

// has tells whether the device shares the folder with a peer.
func (d *deviceShares) has(folder string, peer peerHandle) bool {
	_, found := slices.BinarySearchFunc(d.folders[folder], peer, comparePeers)
	return found
}

// sharesStale tells whether the device was seen with another configuration than the one that is known.
func (v *View) sharesStale(id fleet.DeviceID, known *deviceShares) bool {
	snapshot, digest := v.Snapshot(id), ""
	if known != nil {
		digest = known.digest
	}
	return snapshot != nil && snapshot.Digest != digest
}

// readShares reads the shares of a device.
func (v *View) readShares(ctx context.Context, _ *fleet.Registry, device *fleet.Registered, before *deviceShares,
) (*deviceShares, error) {
	if !v.sharesStale(device.ID, before) {
		return before, nil
	}
	var now *deviceShares
	err := v.Within(ctx, func(ctx context.Context) (err error) {
		count := 0
		now = &deviceShares{folders: map[string][]peerHandle{}}
		now.digest, err = v.Shares.DeviceShares(ctx, device.ID, func(share fleet.FolderShare) bool {
			if count += len(share.Peers); count > maxKnownShares {
				now.folders, now.unknown = nil, true
				return false
			}
			now.folders[share.Folder] = handlesOf(share.Peers, device.ID)
			return true
		})
		if fleet.CodeOf(err) == fleet.CodeUnbelievable { // costs that device alone
			now.folders, now.unknown, err = nil, true, nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if now.digest == "" || before != nil && now.digest == before.digest {
		return before, nil // what it was seen with is not stored yet
	}
	return now, nil
}

// handlesOf are the peers of a folder without the device itself, sorted.
func handlesOf(peers []fleet.FolderPeer, device fleet.DeviceID) []peerHandle {
	handles := make([]peerHandle, 0, len(peers))
	for _, peer := range peers {
		if peer.Device != device {
			handles = append(handles, unique.Make(peer.Device))
		}
	}
	slices.SortFunc(handles, comparePeers)
	return handles
}

// OneSidedShare is a share that Device has and Peer has not.
type OneSidedShare struct {
	Folder       *fleet.FolderLabel
	Device, Peer *fleet.Registered
}

// SharePlace is where a share is in the list. It has IDs alone: a share that is gone has a place, too.
type SharePlace struct {
	Folder       string
	Device, Peer fleet.DeviceID
}

// Compare orders places by folder, then IDs.
func (p SharePlace) Compare(other SharePlace) int {
	return cmp.Or(cmp.Compare(p.Folder, other.Folder), cmp.Compare(p.Device, other.Device),
		cmp.Compare(p.Peer, other.Peer))
}

// Place is where the share is in the list.
func (o OneSidedShare) Place() SharePlace {
	return SharePlace{Folder: o.Folder.Folder, Device: o.Device.ID, Peer: o.Peer.ID}
}

// OneSidedShares calls show with the shares between devices of the caller's scope that one side has and the other one
// does not, and what they are made from. What is not known of either side is left out. whole is the registry of the
// whole fleet, seen that of the caller's scope.
func (v *View) OneSidedShares(ctx context.Context, whole, seen *fleet.Registry,
	show func(from Source, shares func() []OneSidedShare) error) error {
	folders, source, err := v.Folders(ctx, seen)
	if err != nil {
		return err
	}
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	v.shares.mu.Lock()
	defer v.shares.mu.Unlock()
	if err := v.shares.refresh(ctx, whole); err != nil {
		return err
	}
	from := Source{"one-sided shares", shareState{seen, source, v.shares.revision}}
	return show(from, func() []OneSidedShare { return v.oneSided(seen, folders) })
}

// shareState is what a list of one-sided shares is made from.
type shareState struct {
	registry *fleet.Registry
	folders  Source
	shares   uint64
}

// oneSided gives the shares by folder, then IDs. The caller holds mu of the shares.
func (v *View) oneSided(registry *fleet.Registry, folders []fleet.FolderLabel) []OneSidedShare {
	labels := make(map[string]*fleet.FolderLabel, len(folders))
	for i := range folders {
		labels[folders[i].Folder] = &folders[i]
	}
	var found []OneSidedShare
	for id, device := range registry.Devices {
		shares := v.shares.rows[id]
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
				other, back := registry.Devices[peer.Value()], v.shares.rows[peer.Value()]
				if other != nil && back != nil && !back.unknown && !back.has(folder, self) {
					found = append(found, OneSidedShare{Folder: label, Device: device, Peer: other})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b OneSidedShare) int { return a.Place().Compare(b.Place()) })
	return found
}

// Side is who has a share.
type Side string

// The sides of a share, as seen from one device.
const (
	BothSides     Side = "both"
	OnlyHere      Side = "onlyHere"
	SideUnknown   Side = "unknown"
	PeerUnmanaged Side = "unmanaged"
)

// SharedFolder is how one device shares a folder.
type SharedFolder struct {
	Device *fleet.Registered
	Share  *fleet.FolderShare // nil: not known
	Peers  []SharePeer        // of the share, without the device itself
}

// SharePeer is a device with which a folder is shared.
type SharePeer struct {
	fleet.FolderPeer
	Label string // "" for one that is not in the caller's scope
	Side  Side
	// Connected tells whether the two daemons are connected, where KnowsConnected.
	Connected, KnowsConnected bool
}

// DevicesWith gives the devices of a registry whose current configuration has a folder, by label, then ID.
func (v *View) DevicesWith(registry *fleet.Registry, folder string) []*fleet.Registered {
	var with []*fleet.Registered
	for _, device := range SortedDevices(registry) {
		snapshot := v.Snapshot(device.ID)
		if snapshot != nil && slices.ContainsFunc(snapshot.Folders, func(f fleet.FolderLabel) bool {
			return f.Folder == folder
		}) {
			with = append(with, device)
		}
	}
	return with
}

// SharesOf gives how some devices share a folder. It reads each configuration once, and not more than maxShareReads.
func (v *View) SharesOf(ctx context.Context, registry *fleet.Registry, folder string, devices []*fleet.Registered,
) ([]SharedFolder, error) {
	reader := shareReader{View: v, folder: folder, read: map[fleet.DeviceID]*fleet.FolderShare{}}
	all := make([]SharedFolder, len(devices))
	for i, device := range devices {
		var err error
		if all[i], err = reader.of(ctx, registry, device); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// shareReader reads each configuration once for one answer.
type shareReader struct {
	*View
	folder string
	read   map[fleet.DeviceID]*fleet.FolderShare
}

// share is how a device has the folder; nil where it has not. read is false where enough was read already.
func (k *shareReader) share(ctx context.Context, id fleet.DeviceID) (share *fleet.FolderShare, read bool, err error) {
	if share, read = k.read[id]; read {
		return share, true, nil
	}
	if len(k.read) >= maxShareReads {
		return nil, false, nil
	}
	err = k.Within(ctx, func(ctx context.Context) (err error) {
		share, err = k.Shares.FolderShare(ctx, id, k.folder)
		return err
	})
	if err == nil {
		k.read[id] = share
	}
	return share, err == nil, err
}

func (k *shareReader) of(ctx context.Context, registry *fleet.Registry, device *fleet.Registered,
) (SharedFolder, error) {
	share, _, err := k.share(ctx, device.ID)
	out := SharedFolder{Device: device, Share: share}
	if err != nil || share == nil {
		return out, err
	}
	for _, peer := range share.Peers {
		if peer.Device == device.ID {
			continue
		}
		shown := SharePeer{FolderPeer: peer, Side: PeerUnmanaged}
		if snapshot := k.Snapshot(device.ID); snapshot != nil {
			shown.Connected, shown.KnowsConnected = snapshot.IsConnected(peer.Device), snapshot.KnowsConnected()
		}
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
func (k *shareReader) sideOf(ctx context.Context, device, peer fleet.DeviceID) (Side, error) {
	if snapshot := k.Snapshot(peer); snapshot == nil || snapshot.Digest == "" {
		return SideUnknown, nil
	}
	back, read, err := k.share(ctx, peer)
	switch {
	case err != nil || !read:
		return SideUnknown, err
	case back != nil && slices.ContainsFunc(back.Peers, func(p fleet.FolderPeer) bool { return p.Device == device }):
		return BothSides, nil
	}
	return OnlyHere, nil
}

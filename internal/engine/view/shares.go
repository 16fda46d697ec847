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
	maxKnownShares = 200_000 // shares of one device; a device with more counts as unknown
	maxShareReads  = 400     // configurations that are read for one folder
)

// Shares reads how folders are shared from the newest stored configurations.
type Shares interface {
	// FolderShare returns how a device shares a folder, nil when it does not have the folder or was never read.
	FolderShare(ctx context.Context, id fleet.DeviceID, folder string) (*fleet.FolderShare, error)
	// DeviceShares calls more with each folder of a device until more returns false. It returns the digest of the
	// configuration, also with an error, and "" for a device that was never read. The error is CodeUnbelievable when the
	// configuration has no usable list of folders.
	DeviceShares(ctx context.Context, id fleet.DeviceID, more func(fleet.FolderShare) bool) (digest string, err error)
}

// deviceShares tells with which peers one device shares each folder. It is immutable.
type deviceShares struct {
	digest  string // digest of the configuration
	folders map[string][]peerHandle
	unknown bool // folders is incomplete: there are too many, or the configuration cannot be read
}

// peerHandle is a device ID that is in memory once for all devices that share with it.
type peerHandle = unique.Handle[fleet.DeviceID]

func comparePeers(a, b peerHandle) int { return cmp.Compare(a.Value(), b.Value()) }

// has reports whether the device shares the folder with a peer.
func (d *deviceShares) has(folder string, peer peerHandle) bool {
	_, found := slices.BinarySearchFunc(d.folders[folder], peer, comparePeers)
	return found
}

// sharesStale reports whether the shares were made from an older configuration than the newest one.
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
		if fleet.CodeOf(err) == fleet.CodeUnbelievable { // The error concerns only this device.
			now.folders, now.unknown, err = nil, true, nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if now.digest == "" || before != nil && now.digest == before.digest {
		return before, nil // The newest configuration is not stored yet.
	}
	return now, nil
}

// handlesOf returns the sorted peers of a folder without the device itself.
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

// OneSidedShare is a folder that Device shares with Peer although Peer does not share it with Device.
type OneSidedShare struct {
	Folder       *fleet.FolderLabel
	Device, Peer *fleet.Registered
}

// SharePlace is the position of a share in the list. It consists of IDs, so that it is valid for a share that no
// longer exists.
type SharePlace struct {
	Folder       string
	Device, Peer fleet.DeviceID
}

// Compare orders positions by folder, then by device IDs.
func (p SharePlace) Compare(other SharePlace) int {
	return cmp.Or(cmp.Compare(p.Folder, other.Folder), cmp.Compare(p.Device, other.Device),
		cmp.Compare(p.Peer, other.Peer))
}

// Place returns the position of the share in the list.
func (o OneSidedShare) Place() SharePlace {
	return SharePlace{Folder: o.Folder.Folder, Device: o.Device.ID, Peer: o.Peer.ID}
}

// OneSidedShares calls show with each share between devices of the caller's scope that only one side has, and with the
// source of the list. It leaves out shares of which one side is unknown. whole is the registry of the whole fleet,
// seen the registry of the caller's scope.
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

// shareState identifies the data from which a list of one-sided shares is made.
type shareState struct {
	registry *fleet.Registry
	folders  Source
	shares   uint64
}

// oneSided returns the shares ordered by folder, then by device IDs. The caller holds mu of the shares.
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

// Side says which of two devices have a share.
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
	Share  *fleet.FolderShare // nil: unknown
	Peers  []SharePeer        // peers of the share, without the device itself
}

// OneSided returns the share with those peers alone that do not share the folder back.
func (s SharedFolder) OneSided() SharedFolder {
	s.Peers = slices.DeleteFunc(slices.Clone(s.Peers), func(p SharePeer) bool { return p.Side != OnlyHere })
	return s
}

// Connected returns the number of peers that are connected to the device.
func (s SharedFolder) Connected() (count int) {
	for _, peer := range s.Peers {
		if peer.Connected {
			count++
		}
	}
	return count
}

// FirstPeers returns at most `most` peers that are connected and as many that are not. Those that do not share the
// folder back come first. 0 is all peers, in the order of the configuration.
func (s SharedFolder) FirstPeers(most int) []SharePeer {
	if most == 0 {
		return s.Peers
	}
	peers := slices.Clone(s.Peers)
	slices.SortStableFunc(peers, func(a, b SharePeer) int {
		return cmp.Compare(boolPlace(a.Side == OnlyHere), boolPlace(b.Side == OnlyHere))
	})
	kept := map[bool]int{}
	return slices.DeleteFunc(peers, func(p SharePeer) bool {
		kept[p.Connected]++
		return kept[p.Connected] > most
	})
}

// boolPlace puts what holds before what does not.
func boolPlace(holds bool) int {
	if holds {
		return 0
	}
	return 1
}

// SharePeer is a device with which a folder is shared.
type SharePeer struct {
	fleet.FolderPeer
	Label string // "" for a device outside of the caller's scope
	Side  Side
	// Connected reports whether the two daemons are connected. It is meaningful only when KnowsConnected is true.
	Connected, KnowsConnected bool
}

// DevicesWith returns the devices of a registry whose current configuration has a folder, ordered by label, then ID.
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

// FoldersOn returns the IDs of the folders of a device's current configuration, sorted; nil when it was not read.
func (v *View) FoldersOn(device fleet.DeviceID) (ids []string) {
	if snapshot := v.Snapshot(device); snapshot != nil {
		for _, f := range snapshot.Folders {
			ids = append(ids, f.Folder)
		}
	}
	slices.Sort(ids)
	return ids
}

// SharesOf returns how some devices share a folder. It reads each configuration once, and at most maxShareReads of
// them.
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

// share returns how a device shares the folder, nil when the device does not have it. read is false when maxShareReads
// is reached.
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

// sideOf returns whether the peer shares the folder with the device too.
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

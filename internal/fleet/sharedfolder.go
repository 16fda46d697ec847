package fleet

import (
	"iter"
	"slices"
	"strings"
)

// SharedFolder is the part of a FolderShare that is kept in memory for every folder of every device.
type SharedFolder struct {
	Folder string
	Path   string // "" when the path is too long
	Type   FolderType
	Paused bool
	With   Peers // includes the device itself, so that all devices that share a folder have the same set
}

// FolderType is what a device does with a folder.
type FolderType uint8

// The types of folders. FolderTypeUnknown is a type of a later Syncthing.
const (
	FolderTypeUnknown FolderType = iota
	SendReceive
	SendOnly
	ReceiveOnly
	ReceiveEncrypted
)

var folderTypes = [...]string{SendReceive: "sendreceive", SendOnly: "sendonly", ReceiveOnly: "receiveonly",
	ReceiveEncrypted: "receiveencrypted"}

// String returns the type as daemons write it, or "" for FolderTypeUnknown.
func (t FolderType) String() string {
	if int(t) >= len(folderTypes) {
		return ""
	}
	return folderTypes[t]
}

// ParseFolderType parses a type as daemons write it, including the names before 1.0.
func ParseFolderType(text string) FolderType {
	switch text {
	case "":
		return SendReceive
	case "readwrite":
		return SendReceive
	case "readonly":
		return SendOnly
	}
	return FolderType(max(0, slices.Index(folderTypes[:], text)))
}

// SortShares sorts shares as Snapshot.Shares must be.
func SortShares(shares []SharedFolder) {
	slices.SortFunc(shares, func(a, b SharedFolder) int { return strings.Compare(a.Folder, b.Folder) })
}

// Share returns how the device shares a folder. known is false when no configuration was read since the server's
// start, or when the configuration does not have the folder.
func (s *Snapshot) Share(folder string) (share SharedFolder, known bool) {
	at, found := slices.BinarySearchFunc(s.Shares, folder, func(f SharedFolder, folder string) int {
		return strings.Compare(f.Folder, folder)
	})
	if !found {
		return SharedFolder{}, false
	}
	return s.Shares[at], true
}

// Sharers returns the other devices with which the device shares a folder, ordered by ID.
func (s *Snapshot) Sharers(folder string) iter.Seq[DeviceID] {
	share, _ := s.Share(folder)
	return func(yield func(DeviceID) bool) {
		for peer := range share.With.All() {
			if peer != s.Device && !yield(peer) {
				return
			}
		}
	}
}

// IsPaused reports whether the device's configuration pauses a folder.
func (s *Snapshot) IsPaused(folder string) bool {
	share, _ := s.Share(folder)
	return share.Paused
}

// PausesPeer reports whether the device's configuration pauses its connections to another device.
func (s *Snapshot) PausesPeer(peer DeviceID) bool { return s.PausedPeers.Has(peer) }

// KnowsConnected reports whether it is known to which devices the daemon is connected now.
func (s *Snapshot) KnowsConnected() bool { return s.Connection == Online && !s.ConnectedAt.IsZero() }

// IsConnected reports whether the daemon is connected to another device. It also returns false when that is unknown;
// see KnowsConnected.
func (s *Snapshot) IsConnected(peer DeviceID) bool {
	return s.KnowsConnected() && s.Connected.Has(peer)
}

// IsCurrent reports whether a folder's numbers came over the current connection.
func (s *Snapshot) IsCurrent(folder string) bool {
	summary, known := s.Summaries[folder]
	return known && s.Connection == Online && !summary.UpdatedAt.Before(s.Since)
}

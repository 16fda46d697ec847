package stconfig

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"muster/internal/fleet"
)

// folderEntry is one folder of a configuration.
type folderEntry struct {
	ID      string      `json:"id"`
	Path    string      `json:"path"`
	Type    string      `json:"type"`
	Paused  bool        `json:"paused"`
	Devices []peerEntry `json:"devices"`
}

type peerEntry struct {
	DeviceID           fleet.DeviceID `json:"deviceID"`
	EncryptionPassword string         `json:"encryptionPassword"`
}

// share returns the folder's shares. Of an encryption password it only tells that there is one.
func (e folderEntry) share() fleet.FolderShare {
	share := fleet.FolderShare{Folder: e.ID, Type: e.Type, Path: e.Path, Paused: e.Paused}
	for _, peer := range e.Devices {
		share.Peers = append(share.Peers, fleet.FolderPeer{Device: peer.DeviceID, Encrypted: peer.EncryptionPassword != ""})
	}
	return share
}

// FolderIn reads a configuration up to the folder with an ID; nil when there is no such folder. It holds one folder in
// memory at a time and gives no secret.
func FolderIn(config io.Reader, id string) (found *fleet.FolderShare, err error) {
	err = EachFolder(config, func(share fleet.FolderShare) bool {
		if share.Folder == id {
			found = &share
		}
		return found == nil
	})
	return found, err
}

// EachFolder reads the folders of a configuration one at a time, until more returns false. It gives no secret.
func EachFolder(config io.Reader, more func(fleet.FolderShare) bool) error {
	decoder := jsontext.NewDecoder(config, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := decoder.ReadToken(); err != nil { // {
		return err
	}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return err
		}
		if name.String() == "folders" {
			return foldersOf(decoder, more)
		}
		if err := decoder.SkipValue(); err != nil {
			return err
		}
	}
	_, err := decoder.ReadToken()
	return err
}

func foldersOf(decoder *jsontext.Decoder, more func(fleet.FolderShare) bool) error {
	if open, err := decoder.ReadToken(); err != nil || open.Kind() != '[' {
		return err
	}
	for decoder.PeekKind() != ']' {
		var folder folderEntry
		if err := json.UnmarshalDecode(decoder, &folder); err != nil {
			return err
		}
		if !more(folder.share()) {
			return nil
		}
	}
	_, err := decoder.ReadToken()
	return err
}

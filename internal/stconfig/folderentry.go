package stconfig

import (
	"encoding/json"
	"io"

	"muster/internal/fleet"
)

// folderEntry is one folder as a configuration has it.
type folderEntry struct {
	ID      string      `json:"id"`
	Path    string      `json:"path"`
	Type    string      `json:"type"`
	Paused  bool        `json:"paused"`
	Devices []peerEntry `json:"devices"`
}

type peerEntry fleet.FolderPeer

// UnmarshalJSON keeps of the password only that there is one.
func (p *peerEntry) UnmarshalJSON(text []byte) error {
	var entry struct {
		DeviceID           fleet.DeviceID `json:"deviceID"`
		EncryptionPassword string         `json:"encryptionPassword"`
	}
	err := json.Unmarshal(text, &entry)
	p.Device, p.Encrypted = entry.DeviceID, entry.EncryptionPassword != ""
	return err
}

func (e folderEntry) share() *fleet.FolderShare {
	share := &fleet.FolderShare{Type: e.Type, Path: e.Path, Paused: e.Paused}
	for _, peer := range e.Devices {
		share.Peers = append(share.Peers, fleet.FolderPeer(peer))
	}
	return share
}

// FolderIn reads a configuration up to the folder with an ID; nil where there is none. It holds one folder at a time,
// and gives no secret.
func FolderIn(config io.Reader, id string) (*fleet.FolderShare, error) {
	decoder := json.NewDecoder(config)
	if _, err := decoder.Token(); err != nil { // {
		return nil, err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		if name == "folders" {
			return folderOf(decoder, id)
		}
		if err := skip(decoder); err != nil {
			return nil, err
		}
	}
	_, err := decoder.Token() // }: what is cut short is an error
	return nil, err
}

func folderOf(decoder *json.Decoder, id string) (*fleet.FolderShare, error) {
	if open, err := decoder.Token(); err != nil || open != json.Delim('[') {
		return nil, err
	}
	for decoder.More() {
		var folder folderEntry
		if err := decoder.Decode(&folder); err != nil {
			return nil, err
		}
		if folder.ID == id {
			return folder.share(), nil
		}
	}
	_, err := decoder.Token()
	return nil, err
}

// skip passes over one value.
func skip(decoder *json.Decoder) error {
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

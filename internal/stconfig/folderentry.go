package stconfig

import (
	"encoding/json"
	"io"
)

// FolderEntry is one folder of a configuration, without its secrets.
type FolderEntry struct {
	ID      string        `json:"id"`
	Path    string        `json:"path"`
	Type    string        `json:"type"`
	Paused  bool          `json:"paused"`
	Devices []FolderShare `json:"devices"`
}

// FolderShare is a device that a folder is shared with.
type FolderShare struct {
	DeviceID  string
	Encrypted bool // it gets the folder encrypted
}

// UnmarshalJSON keeps of the password only that there is one.
func (s *FolderShare) UnmarshalJSON(text []byte) error {
	var entry struct {
		DeviceID           string `json:"deviceID"`
		EncryptionPassword string `json:"encryptionPassword"`
	}
	err := json.Unmarshal(text, &entry)
	s.DeviceID, s.Encrypted = entry.DeviceID, entry.EncryptionPassword != ""
	return err
}

// FolderIn reads a configuration up to the folder with an ID; nil where there is none. It holds one folder at a time.
func FolderIn(config io.Reader, id string) (*FolderEntry, error) {
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

func folderOf(decoder *json.Decoder, id string) (*FolderEntry, error) {
	if open, err := decoder.Token(); err != nil || open != json.Delim('[') {
		return nil, err
	}
	for decoder.More() {
		var folder FolderEntry
		if err := decoder.Decode(&folder); err != nil {
			return nil, err
		}
		if folder.ID == id {
			return &folder, nil
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

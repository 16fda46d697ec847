package mirror

import (
	"strings"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

const (
	// maxFolderBytes: real folder IDs are short. A longer one comes from a daemon that lies, and is left out, as in the
	// store.
	maxFolderBytes = 1 << 10
	// smallDocument is how many bytes of a document take no part of the memory for large ones.
	smallDocument = 64 << 10
	// maxLabelBytes bounds a folder's label, of which the memory of every watched device holds one per folder.
	maxLabelBytes = 512
)

// Reading is what a watcher wants to know of a configuration.
type Reading struct {
	Digest  string // SHA-256 of the normalised document, hex
	Folders []fleet.FolderLabel
	Paths   []string        // of all folders
	Paused  map[string]bool // the folders that are paused
	Access  fleet.Access    // the API key, and the port of the API; zero where the daemon does not say
	// Document is what was taken apart, for who reads a daemon to plan from it; absent where it is large.
	Document stconfig.Value
}

// ReadConfig takes a configuration apart. One that lacks what every daemon has, or that is no configuration of this
// device, is not believed.
func ReadConfig(own fleet.DeviceID, document []byte) (Reading, error) {
	doc, err := stconfig.Parse(document)
	if err == nil {
		err = stconfig.Usable(doc, own)
	}
	if err != nil {
		return Reading{}, unusable("it is not a usable one", err)
	}
	reading := Reading{Digest: stconfig.Digest(doc), Paths: []string{}, Paused: map[string]bool{},
		Access: accessIn(doc)}
	if len(document) <= smallDocument {
		reading.Document = doc
	}
	seen := map[string]bool{}
	for folder := range doc.Get("folders").Values() {
		id, label := folder.Get("id").Str(), folder.Get("label").Str()
		switch {
		case id == "" || strings.ContainsRune(id, 0) || strings.ContainsRune(label, 0):
			return Reading{}, unusable("it has a folder without a usable ID or label", nil)
		case seen[id]:
			return Reading{}, unusable("it has the same folder twice", nil)
		}
		reading.Paths = append(reading.Paths, strings.Clone(folder.Get("path").Str()))
		if seen[id] = true; len(id) > maxFolderBytes {
			continue
		}
		id = strings.Clone(id) // a part of the document's text would keep all of it
		reading.Folders = append(reading.Folders, fleet.FolderLabel{Folder: id, Label: shownLabel(label)})
		if folder.Get("paused").IsTrue() {
			reading.Paused[id] = true
		}
	}
	return reading, nil
}

// accessIn is what a configuration says of the daemon's API.
func accessIn(doc stconfig.Value) fleet.Access {
	gui := doc.Get("gui")
	return fleet.Access{Key: fleet.NewSecret(strings.Clone(gui.Get("apiKey").Str())),
		Port: plan.APIPort(gui.Get("address").Str())}
}

// shownLabel is a folder's label as it is listed: a long one is shortened.
func shownLabel(label string) string {
	const more = "…"
	if len(label) <= maxLabelBytes {
		return strings.Clone(label)
	}
	return strings.ToValidUTF8(label[:maxLabelBytes-len(more)], "") + more
}

func unusable(why string, err error) error {
	return &fleet.Error{Code: fleet.CodeUnbelievable, During: "read the configuration", Err: err,
		Message: "the configuration that the daemon gives is not believed: " + why,
		Hint:    "Look at the daemon's own GUI and log."}
}

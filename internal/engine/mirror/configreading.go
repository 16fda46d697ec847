package mirror

import (
	"strings"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
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
	Paths   []string // of all folders
	Shares  []fleet.SharedFolder
	// PausedPeers are the devices that are paused.
	PausedPeers fleet.Peers
	Access      fleet.Access // the API key, and the port of the API; zero where the daemon does not say
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
	reading := Reading{Digest: stconfig.Digest(doc), Paths: []string{}, Access: accessIn(doc),
		PausedPeers: pausedPeers(doc)}
	if len(document) <= smallDocument {
		reading.Document = doc
	}
	seen, shares := map[string]bool{}, shareReader{known: map[fleet.Peers]bool{}}
	for folder := range doc.Get("folders").Values() {
		id, label := folder.Get("id").Str(), folder.Get("label").Str()
		switch {
		case id == "" || strings.ContainsRune(id, 0) || strings.ContainsRune(label, 0):
			return Reading{}, unusable("it has a folder without a usable ID or label", nil)
		case seen[id]:
			return Reading{}, unusable("it has the same folder twice", nil)
		}
		path := strings.Clone(folder.Get("path").Str())
		reading.Paths = append(reading.Paths, path)
		if seen[id] = true; len(id) > maxFolderBytes {
			continue
		}
		id = strings.Clone(id) // a part of the document's text would keep all of it
		reading.Folders = append(reading.Folders, fleet.FolderLabel{Folder: id, Label: shownLabel(label)})
		shares.add(id, path, folder)
	}
	reading.Shares = shares.all
	fleet.SortShares(reading.Shares)
	return reading, nil
}

const (
	maxPathBytes  = 1 << 10 // of a folder's path in memory
	maxShareBytes = 1 << 20 // of the paths and peers of one device's folders in memory
)

// shareReader takes how folders are shared out of a configuration, until that is too much to be kept.
type shareReader struct {
	all   []fleet.SharedFolder
	known map[fleet.Peers]bool
	bytes int
}

func (r *shareReader) add(id, path string, folder stconfig.Value) {
	if len(path) > maxPathBytes {
		path = ""
	}
	var with []fleet.DeviceID
	for member := range folder.Get("devices").Values() {
		with = append(with, fleet.DeviceID(member.Get("deviceID").Str()))
	}
	share := fleet.SharedFolder{Folder: id, Path: path, Type: fleet.ParseFolderType(folder.Get("type").Str()),
		Paused: folder.Get("paused").IsTrue(), With: fleet.PeersOf(with)}
	r.bytes += len(path)
	if !r.known[share.With] {
		r.known[share.With] = true
		r.bytes += share.With.Size()
	}
	if r.bytes <= maxShareBytes {
		r.all = append(r.all, share)
	}
}

// pausedPeers are the devices that a configuration pauses.
func pausedPeers(doc stconfig.Value) fleet.Peers {
	var paused []fleet.DeviceID
	for device := range doc.Get("devices").Values() {
		if device.Get("paused").IsTrue() {
			paused = append(paused, fleet.DeviceID(device.Get("deviceID").Str()))
		}
	}
	return fleet.PeersOf(paused)
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

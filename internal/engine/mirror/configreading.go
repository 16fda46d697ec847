package mirror

import (
	"strings"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

const (
	// maxFolderBytes is the longest folder ID. A folder with a longer ID is left out, in the store as well. Real ones are
	// short.
	maxFolderBytes = 1 << 10
	// smallDocument is the size in bytes up to which a Reading keeps the parsed document.
	smallDocument = 64 << 10
	// maxLabelBytes is the longest label of a folder. Memory holds one label for each folder of every watched device.
	maxLabelBytes = 512
)

// Reading is what a watcher extracts from a configuration.
type Reading struct {
	Digest  string // SHA-256 of the normalised document, hex
	Folders []fleet.FolderLabel
	Paths   []string // the paths of all folders, in the order of the document
	Shares  []fleet.SharedFolder
	// ConfiguredPeers are the devices in the configuration and the device itself. It is empty if they take too much
	// memory.
	ConfiguredPeers fleet.Peers
	// PausedPeers are the devices that the configuration pauses.
	PausedPeers fleet.Peers
	Access      fleet.Access // the API key and the port of the API; a field is zero when the document lacks it
	// Document is the parsed configuration, from which reconcile makes its plan. It is Absent if the text is larger than
	// smallDocument.
	Document stconfig.Value
}

// ReadConfig parses a configuration. It returns CodeUnbelievable for a document that is malformed, lacks what every
// daemon has, or belongs to a different device.
func ReadConfig(own fleet.DeviceID, document []byte) (Reading, error) {
	doc, err := stconfig.Parse(document)
	if err == nil {
		err = stconfig.Usable(doc, own)
	}
	if err != nil {
		return Reading{}, unusable("it is not a usable one", err)
	}
	reading := Reading{Digest: stconfig.Digest(doc), Paths: []string{}, Access: accessIn(doc),
		ConfiguredPeers: configuredPeers(own, doc), PausedPeers: pausedPeers(doc)}
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
		id = strings.Clone(id) // The ID would otherwise keep the whole document in memory.
		reading.Folders = append(reading.Folders, fleet.FolderLabel{Folder: id, Label: shownLabel(label)})
		shares.add(id, path, folder)
	}
	reading.Shares = shares.all
	fleet.SortShares(reading.Shares)
	return reading, nil
}

const (
	maxPathBytes  = 1 << 10 // the longest path of a folder that stays in memory
	maxShareBytes = 1 << 20 // memory for the paths and peers of all folders of one device
)

// shareReader collects how folders are shared. Once the collection exceeds maxShareBytes, it ignores further folders.
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

// configuredPeers returns the devices in a configuration, and own, the device that has the configuration. It returns
// no peers if they need more memory than maxShareBytes.
func configuredPeers(own fleet.DeviceID, doc stconfig.Value) fleet.Peers {
	all, bytes := []fleet.DeviceID{own}, 0
	for device := range doc.Get("devices").Values() {
		id := fleet.DeviceID(device.Get("deviceID").Str())
		if bytes += len(id); bytes > maxShareBytes {
			return fleet.Peers{}
		}
		all = append(all, id)
	}
	return fleet.PeersOf(all)
}

// pausedPeers returns the devices that a configuration pauses.
func pausedPeers(doc stconfig.Value) fleet.Peers {
	var paused []fleet.DeviceID
	for device := range doc.Get("devices").Values() {
		if device.Get("paused").IsTrue() {
			paused = append(paused, fleet.DeviceID(device.Get("deviceID").Str()))
		}
	}
	return fleet.PeersOf(paused)
}

// accessIn returns the API key and the port of the API that a configuration sets.
func accessIn(doc stconfig.Value) fleet.Access {
	gui := doc.Get("gui")
	return fleet.Access{Key: fleet.NewSecret(strings.Clone(gui.Get("apiKey").Str())),
		Port: plan.APIPort(gui.Get("address").Str())}
}

// shownLabel returns a folder's label for lists. It cuts a label that is longer than maxLabelBytes.
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

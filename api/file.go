package api

// FailedItem is a file, directory or symlink that a daemon could not sync. Path and text are the daemon's words.
type FailedItem struct {
	DeviceID string `json:"deviceID" doc:"Of the device"`
	Path     string `json:"path" doc:"Within the folder"`
	Text     string `json:"text" doc:"Why, as the daemon says it"`
}

// ConflictFile is a file that a daemon renamed because two devices had changed it at once. It is synced like any other.
type ConflictFile struct {
	Path    string   `json:"path" doc:"Within the folder: NAME.sync-conflict-DATE-TIME-DEVICE.EXT"`
	At      Time     `json:"at" format:"date-time" doc:"When the first of the devices found it, by its clock"`
	Devices []string `json:"devices" nullable:"false" doc:"IDs of the devices that tell of it"`
}

// FileOnDevice is one file, directory or symlink of a folder on one device, as its daemon says when it is asked.
type FileOnDevice struct {
	DeviceID   string   `json:"deviceID" doc:"Of the device"`
	Label      string   `json:"label" doc:"Of the device; blank: it has none"`
	State      string   `json:"state" enum:"present,older,missing,deleted,ignored,unheard,unknown" doc:"present: it has the newest version that it knows of. older: it has another version. missing: it lacks the item. deleted: the newest version is that the item is gone. ignored: by its ignore patterns. unheard: its daemon knows of no such item. unknown: its daemon could not be asked"`
	Reason     string   `json:"reason" doc:"Why the daemon could not be asked; blank where it was"`
	Failed     string   `json:"failed" doc:"Why the daemon could not sync the item, as it says; blank where it did not fail"`
	Version    string   `json:"version" doc:"Tells the device's version from others; blank where it has none"`
	Size       int64    `json:"size" doc:"Bytes of the device's version"`
	Modified   *Time    `json:"modified" format:"date-time" nullable:"true" doc:"When the device's version of the file was modified, by the file's own time stamp; null: the device has no version of it"`
	Newest     string   `json:"newest" doc:"The newest version that the daemon knows of; blank where it knows of none"`
	NewestSize int64    `json:"newestSize" doc:"Bytes of the newest version"`
	ModifiedBy string   `json:"modifiedBy" doc:"The first characters of the ID of the device that made the newest version"`
	HeldBy     []string `json:"heldBy" nullable:"false" doc:"IDs of the devices connected to it that have the newest version"`
}

// LogLine is one line of a daemon's own log.
type LogLine struct {
	At    Time   `json:"at" format:"date-time" doc:"When the daemon wrote it"`
	Level string `json:"level" doc:"debug, verbose, info, warning or as the daemon says it"`
	Text  string `json:"text" doc:"As the daemon wrote it"`
}

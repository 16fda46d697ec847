package api

// ModeSetting says whether Muster writes to the devices of the fleet, or to those with a tag. The strictest mode of
// fleet, tags and device wins.
type ModeSetting struct {
	Mode string `json:"mode" enum:"on,observe,paused" doc:"observe (observe only): plan, never write; paused (not watched): neither read nor write"`
}

// ModeSwitched is the answer to a PUT of a mode. The mode is in force, except for what the warning says.
type ModeSwitched struct {
	ModeSetting
	Warning string `json:"warning,omitempty" doc:"Only there when the mode could not be kept, so that a restart would forget it, or when the server was started with a stricter one"`
}

// PutMode is the body of a PUT of a mode.
type PutMode struct {
	Mode *string `json:"mode" enum:"on,observe,paused" doc:"What Muster does with a device: on writes, observe only reads, paused neither"`
}

// Health is the answer of /healthz and /readyz.
type Health struct {
	Status   string   `json:"status" doc:"ok when the server works"`
	Impaired []string `json:"impaired,omitempty" nullable:"false" doc:"Of /readyz: parts with trouble that stops no service; reasons: overview"`
}

// ModeStop is a mode that keeps Muster from writing to some or all devices.
type ModeStop struct {
	Scope    string `json:"scope" enum:"server,fleet,tag,device" doc:"server: it was started with a mode that is stricter than on"`
	Tag      string `json:"tag" doc:"Blank unless the scope is tag"`
	DeviceID string `json:"deviceID" doc:"Blank unless the scope is device"`
	Label    string `json:"label" doc:"Of the device; blank unless the scope is device"`
	Mode     string `json:"mode" enum:"observe,paused" doc:"What Muster does with the devices meanwhile"`
	Devices  int    `json:"devices" doc:"How many devices it concerns now"`
	Since    *Time  `json:"since" format:"date-time" doc:"null when it is not known"`
	By       string `json:"by" doc:"Who set it; blank when it is not known"`
}

// FolderRoots are the directories below which templates of authors may put folders without consent.
type FolderRoots struct {
	FolderRoots []string `json:"folderRoots" nullable:"false" doc:"Each begins with ~ (the home directory of the daemon's user), with / or with a drive such as C:\\"`
}

// PutFolderRoots is the body of a PUT of folder roots: it replaces them all.
type PutFolderRoots struct {
	FolderRoots []string `json:"folderRoots" nullable:"false" doc:"Below which paths authors may put folders"`
}

// AuthorKeys are the keys that templates of authors may set without consent, besides what every author may.
type AuthorKeys struct {
	AuthorKeys []string `json:"authorKeys" nullable:"false" doc:"Keys of a configuration. Each covers everything below it; * means every member of a list"`
}

// PutAuthorKeys is the body of a PUT of author keys: it replaces them all.
type PutAuthorKeys struct {
	AuthorKeys []string `json:"authorKeys" nullable:"false" doc:"Keys of a configuration. Each covers everything below it; * means every member of a list"`
}

// TagSettings are the settings of all devices with a tag.
type TagSettings struct {
	ModeSetting
	FolderRoots
	AuthorKeys
	QuietAfter int64 `json:"quietAfter" doc:"Seconds that devices with the tag may be away before that is trouble; the longest of their tags counts. 0: as usual"`
}

// TagSettingsStored is the answer to a PUT of the settings of a tag. The mode is in force, except for what the
// warning says.
type TagSettingsStored struct {
	ModeSwitched
	FolderRoots
	AuthorKeys
	QuietAfter int64 `json:"quietAfter" doc:"Seconds that devices with the tag may be away before that is trouble; 0: as usual"`
}

// PutTagSettings is the body of a PUT of the settings of a tag. Fields that are left out stay as they are.
type PutTagSettings struct {
	Mode        *string  `json:"mode,omitempty" enum:"on,observe,paused" doc:"What Muster does with a device: on writes, observe only reads, paused neither"`
	QuietAfter  *int64   `json:"quietAfter,omitempty" minimum:"0" maximum:"31536000" doc:"Seconds; 0: as usual"`
	FolderRoots []string `json:"folderRoots,omitzero" nullable:"false" doc:"Added to those of the fleet; only an admin may set them"`
	AuthorKeys  []string `json:"authorKeys,omitzero" nullable:"false" doc:"Added to those of the fleet; only an admin may set them"`
}

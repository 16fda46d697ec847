// Package api holds the wire types of the REST API, shared by server, client and command line. They carry exactly the
// fields of the interface contract, or of the paths beyond it, and no behaviour; the OpenAPI document is made from
// them.
package api

import "encoding/json"

// Device is one registered Syncthing daemon.
type Device struct {
	DeviceID   string `json:"deviceID" doc:"Syncthing device ID in canonical form" example:"P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"`
	APIKey     string `json:"apiKey" doc:"Key for the daemon's own REST API; <API_KEY> to whoever may not write devices"`
	APIPort    int64  `json:"apiPort" minimum:"1" maximum:"65535" doc:"Port of the daemon's own REST API"`
	APIAddress string `json:"apiAddress" doc:"Host name or IP; blank means that the address is discovered"`
	Label      string `json:"label" doc:"Name for people"`
	CreatedAt  Time   `json:"createdAt" format:"date-time" readOnly:"true" doc:"Set by the service"`
	UpdatedAt  Time   `json:"updatedAt" format:"date-time" readOnly:"true" doc:"Set by the service"`
}

// PutDevice is the body of a PUT on a device. What was read may be sent back as it is.
type PutDevice struct {
	DeviceID   *string         `json:"deviceID,omitempty" doc:"Optional; must be the device ID of the path"`
	APIKey     *string         `json:"apiKey,omitempty" maxLength:"1024" doc:"Needed on create; blank, missing or <API_KEY> keeps the stored one"`
	APIPort    *int64          `json:"apiPort,omitempty" minimum:"1" maximum:"65535" default:"8384" doc:"0: it is looked for"`
	APIAddress *string         `json:"apiAddress,omitempty" doc:"Host name or IP; blank or missing means that the address is discovered"`
	Label      *string         `json:"label,omitempty" doc:"At most 4 KiB"`
	CreatedAt  json.RawMessage `json:"createdAt,omitempty" readOnly:"true" doc:"Ignored"`
	UpdatedAt  json.RawMessage `json:"updatedAt,omitempty" readOnly:"true" doc:"Ignored"`
}

// DeviceStatus is what a daemon last reported about itself.
type DeviceStatus struct {
	MyID             string  `json:"myID" doc:"Device ID that the daemon says it has"`
	Alloc            int64   `json:"alloc" doc:"Bytes of memory in use"`
	CPUPercent       float64 `json:"cpuPercent" doc:"0 from daemons that no longer say"`
	DiscoveryEnabled bool    `json:"discoveryEnabled" doc:"Global or local discovery is on"`
	DiscoveryMethods int64   `json:"discoveryMethods" doc:"How many ways of discovery there are"`
	GoRoutines       int64   `json:"goRoutines" doc:"Of the daemon"`
	PathSeparator    string  `json:"pathSeparator" doc:"/ or \\"`
	Sys              int64   `json:"sys" doc:"Bytes of memory taken from the system"`
	Tilde            string  `json:"tilde" doc:"Home directory of the daemon's user"`
	Uptime           int64   `json:"uptime" doc:"Seconds since the daemon started, when it last said so"`
	CreatedAt        Time    `json:"createdAt" format:"date-time" doc:"When Muster read it"`
	UpdatedAt        Time    `json:"updatedAt" format:"date-time" doc:"When the daemon last said so"`
}

// DeviceVersion is the software that a daemon runs.
type DeviceVersion struct {
	Device      string `json:"device" doc:"Device ID"`
	Arch        string `json:"arch" doc:"amd64, arm64, ..."`
	Codename    string `json:"codename" doc:"Of the release, as the daemon tells it"`
	LongVersion string `json:"longVersion" doc:"With everything that the daemon says about its build"`
	OS          string `json:"os" doc:"linux, windows, darwin, ..."`
	Version     string `json:"version" doc:"Of Syncthing, as in v2.1.3"`
	CreatedAt   Time   `json:"createdAt" format:"date-time" doc:"When Muster first read this version"`
	UpdatedAt   Time   `json:"updatedAt" format:"date-time" doc:"When Muster last read it"`
}

// DeviceState is the state of a device: its connection and its configuration.
type DeviceState struct {
	Connection    string `json:"connection" enum:"neverSeen,online,unreachable,keyRefused,identityMismatch,pinMismatch,notFound,unconfirmed,cloned" doc:"State of the connection"`
	Configuration string `json:"configuration" enum:"unknown,unmanaged,inSync,pending,applying,held,failed,contended,unstable" doc:"State of the configuration"`
	Address       string `json:"address" doc:"host:port last used, blank when none is known"`
	FoundBy       string `json:"foundBy" doc:"Where the address came from: record, global, local, fleet; blank without an address"`
	LastSeen      *Time  `json:"lastSeen" format:"date-time" nullable:"true" doc:"null: never"`
	Since         *Time  `json:"since" format:"date-time" nullable:"true" doc:"When this state began"`
	Reason        string `json:"reason" doc:"For a person"`
	Next          string `json:"next" doc:"What happens next, or what the person can do"`
	BroughtBack   string `json:"broughtBack,omitempty" doc:"Which revoked devices were brought back there within the last hour, and by whom"`

	Folders *WorstFolder `json:"folders,omitempty" doc:"How the folders of the device stand: the one in the worst state. Absent where the device has none, in events and in answers to apply"`
}

// WorstFolder is the folder of a device that is in the worst state.
type WorstFolder struct {
	State   string `json:"state" enum:"unknown,stopped,failedItems,paused,unshared,alone,outOfSync,localChanges,stalled,behind,syncing,driveMissing,diskNearlyFull,disagree,conflicts,scanning,upToDate" doc:"State of the folder on the device"`
	Folder  string `json:"folder" doc:"Its ID; of several in the state the first"`
	Count   int    `json:"count" doc:"How many folders of the device are in the state"`
	Trouble bool   `json:"trouble" doc:"A person should look at it"`
	Since   *Time  `json:"since" format:"date-time" nullable:"true" doc:"When the state began; null: not known"`
	Reason  string `json:"reason" doc:"Why; blank where all folders are up to date"`
	Next    string `json:"next" doc:"What a person can do; may be blank"`
}

// ListedState is a DeviceState in the list of all of them.
type ListedState struct {
	DeviceID string `json:"deviceID" doc:"Of the device"`
	DeviceState
}

// PutDeviceSettings is the body of a PUT on a device's settings. Fields that are left out stay as they are.
type PutDeviceSettings struct {
	Mode       *string `json:"mode,omitempty" enum:"on,observe,paused" doc:"What Muster does with a device: on writes, observe only reads, paused neither"`
	AllowPlain *bool   `json:"allowPlain,omitempty" doc:"Whether Muster may send its API key over plain HTTP"`
	Pin        *string `json:"pin,omitempty" doc:"sha256:<hex>; an empty string forgets the pin"`
	QuietAfter *int64  `json:"quietAfter,omitempty" minimum:"0" maximum:"31536000" doc:"Seconds that the device may be away before that is trouble; 0: as its tags say, or as usual"`
	Way        *string `json:"way,omitempty" enum:"auto,agent,direct" doc:"How the daemon is reached: auto is whichever works"`
	Restart    *bool   `json:"restart,omitempty" doc:"Let Muster restart the daemon after a change that needs it; one started with --no-restart stays down then"`
}

// DeviceSettings are the settings of one device beyond the contract.
type DeviceSettings struct {
	Mode       string `json:"mode" enum:"on,observe,paused" doc:"observe (observe only): plan, never write; paused (not watched): neither read nor write"`
	AllowPlain bool   `json:"allowPlain" doc:"Allow plain HTTP although the address is not loopback"`
	Pin        string `json:"pin" doc:"sha256:<hex> of the daemon's GUI certificate; write an empty string to forget it"`
	QuietAfter int64  `json:"quietAfter" doc:"Seconds that the device may be away before that is trouble; 0: as its tags say, or the setting quietAfter"`
	Way        string `json:"way" enum:"auto,agent,direct" doc:"auto: by the device's agent while that is connected, else at its address or where discovery finds it"`
	Restart    bool   `json:"restart" doc:"Muster may restart the daemon after a change that needs it; one started with --no-restart stays down then"`
}

// DeviceSettingsStored is the answer to a PUT on a device's settings. They are in force, except for what the warning
// says.
type DeviceSettingsStored struct {
	DeviceSettings
	Warning string `json:"warning,omitempty" doc:"Only there when the mode could not be kept, so that a restart would forget it, or when the server was started with a stricter one"`
}

package api

// ModeSetting says whether Muster writes to devices: of the whole fleet, or of the devices with a tag. The strictest
// of fleet, tags and device wins.
type ModeSetting struct {
	Mode string `json:"mode" enum:"on,observe,paused" doc:"observe: plan, never write; paused: do not even watch"`
}

// ModeSwitched is the mode of the fleet, or the answer to a PUT of a mode: it is in force as far as there is no
// warning.
type ModeSwitched struct {
	ModeSetting
	Warning string `json:"warning,omitempty" doc:"Only there when the mode could not be kept, so that a restart would forget it, or when the server was started with a stricter one"`
}

// PutMode is the body of a PUT of a mode.
type PutMode struct {
	Mode *string `json:"mode" enum:"on,observe,paused"`
}

// Health is the answer of /healthz and /readyz.
type Health struct {
	Status   string   `json:"status"`
	Impaired []string `json:"impaired,omitempty" nullable:"false" doc:"Of /readyz: parts with trouble that stops no service; reasons: overview"`
}

// ModeStop is a mode that keeps Muster from writing to some or all devices.
type ModeStop struct {
	Scope    string `json:"scope" enum:"server,fleet,tag,device" doc:"server: it was started with a mode that is stricter than on"`
	Tag      string `json:"tag" doc:"Blank unless the scope is tag"`
	DeviceID string `json:"deviceID" doc:"Blank unless the scope is device"`
	Label    string `json:"label" doc:"Of the device; blank unless the scope is device"`
	Mode     string `json:"mode" enum:"observe,paused"`
	Devices  int    `json:"devices" doc:"How many devices it concerns now"`
	Since    *Time  `json:"since" format:"date-time" doc:"null when it is not known"`
	By       string `json:"by" doc:"Who set it; blank when it is not known"`
}

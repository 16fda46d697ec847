package api

// Pending is a device or a folder that asks a managed daemon to be let in.
type Pending struct {
	ID          string `json:"id" doc:"Stands for it in paths; the same as long as it asks"`
	Kind        string `json:"kind" enum:"device,folder" doc:"What asks"`
	DeviceID    string `json:"deviceID" doc:"The managed device that was asked"`
	Label       string `json:"label" doc:"Of that device"`
	From        string `json:"from" doc:"Device ID of whoever asks"`
	FromLabel   string `json:"fromLabel" doc:"Its label, if it is registered here"`
	Name        string `json:"name" doc:"What it calls itself; blank for a folder"`
	Address     string `json:"address" doc:"Where it asked from; blank for a folder"`
	Folder      string `json:"folder" doc:"ID of the folder; blank for a device"`
	FolderLabel string `json:"folderLabel" doc:"As the offering device calls it; blank for a device"`
	Encrypted   bool   `json:"encrypted" doc:"The folder would be kept encrypted on the device that was asked"`
	Registered  bool   `json:"registered" doc:"Whoever asks is registered here"`
	Revoked     string `json:"revoked" doc:"Why the device that asks is not let in, because it was revoked, and what ends that; blank when it may be let in"`
	Since       Time   `json:"since" format:"date-time" doc:"When it first asked"`
}

// AcceptPending is the body of a POST that lets something in.
type AcceptPending struct {
	Name  *string `json:"name,omitempty" doc:"For a device: what to call it; what it calls itself when missing"`
	Label *string `json:"label,omitempty" doc:"For a folder: its label; that of whoever offers it when missing"`
	Path  *string `json:"path,omitempty" doc:"For a folder, needed unless the device has it already: where to keep it"`

	Register *RegisterPending `json:"register,omitempty" doc:"For a device: register it here too, under the same ID"`
}

// RegisterPending is what has to be known of a device to manage it, as in a PUT of the device.
type RegisterPending struct {
	Label      *string `json:"label,omitempty" doc:"What it calls itself when missing"`
	APIKey     *string `json:"apiKey,omitempty" doc:"Needed: the key of its REST API"`
	APIAddress *string `json:"apiAddress,omitempty" doc:"Host name or IP; blank or missing means discovery"`
	APIPort    *int64  `json:"apiPort,omitempty" doc:"8384 when missing"`
	Pin        *string `json:"pin,omitempty" doc:"sha256:<hex> of the certificate that the daemon's API has to show, also on first contact; the header Muster-Pin does the same"`
}

package api

// NewOrder is an order to chosen devices.
type NewOrder struct {
	Type    *string  `json:"type" enum:"restart,rescan,pause,resume,upgrade,override,revert" doc:"override, of one device: its files of a send-only folder replace those of the others. revert: what was changed in a receive-only folder on the devices is undone. Both need the role admin, folder and maxItems"`
	Devices []string `json:"devices" nullable:"false" doc:"IDs of the devices, in the order in which they are to be reached"`
	Folder  string   `json:"folder,omitempty" doc:"Only this folder; to pause or resume: the folder, and not the connections"`
	Major   bool     `json:"major,omitempty" doc:"Of an upgrade: also to another major version"`
	GoOn    bool     `json:"goOn,omitempty" doc:"A device on which the order fails does not end it. It then also begins where Muster writes nothing to some of the devices: it fails on these. Rescan, pause and resume reach several devices at once. Not of override and revert"`

	AllCopies bool `json:"allCopies,omitempty" doc:"Of restart and upgrade: also where the order restarts every device that is proven to have data of a folder, and a policy asks for copies of it"`

	MaxItems int64 `json:"maxItems,omitempty" doc:"Of override and revert: how many items may be changed on each device. Where there are more, nothing is"`
}

// Order is an order to one device, or to the devices with a tag or to chosen ones, one after the other: restart,
// rescan, pause, resume, upgrade, override or revert.
type Order struct {
	ID      int64         `json:"id" doc:"Grows with each order"`
	Type    string        `json:"type" enum:"restart,rescan,pause,resume,upgrade,override,revert" doc:"What the daemon is to do"`
	Tag     string        `json:"tag" doc:"Blank: the order is for one device, or for devices that were chosen"`
	Folder  string        `json:"folder" doc:"The only one that is meant; blank: all folders, or the connections"`
	Major   bool          `json:"major" doc:"Of an upgrade: also to another major version"`
	GoOn    bool          `json:"goOn" doc:"A device on which it fails does not end it"`
	Status  string        `json:"status" enum:"running,done,failed,interrupted" doc:"failed: it ended at a device, and those after it were not touched; with goOn: it failed on some devices. interrupted: the server stopped meanwhile, and nothing goes on"`
	Reason  string        `json:"reason" doc:"What came of it, for a person, with what to do; blank while it runs"`
	By      string        `json:"by" doc:"Who gave the order"`
	Total   int           `json:"total" doc:"For how many devices it is"`
	Done    int           `json:"done" doc:"How many of the devices it is through with, those included that were skipped or on which it failed"`
	Skipped int           `json:"skipped" doc:"How many devices could not be reached at their turn, or were gone"`
	Failed  int           `json:"failed" doc:"On how many devices it failed"`
	Devices []OrderDevice `json:"devices" nullable:"false" doc:"In the order in which they are reached. With brief or device, only those asked for"`
	BeganAt Time          `json:"beganAt" format:"date-time" doc:"When it was given"`
	EndedAt *Time         `json:"endedAt" format:"date-time" nullable:"true" doc:"null: it still goes on"`
}

// OrderDevice is the progress of an order on one device.
type OrderDevice struct {
	DeviceID string `json:"deviceID" doc:"Of the device"`
	Label    string `json:"label" doc:"Of the device; blank: it has none"`
	Reason   string `json:"reason,omitempty" doc:"Why an order that goes on failed on this device, with what to do"`
	State    string `json:"state" enum:"waiting,running,done,skipped,failed,unknown,untouched" doc:"skipped: it could not be reached at its turn, or is gone. unknown: the server stopped while it was told. untouched: the order ended before"`
}

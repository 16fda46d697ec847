package api

// NewOrder is an order to chosen devices.
type NewOrder struct {
	Type    *string  `json:"type" enum:"restart,rescan,pause,resume,upgrade"`
	Devices []string `json:"devices" nullable:"false" doc:"IDs of the devices, in the order in which they are to be reached"`
	Folder  string   `json:"folder,omitempty" doc:"Of a rescan: only this folder"`
	Major   bool     `json:"major,omitempty" doc:"Of an upgrade: also to another major version"`
}

// Order is an order to one device, or to the devices with a tag or to chosen ones, one after the other: restart,
// rescan, pause, resume or upgrade.
type Order struct {
	ID      int64         `json:"id"`
	Type    string        `json:"type" enum:"restart,rescan,pause,resume,upgrade"`
	Tag     string        `json:"tag" doc:"Blank: the order is for one device, or for devices that were chosen"`
	Folder  string        `json:"folder" doc:"Of a rescan; blank: all folders"`
	Status  string        `json:"status" enum:"running,done,failed,interrupted" doc:"failed: it ended at a device, and those after it were not touched. interrupted: the server stopped meanwhile, and nothing goes on"`
	Reason  string        `json:"reason" doc:"What came of it, for a person, with what to do; blank while it runs"`
	By      string        `json:"by" doc:"Who gave the order"`
	Done    int           `json:"done" doc:"How many of the devices it is through with"`
	Devices []OrderDevice `json:"devices" nullable:"false" doc:"In the order in which they are reached"`
	BeganAt Time          `json:"beganAt" format:"date-time"`
	EndedAt *Time         `json:"endedAt" format:"date-time" nullable:"true"`
}

// OrderDevice is the progress of an order on one device.
type OrderDevice struct {
	DeviceID string `json:"deviceID"`
	Label    string `json:"label"`
	State    string `json:"state" enum:"waiting,running,done,skipped,failed,unknown,untouched" doc:"skipped: it could not be reached at its turn, or is gone. unknown: the server stopped while it was told. untouched: the order ended before"`
}

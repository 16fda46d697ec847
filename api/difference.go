package api

// Differences are the changes in the plans of many devices. Equal changes are one difference.
type Differences struct {
	Generation  int64              `json:"generation" doc:"Of the templates and tags that the plans were made from"`
	Compared    int                `json:"compared" doc:"Devices whose plans are shown here: those that are not as their templates say"`
	Unknown     int                `json:"unknown" doc:"Devices of the filter whose configuration was never read, or is no longer known"`
	Left        int                `json:"left" doc:"Devices that differ too and were left out: at most 2,000 are compared, in the order of the device list"`
	Summary     Summary            `json:"summary" doc:"What would change, in sentences"`
	Differences []Difference       `json:"differences" nullable:"false" doc:"Those of most devices first"`
	Failed      []FailedDifference `json:"failed" nullable:"false" doc:"Devices for which no plan could be made"`
	Truncated   bool               `json:"truncated" doc:"There are too many changes to show: some devices are compared in part"`
}

// Difference is one change and the devices whose plans have it.
type Difference struct {
	PlannedChange
	Devices []string `json:"devices" nullable:"false" doc:"Their IDs, in the order of the device list"`
}

// FailedDifference is a device for which no plan could be made.
type FailedDifference struct {
	DeviceID string `json:"deviceID" doc:"Of the device"`
	Error    string `json:"error" doc:"Why no difference could be made, for a person"`
}

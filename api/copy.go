package api

// FolderCopies is what is proven of the copies of a folder: Muster read the daemons in two rounds and compared what
// each had heard of the other. Scanned data only, and nothing about bits on a disk.
type FolderCopies struct {
	Folder  string       `json:"folder" doc:"ID of the folder"`
	ReadAt  Time         `json:"readAt" format:"date-time" doc:"When the daemons were asked"`
	Copies  int          `json:"copies" doc:"Devices that are proven to hold what every other device had scanned when it was asked; encrypted copies are not counted here"`
	Devices []FolderCopy `json:"devices" nullable:"false" doc:"All devices that have the folder, by label"`

	Islands []FolderIsland `json:"islands" nullable:"false" doc:"Groups of online devices between which no connection is known, largest first; empty when there is one group. A device that is not managed, not online or encrypted may join them, and nothing is proven then"`
	Cuts    []MissingLink  `json:"cuts" nullable:"false" doc:"Pairs of devices in different groups that share the folder and are not connected; at most 20"`
}

// FolderIsland is a group of devices that are connected, directly or through one another.
type FolderIsland struct {
	Devices []string `json:"devices" nullable:"false" doc:"Device IDs"`
}

// MissingLink is a connection that would join two groups of devices.
type MissingLink struct {
	Between string `json:"between" doc:"Device ID"`
	And     string `json:"and" doc:"Device ID"`
}

// FolderCopy is the copy of a folder on one device.
type FolderCopy struct {
	DeviceID  string   `json:"deviceID" doc:"Of the device"`
	Label     string   `json:"label" doc:"Of the device; blank: it has none"`
	State     string   `json:"state" enum:"proven,agrees,behind,unproven" doc:"proven: it holds everything that every other device that was asked had scanned. agrees: likewise, but for what is ignored, because a device has ignore patterns. behind: that was proven earlier, and not now. unproven: nothing is proven"`
	Encrypted bool     `json:"encrypted" doc:"The device has the folder encrypted"`
	Until     *Time    `json:"until" format:"date-time" nullable:"true" doc:"It holds what the others had scanned by then; null: nothing is proven"`
	Lacks     []string `json:"lacks" nullable:"false" doc:"IDs of the devices that were asked and whose data is not proven to be here"`
	Doubt     string   `json:"doubt" enum:",notInTime,restarted,notIdle,lacks,localChanges,indexesDiffer,peerSaysLacks,peerNotValid,differsFromAll" doc:"Why it is not proven now; blank where it is, or where the daemon could not be asked"`
	Reason    string   `json:"reason" doc:"Why it is not proven now, for a person"`
}

// DeviceAtRisk says what would be lost with a device: in which folders its data is not proven to be on
// another device.
type DeviceAtRisk struct {
	DeviceID string         `json:"deviceID" doc:"Of the device"`
	Label    string         `json:"label" doc:"Of the device; blank: it has none"`
	Folders  []FolderAtRisk `json:"folders" nullable:"false" doc:"All folders of the device, by ID"`
}

// FolderAtRisk is what is proven elsewhere of a device's data in one folder.
type FolderAtRisk struct {
	Folder  string   `json:"folder" doc:"ID of the folder"`
	State   string   `json:"state" enum:"proven,agrees,behind,unproven,none,notAsked" doc:"proven: another device is proven to hold everything that this one had scanned. agrees: likewise, but for what is ignored. behind: that was proven earlier, and what came later may be here only. unproven: no other device is proven to hold any of it. none: the device has no data of its own, because its copy is empty or encrypted. notAsked: the daemons were not asked, see reason"`
	Until   *Time    `json:"until" format:"date-time" nullable:"true" doc:"Other devices hold what this one had scanned by then; null: nothing is proven"`
	HeldBy  []string `json:"heldBy" nullable:"false" doc:"IDs of the devices of which that is proven"`
	Bytes   int64    `json:"bytes" doc:"Size of the files that the device has, as last read"`
	Claimed *int64   `json:"claimed" nullable:"true" doc:"Bytes that the best other device lacks by the word of this device's daemon: a claim, no proof; null: it was not asked"`
	Reason  string   `json:"reason" doc:"Why it is not proven now, for a person"`
}

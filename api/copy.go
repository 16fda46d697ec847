package api

// FolderCopies is what is proven of the copies of a folder: Muster read the daemons in two rounds and compared what
// each had heard of the other. Scanned data only, and nothing about bits on a disk.
type FolderCopies struct {
	Folder  string       `json:"folder"`
	ReadAt  Time         `json:"readAt" format:"date-time" doc:"When the daemons were asked"`
	Copies  int          `json:"copies" doc:"Devices that are proven to hold what every other device had scanned when it was asked; encrypted copies are not counted here"`
	Devices []FolderCopy `json:"devices" nullable:"false" doc:"All devices that have the folder, by label"`
}

// FolderCopy is the copy of a folder on one device.
type FolderCopy struct {
	DeviceID  string   `json:"deviceID"`
	Label     string   `json:"label"`
	State     string   `json:"state" enum:"proven,agrees,behind,unproven" doc:"proven: it holds everything that every other device that was asked had scanned. agrees: likewise, but for what is ignored, because a device has ignore patterns. behind: that was proven earlier, and not now. unproven: nothing is proven"`
	Encrypted bool     `json:"encrypted" doc:"The device has the folder encrypted"`
	Until     *Time    `json:"until" format:"date-time" nullable:"true" doc:"It holds what the others had scanned by then; null: nothing is proven"`
	Lacks     []string `json:"lacks" nullable:"false" doc:"IDs of the devices that were asked and whose data is not proven to be here"`
	Doubt     string   `json:"doubt" enum:",notInTime,restarted,notIdle,lacks,localChanges,indexesDiffer,peerSaysLacks,peerNotValid,differsFromAll" doc:"Why it is not proven now; blank where it is, or where the daemon could not be asked"`
	Reason    string   `json:"reason" doc:"Why it is not proven now, for a person"`
}

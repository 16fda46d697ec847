package fleet

// Counts are the numbers of the fleet or of a part of it.
type Counts struct {
	Devices        int
	Connections    map[Connection]int
	Configurations map[Configuration]int
	Folders        FolderCounts // each folder by the worst of its states on any device
	// DevicesByFolders counts devices by the worst state of their folders. Devices without folders are not counted.
	DevicesByFolders FolderCounts
	Waits            map[WaitCause]int // Devices are counted by why they wait for a person.
}

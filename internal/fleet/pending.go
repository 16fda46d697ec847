package fleet

import "time"

// Pending is a device or a folder that asks a managed daemon to be let in: Syncthing's own word.
type Pending struct {
	Device      DeviceID // the managed one that was asked
	From        DeviceID // who asks
	Name        string   // what it calls itself; of a device
	Address     string   // where it asked from; of a device
	Folder      string   // "" when the device itself asks
	FolderLabel string
	Encrypted   bool // the folder would be kept encrypted on Device
	Since       time.Time
}

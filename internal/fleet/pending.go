package fleet

import (
	"cmp"
	"time"
)

// Pending is a device or folder that a managed daemon was asked to add. Syncthing calls it pending too.
type Pending struct {
	Device      DeviceID // the managed device that was asked
	From        DeviceID // the device that asks
	Name        string   // name that the asking device uses for itself; only for a device
	Address     string   // address from which it asked; only for a device
	Folder      string   // "" when the device itself asks to be added
	FolderLabel string
	Encrypted   bool // Device would store the folder encrypted
	Since       time.Time
	// Revoked tells why the device that asks is not let in, and what ends that; "": it may be.
	Revoked string
}

// ComparePending orders by the device that was asked, then by who asks, then by folder.
func ComparePending(a, b Pending) int {
	return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.From, b.From), cmp.Compare(a.Folder, b.Folder))
}

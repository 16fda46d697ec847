package fleet

import (
	"cmp"
	"slices"
	"time"
)

// DiskFacts are what a device's agent reports about the disks of its machine. They are not verified, and kept only in
// memory.
type DiskFacts struct {
	At      time.Time    // When the agent sent the facts. It sends them again after large changes.
	Home    DiskSpace    // The disk under the daemon's home directory.
	Folders []FolderDisk // Sorted by folder ID.
}

// FolderDisk is what an agent finds at the path of one folder.
type FolderDisk struct {
	Folder   string
	Space    DiskSpace // The disk under the path.
	Versions DiskSpace // The disk under the folder's older versions; zero when they have no path of their own.
	Path     Presence
	Marker   Presence
}

// DiskSpace is in bytes. Total is 0 when the values are unknown.
type DiskSpace struct{ Free, Total int64 }

// Presence says whether a path exists.
type Presence string

// The values of Presence. An agent reports a path as missing only if the path existed at some time since the agent's
// start, because an agent in a container or a confined service may not see the paths of its daemon.
const (
	PresenceUnknown Presence = "unknown"
	PresenceThere   Presence = "there"
	PresenceMissing Presence = "missing"
)

// A disk is nearly full when less than a twentieth and less than nearlyFullBytes are free.
const (
	nearlyFullShare = 20
	nearlyFullBytes = 20 << 30
)

// NearlyFull reports whether a disk has little free space.
func (s DiskSpace) NearlyFull() bool {
	return s.Total > 0 && s.Free < s.Total/nearlyFullShare && s.Free < nearlyFullBytes
}

// NearlyFull reports whether the disk of the folder, or of its versions, has little free space.
func (d FolderDisk) NearlyFull() bool { return d.Space.NearlyFull() || d.Versions.NearlyFull() }

// HomeNearlyFull reports whether the disk of the daemon's home has little free space, and is not the nearly full disk
// of a folder. Without room there a daemon stops all its folders.
func (f *DiskFacts) HomeNearlyFull() bool {
	return f != nil && f.Home.NearlyFull() && !slices.ContainsFunc(f.Folders, func(d FolderDisk) bool {
		return d.Space.NearlyFull() && d.Space.Total == f.Home.Total
	})
}

// DriveMissing reports whether the path of the folder, or its marker, existed and has disappeared.
func (d FolderDisk) DriveMissing() bool {
	return d.Path == PresenceMissing || d.Path == PresenceThere && d.Marker == PresenceMissing
}

// Folder returns the facts about a folder, or the zero value when none are known. f may be nil.
func (f *DiskFacts) Folder(id string) FolderDisk {
	if f == nil {
		return FolderDisk{}
	}
	i, found := slices.BinarySearchFunc(
		f.Folders,
		id,
		func(d FolderDisk, id string) int { return cmp.Compare(d.Folder, id) },
	)
	if !found {
		return FolderDisk{}
	}
	return f.Folders[i]
}

// DisksAsOf returns the time until which the facts about disks are known to hold. For a connected agent that is now,
// since the agent reports changes. Zero: there are no facts.
func (s *Snapshot) DisksAsOf() time.Time {
	switch {
	case s.Disks == nil:
		return time.Time{}
	case s.Connection == Online && s.FoundBy == FoundByAgent && s.LastSeen.After(s.Disks.At):
		return s.LastSeen
	}
	return s.Disks.At
}

// LeastFree returns the free space of the fullest disk in percent. It is negative when no disk is known. f may be nil.
func (f *DiskFacts) LeastFree() int {
	least := -1
	if f == nil {
		return least
	}
	add := func(space DiskSpace) {
		if space.Total <= 0 {
			return
		}
		if free := min(100, max(0, int(100*float64(space.Free)/float64(space.Total)))); least < 0 || free < least {
			least = free
		}
	}
	add(f.Home)
	for _, folder := range f.Folders {
		add(folder.Space)
		add(folder.Versions)
	}
	return least
}

package agent

import (
	"golang.org/x/sys/windows"

	"muster/internal/adapter/tunnel"
)

// spaceAt returns the size of the disk under a path as this user may use it, and how much of it is free.
func spaceAt(path string) tunnel.Space {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return tunnel.Space{}
	}
	var free, total uint64
	if windows.GetDiskFreeSpaceEx(name, &free, &total, nil) != nil {
		return tunnel.Space{}
	}
	return tunnel.Space{Free: int64(free), Total: int64(total)}
}

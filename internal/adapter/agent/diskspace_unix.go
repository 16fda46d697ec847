//go:build linux || darwin

package agent

import (
	"golang.org/x/sys/unix"

	"muster/internal/adapter/tunnel"
)

// spaceAt returns the size of the disk under a path, and how much of it this user may still fill.
func spaceAt(path string) tunnel.Space {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return tunnel.Space{}
	}
	block := uint64(s.Bsize) //nolint:unconvert // The type differs between systems.
	return tunnel.Space{Free: int64(s.Bavail * block), Total: int64(s.Blocks * block)}
}

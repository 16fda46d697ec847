//go:build linux || darwin || freebsd

package cli

import "golang.org/x/sys/unix"

const windows = false

// freeBytes is how much this user may still write below a path.
func freeBytes(path string) (free uint64, known bool) {
	var disk unix.Statfs_t
	if unix.Statfs(path, &disk) != nil {
		return 0, false
	}
	return uint64(disk.Bavail) * uint64(disk.Bsize), true //nolint:gosec,unconvert // the types differ by system
}

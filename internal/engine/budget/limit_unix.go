//go:build unix

package budget

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// OfThisProcess raises the process's limit of open files as far as the system allows, and divides it.
func OfThisProcess() (Descriptors, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return Descriptors{}, fmt.Errorf("read the limit of open files: %w", err)
	}
	if limit.Cur < limit.Max { // The Go runtime has already tried to raise it.
		raised := unix.Rlimit{Cur: limit.Max, Max: limit.Max}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil {
			limit = raised
		}
	}
	return Share(int(min(uint64(limit.Cur), mostLimit)), runtime.NumCPU())
}

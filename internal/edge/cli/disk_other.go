//go:build !linux && !darwin && !freebsd

package cli

import "runtime"

const windows = runtime.GOOS == "windows"

// freeBytes is not known here.
func freeBytes(string) (free uint64, known bool) { return 0, false }

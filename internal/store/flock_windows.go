package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockExclusive holds until the file is closed, at the latest until the process ends.
func lockExclusive(f *os.File) (taken bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return true, nil
	}
	return false, err
}

func unlock(*os.File) error { return nil } // closing does

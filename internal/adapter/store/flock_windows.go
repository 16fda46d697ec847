package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockExclusive locks the file until it is closed or the process ends. taken is true if another process has the lock.
func lockExclusive(f *os.File) (taken bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return true, nil
	}
	return false, err
}

func unlock(*os.File) error { return nil } // Closing the file unlocks it.

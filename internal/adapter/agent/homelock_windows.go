package agent

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// lockHome locks a file in a home until it is closed. Locks are binding on Windows: that of the certificate would keep
// the daemon from reading it.
func lockHome(home string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(home, "muster-agent.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	switch err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{}); {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return nil, closing(file, errHeld)
	case err != nil:
		return nil, closing(file, err)
	}
	return file, nil
}

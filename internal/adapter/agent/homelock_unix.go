//go:build unix

package agent

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockHome locks the device's certificate in a home until it is closed. It needs no permission to write there, so it
// works for every user that can run an agent for the home, and in a service to which the home is read-only.
func lockHome(home string) (*os.File, error) {
	file, err := os.Open(filepath.Join(home, certFile))
	if err != nil {
		return nil, err
	}
	switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, closing(file, errHeld)
	case err != nil:
		return nil, closing(file, err)
	}
	return file, nil
}

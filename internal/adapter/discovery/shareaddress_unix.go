//go:build unix

package discovery

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// shareAddress lets Muster listen on the port of announcements beside a Syncthing on the same host.
func shareAddress(_, _ string, socket syscall.RawConn) error {
	var failed error
	err := socket.Control(func(descriptor uintptr) {
		failed = errors.Join(unix.SetsockoptInt(int(descriptor), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
			unix.SetsockoptInt(int(descriptor), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	})
	return errors.Join(err, failed)
}

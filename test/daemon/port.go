package daemon

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// FreePort is a port of loopback on which nothing listens, and which no other test takes until this one ends: a daemon
// leaves its port for a moment whenever its API restarts. It is below the range from which the kernel picks ports for
// outgoing connections.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if !reserve(t, port) {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		_ = l.Close()
		return port
	}
	t.Fatal("no free port on loopback after 100 attempts")
	return 0
}

// reserve locks the byte of a port in a file that all test processes of this user share, until the test ends.
func reserve(t testing.TB, port int) bool {
	t.Helper()
	name := filepath.Join(os.TempDir(), fmt.Sprintf("muster-test-ports-%d", os.Getuid()))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: int64(port), Len: 1}
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock) == nil
}

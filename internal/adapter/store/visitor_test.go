package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const visitedHome = "MUSTER_STORE_TEST_VISITED_HOME"

// Another program may look into the database while Muster runs: a backup does. When it leaves and gets the lock that
// every user of the database shares, it takes itself for the last one and deletes the write-ahead log that Muster goes
// on writing to. POSIX drops a process's locks on a file with the first descriptor of it that is closed.
func TestAVisitorDoesNotTakeItselfForTheLastUser(t *testing.T) {
	t.Parallel()
	options := Options{Home: preparedHome(t), Seal: key(t, 1)}
	first := must(Open(t.Context(), options))(t)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, options) // a start with a database that is there
	put(t, s, deviceN(1))
	visitor := exec.Command(os.Args[0])
	visitor.Env = append(os.Environ(), visitedHome+"="+options.Home)
	if out, err := visitor.CombinedOutput(); err != nil || string(out) != "in use\n" {
		t.Fatalf("the visitor finds the database %q, %v", out, err)
	}
}

// visit asks for SQLite's exclusive lock, as whoever closes a database does (sharedFirst and so on: os_unix.c).
func visit(home string) int {
	const sharedFirst, sharedSize = 0x40000002, 510
	f, err := os.OpenFile(filepath.Join(home, sqliteFile), os.O_RDWR, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer f.Close()
	err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{
		Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: sharedFirst, Len: sharedSize,
	})
	switch {
	case err == nil:
		fmt.Println("free")
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
		fmt.Println("in use")
	default:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

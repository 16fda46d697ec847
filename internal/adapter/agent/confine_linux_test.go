package agent

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"muster/internal/fleet"
)

const confinedHome = "MUSTER_TEST_CONFINED_HOME"

// TestConfined is the process of the next test.
func TestConfined(t *testing.T) {
	home, other := os.Getenv(confinedHome), os.Getenv("MUSTER_TEST_OTHER")
	if home == "" {
		return
	}
	a, err := New(Options{Server: "https://127.0.0.1:1", Home: home})
	if err != nil {
		t.Fatal(err)
	}
	socket, err := a.Listen(filepath.Join(home, "run"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Confine(filepath.Join(home, "run")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(other); !errors.Is(err, fs.ErrPermission) {
		t.Logf("MUSTER: another file can be read: %v", err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.xml"), nil, 0o600); !errors.Is(err, fs.ErrPermission) {
		t.Logf("MUSTER: the daemon's configuration can be written: %v", err)
	}
	if _, err := ReadHome(home); err != nil {
		t.Errorf("the home cannot be read any more: %v", err)
	}
	if _, err := a.daemon.certificate(); err != nil {
		t.Errorf("the device's key cannot be read any more: %v", err)
	}
	if at := findingAt(filepath.Dir(other)); at.is != fleet.PresenceThere || at.space.Total <= 0 {
		t.Errorf("the disk under another path is not known any more: %+v", at)
	}
	if _, err := net.LookupHost("localhost"); err != nil {
		t.Errorf("names cannot be looked up any more: %v", err)
	}
	_ = socket.Close()
}

// hasLandlock asks the kernel for the version of its Landlock.
func hasLandlock() bool {
	const version = 1 // LANDLOCK_CREATE_RULESET_VERSION
	_, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	return errno == 0
}

func TestAnAgentOpensNoFilesButThoseItNeeds(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, resolver := range []string{"go", "cgo"} {
		d := newFakeDaemon(t, nil)
		child := exec.Command(os.Args[0], "-test.run=^TestConfined$", "-test.v")
		child.Env = append(os.Environ(), confinedHome+"="+d.home, "MUSTER_TEST_OTHER="+other, "GODEBUG=netdns="+resolver)
		out, err := child.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", resolver, err, out)
		}
		switch open := bytes.Contains(out, []byte("MUSTER:")); {
		case open && hasLandlock():
			t.Errorf("%s: %s", resolver, out)
		case open:
			t.Log("this kernel has no Landlock: files are not confined")
		}
	}
}

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"muster/api"
)

// newTerminal gives a terminal, and the side on which a person sits.
func newTerminal(t *testing.T) (terminal, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	size := &unix.Winsize{Row: 24, Col: 120}
	if err := unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, size); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return terminal, person
}

// A person who applied a large fleet saw nothing until the server had planned it.
func TestApplyShowsOnATerminalWhatItWaitsFor(t *testing.T) {
	terminal, person := newTerminal(t)
	planning, making := make(chan struct{}), make(chan struct{})
	go func() {
		shown := map[string]chan struct{}{"Planning 1 template": planning, "Making 1 change": making}
		text, buffer := "", make([]byte, 4096)
		for {
			n, err := person.Read(buffer)
			if err != nil {
				return
			}
			text += string(buffer[:n])
			for what, seen := range shown {
				if seen != nil && strings.Contains(text, what) {
					close(seen)
					shown[what] = nil
				}
			}
		}
	}()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = []api.Device{}
		switch strings.TrimPrefix(r.URL.Path, "/api/v1/") {
		case "fleet/plan": // the answer comes when the bar was seen
			<-planning
			answer = api.FleetPlan{Differs: true, Digest: "d", Changes: []api.FleetChange{{What: "create", Kind: "template"}}}
		case "fleet/apply":
			<-making
			answer = api.AppliedFleet{Generation: 2, Changed: true}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, templatesDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, templatesDir, "a.hjson"), []byte("# key: gui.theme\n\"dark\"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	code := Run(t.Context(), []string{"apply", "-f", dir, "--yes", "--server", server.URL, "--token", "x"},
		Streams{In: strings.NewReader(""), Out: &out, Err: terminal}, "test")
	if code != exitDone || !strings.Contains(out.String(), "Done, in generation 2") {
		t.Errorf("got %d, %s", code, out.String())
	}
}

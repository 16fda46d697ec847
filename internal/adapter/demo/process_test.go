package demo

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/test/wait"
)

// script is a demo that a shell plays, with what it got of the environment as its code. It leaves a file when it ends.
func script(t *testing.T, text string) (d *Demo, ended string) {
	t.Helper()
	ended = filepath.Join(t.TempDir(), "ended")
	text = strings.ReplaceAll(text, "ENDED", "'"+ended+"'")
	text = strings.ReplaceAll(text, "LINK", "'"+filepath.Join(filepath.Dir(ended), fleet.LoginLinkFile)+"'")
	d = New([]string{"/bin/sh", "-c", text}, slog.New(slog.DiscardHandler))
	t.Cleanup(d.End)
	return d, ended
}

const serves = `echo "Muster is ready: http://127.0.0.1:4711 (administrator's token in x)"
echo "http://127.0.0.1:4711/ui/login?code=a$MUSTER_DATABASE" >LINK
echo LINK
cat >/dev/null
touch ENDED`

func TestADemoRunsUntilItIsEnded(t *testing.T) {
	t.Setenv("MUSTER_DATABASE", "postgres://fleet")
	d, ended := script(t, serves)
	if d.Running() != nil {
		t.Error("a demo runs that nobody started")
	}
	first, err := d.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first.String() != "http://127.0.0.1:4711/ui/login?code=a" {
		t.Errorf("got the link %s: without a setting of this server it ends with code=a", first)
	}
	if at := d.Running(); at == nil || at.String() != "http://127.0.0.1:4711/ui/" {
		t.Errorf("runs at %v", at)
	}
	if _, err := d.Start(t.Context()); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("a second demo: %v", err)
	}
	d.End()
	if _, err := os.Stat(ended); err != nil || d.Running() != nil {
		t.Errorf("it did not come to its end: %v, runs at %v", err, d.Running())
	}
	d.End()
	if _, err := d.Start(t.Context()); err != nil {
		t.Errorf("another one: %v", err)
	}
}

func TestADemoThatDoesNotStartIsAnError(t *testing.T) {
	d, _ := script(t, "echo no link; exit 3")
	if _, err := d.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
	if d.Running() != nil {
		t.Error("it is said to run")
	}
	missing := New([]string{filepath.Join(t.TempDir(), "none")}, slog.New(slog.DiscardHandler))
	if _, err := missing.Start(t.Context()); err == nil {
		t.Error("a program that is not there was started")
	}
}

func TestADemoThatEndedByItselfIsForgotten(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	d, _ := script(t, fmt.Sprintf(`echo "http://127.0.0.1:4711/ui/login?code=a" >LINK
echo LINK
until [ -e '%s' ]; do sleep 0.01; done`, gate))
	if _, err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.Running() == nil {
		t.Error("it does not run")
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "it does not run", func() bool { return d.Running() == nil })
}

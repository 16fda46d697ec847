package agent

import (
	"os"
	"path/filepath"
	"testing"

	"muster/internal/fleet"
)

// Two agents of two users for one daemon took turns at the server, which called that a copied identity.
func TestASecondAgentForADaemonIsKeptOut(t *testing.T) {
	d := newFakeDaemon(t, nil)
	agentOf := func() *Agent {
		a, err := New(Options{Server: "muster.example", Home: d.home, Proxy: noProxy})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if err := os.Chmod(filepath.Join(d.home, certFile), 0o400); err != nil {
		t.Fatal(err)
	}
	release, err := agentOf().HoldHome()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agentOf().HoldHome(); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("a second agent: got %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, err = agentOf().HoldHome(); err != nil {
		t.Fatalf("after the first ended: got %v", err)
	}
	_ = release()
}

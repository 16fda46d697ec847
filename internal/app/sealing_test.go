package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/adapter/seal"
	"muster/internal/fleet"
)

// Keys that come from outside are replaced there: the new one before the old one. Once nothing needs the old one, the
// server starts without it.
func TestAKeyFromOutsideIsReplacedByTheOneBeforeIt(t *testing.T) {
	home := t.TempDir()
	older, newer := seal.NewRing(seal.Random()), seal.NewRing(seal.Random())
	startWith := func(keys ...*seal.Ring) *App {
		t.Helper()
		var text strings.Builder
		for _, ring := range keys {
			text.WriteString(ring.Text().Reveal())
		}
		a, err := New(t.Context(), optionsOf(home, fleet.NewSecret(text.String())))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := startWith(older)
	if err := a.sealing.RotateSeal(t.Context()); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("a server cannot replace what it is given: %v", err)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	a = startWith(newer, older)
	for deadline := time.Now().Add(time.Minute); len(a.sealing.Seal().Older) > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("the old key is still needed: %+v", a.sealing.Seal())
		}
		<-time.After(10 * time.Millisecond)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := startWith(newer).Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), optionsOf(home, older.Text())); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("the old key still fits: %v", err)
	}
}

// A process that is killed while it writes the key file leaves one beside it, with keys that go out of use.
func TestKeysThatACrashLeftAreRemoved(t *testing.T) {
	home := t.TempDir()
	if _, err := startIn(t, home); err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(home, seal.FileName+".123")
	if err := os.WriteFile(stray, []byte(seal.NewRing(seal.Random()).Text().Reveal()), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), optionsOf(home, fleet.Secret{}))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		left, err := filepath.Glob(filepath.Join(home, seal.FileName+"*"))
		if err != nil || !slices.Contains(left, filepath.Join(home, seal.FileName)) {
			t.Fatal(left, err)
		}
		if len(left) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v are left", left)
		}
		<-time.After(10 * time.Millisecond)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
}

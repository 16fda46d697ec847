package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/adapter/seal"
	"muster/internal/fleet"
)

// startIn starts a server in a home and stops it again, and gives what it logged.
func startIn(t *testing.T, home string) (log string, err error) {
	t.Helper()
	var out bytes.Buffer
	o := optionsOf(home, fleet.Secret{})
	o.Log = slog.New(slog.NewTextHandler(&out, nil))
	a, err := New(t.Context(), o)
	if err == nil {
		err = a.Stop()
	}
	return out.String(), err
}

func optionsOf(home string, key fleet.Secret) Options {
	return Options{
		Home: home, Listen: "127.0.0.1:0", SealKey: key, Configurator: fleet.ModeObserve,
		DiscoveryServers: []string{"none"}, Worker: []string{"/bin/cat"}, Log: slog.New(slog.DiscardHandler),
		Out: io.Discard,
	}
}

func TestWavesThatCannotBeReadMakeNoHome(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	for _, wrong := range []func(*Options){
		func(o *Options) { o.Settings = map[fleet.SettingName]string{fleet.SettingWavePlan: "1,2"} },
		func(o *Options) { o.Settings = map[fleet.SettingName]string{fleet.SettingApproval: "many"} },
	} {
		o := optionsOf(home, fleet.Secret{})
		wrong(&o)
		if _, err := New(t.Context(), o); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the home was made: %v", err)
		}
	}
}

// A database without its key got another one, and the backup that was made then buried the right one.
func TestADatabaseWithoutItsSealKeyIsRefusedAndNoOtherKeyIsMade(t *testing.T) {
	home := t.TempDir()
	if _, err := startIn(t, home); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, seal.FileName)
	key, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err = startIn(t, home)
	if fleet.CodeOf(err) != fleet.CodeConflict || !strings.Contains(err.Error(), "seal.key is missing") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("another key was made")
	}
	if err := os.WriteFile(path, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := startIn(t, home); err != nil {
		t.Error(err)
	}
}

func TestTheHomeIsForItsOwnUserOnly(t *testing.T) {
	home := t.TempDir()
	if _, err := startIn(t, home); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) < 4 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, entry := range entries {
		if !isHomeFile(entry.Name()) {
			t.Errorf("%s is not known for a file of the home", entry.Name())
		}
		if err := os.Chmod(filepath.Join(home, entry.Name()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	log, err := startIn(t, home)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		wantMode(t, filepath.Join(home, entry.Name()), 0o600)
		if !strings.Contains(log, entry.Name()) {
			t.Errorf("the log does not name %s", entry.Name())
		}
	}
	wantMode(t, home, 0o700)
}

// A folder that holds other things, too, is not Muster's to close.
func TestAHomeAmongOtherThingsKeepsItsMode(t *testing.T) {
	home := t.TempDir()
	for _, path := range []string{"notes.txt", "muster.db-journal"} {
		if err := os.WriteFile(filepath.Join(home, path), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	a := &App{o: Options{Home: home}, log: slog.New(slog.DiscardHandler)}
	if err := a.closeHome(); err != nil {
		t.Fatal(err)
	}
	wantMode(t, home, 0o755)
	wantMode(t, filepath.Join(home, "notes.txt"), 0o644)
	wantMode(t, filepath.Join(home, "muster.db-journal"), 0o600)
}

// What others could write may be theirs: another seal key, a database with an administrator of their own.
func TestAHomeThatOthersMayWriteIsRefusedWithTheCommandThatMendsIt(t *testing.T) {
	home := t.TempDir()
	if _, err := startIn(t, home); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "muster.db", seal.FileName, "admin-token"} {
		path := filepath.Join(home, name)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, info.Mode().Perm()|0o020); err != nil {
			t.Fatal(err)
		}
		_, err = startIn(t, home)
		var refused *fleet.Error
		if want := "type: chmod go-w '" + path + "'"; !errors.As(err, &refused) || !strings.HasSuffix(refused.Hint, want) {
			t.Errorf("%q: got %v", name, err)
		}
		if err := os.Chmod(path, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := startIn(t, home); err != nil {
		t.Error(err)
	}
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
		return
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has mode %s, want %s", filepath.Base(path), fmt.Sprintf("%o", got), fmt.Sprintf("%o", want))
	}
}

package backup_test

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"muster/internal/adapter/store"
	"muster/internal/engine/backup"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
)

// commandOfTest has this test binary run a command of muster, so that it can be killed.
const commandOfTest = "MUSTER_BACKUP_TEST_COMMAND"

// killed runs a command and kills it after some time, unless it is through by then.
func killed(t *testing.T, after time.Duration, args ...string) {
	t.Helper()
	child := asCommand(args)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(after, func() { _ = child.Process.Kill() })
	defer kill.Stop()
	var exit *exec.ExitError
	if err := child.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
}

// A backup that is killed leaves no file under its name, or a whole one; a restore leaves a whole home, or one that no
// server starts in.
func TestABackupAndARestoreThatAreKilledLeaveNothingHalf(t *testing.T) {
	t.Parallel()
	kills := 6
	if soaking() {
		kills = 200
	}
	from, lock := newPlace(t, false), newPadlock(t)
	s := server.Start(t, server.Options{Home: from.home, Mode: fleet.ModeObserve})
	for range 30 {
		s.Template("set", "options.natEnabled", "# "+strings.Repeat("x", 20_000)+"\ntrue", "all")
	}
	s.Stop()
	whole := filepath.Join(t.TempDir(), "whole.backup")
	began := time.Now()
	mustMuster(t, lock.backup(from, whole)...)
	most := 2 * time.Since(began)
	t.Run("a backup", func(t *testing.T) {
		t.Parallel()
		for range kills {
			killedBackup(t, from, lock, time.Duration(rand.Int64N(int64(most))))
		}
	})
	t.Run("a restore", func(t *testing.T) {
		t.Parallel()
		for range kills {
			killedRestore(t, whole, lock, time.Duration(rand.Int64N(int64(most))))
		}
	})
}

func killedBackup(t *testing.T, from place, lock padlock, after time.Duration) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.backup")
	killed(t, after, lock.backup(from, file)...)
	if !exists(file) {
		return
	}
	drop := func(backup.Content) (backup.Sink, error) { return &content{}, nil }
	if _, err := backup.Read(file, lock.opener, drop); err != nil {
		t.Errorf("half a backup has the name of a whole one: %v", err)
	}
}

func killedRestore(t *testing.T, whole string, lock padlock, after time.Duration) {
	t.Helper()
	to := newPlace(t, false)
	killed(t, after, lock.restore(to, whole)...)
	switch {
	case exists(filepath.Join(to.home, "restore.unfinished")):
		code, output := muster(t, "serve", "--home", to.home, "--listen", "127.0.0.1:0", "--discovery-server", "none")
		if code != 3 || !strings.Contains(output, "cut short") {
			t.Errorf("a server in half a home: %d, %q", code, output)
		}
	case exists(filepath.Join(to.home, "muster.db")):
		wantSame(t, whole, lock.opener, to)
	default:
		wantEmpty(t, to)
	}
}

// The backup of a server that was killed while it sent a change has the intent of it, which is verified, not sent.
func TestARestoredServerSendsNothingOfAnUnfinishedIntent(t *testing.T) {
	t.Parallel()
	farm := simulated.Start(t, stsim.Options{Count: 2, Seed: 6, Network: network + 1, Quiet: true})
	from, lock := newPlace(t, false), newPadlock(t)
	s := server.Start(t, server.Options{Home: from.home, KillAt: "after intent"})
	for _, d := range farm.Daemons() {
		s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), "all")
		s.WaitConnection(d.ID(), fleet.Online)
	}
	s.TemplateUntilKilled("set", "options.natEnabled", "true", "all")
	s.WaitEnd()
	file := filepath.Join(t.TempDir(), "killed.backup")
	mustMuster(t, lock.backup(from, file)...)
	to := newPlace(t, false)
	mustMuster(t, lock.restore(to, file)...)
	var was content
	if err := store.Dump(t.Context(), to.store(), &was); err != nil || len(was.rows["intents"]) == 0 {
		t.Fatalf("%d intents, %v: this test would show nothing", len(was.rows["intents"]), err)
	}
	for _, d := range farm.Daemons() {
		d.ResetCounters()
	}
	restored := server.Start(t, server.Options{Home: to.home})
	wantObserving(t, restored, farm, false)
	if _, err := os.Stat(filepath.Join(from.home, "restore.unfinished")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

package backup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// network is the part of the loopback range that the daemons of these tests have.
const network = 113

// natOf is what a daemon has at the key that the templates of these tests are about.
func natOf(d *stsim.Daemon) bool { return d.Config().Get("options").Get("natEnabled").IsTrue() }

// The templates of an old backup may be older than what the daemons have: a restored server says how many devices
// differ, and writes nothing until a person resumes.
func TestARestoredServerWritesNothingUntilAPersonResumes(t *testing.T) {
	t.Parallel()
	farm := simulated.Start(t, stsim.Options{Count: 2, Seed: 5, Network: network, Quiet: true})
	from, lock := newPlace(t, false), newPadlock(t)
	s := server.Start(t, server.Options{Home: from.home})
	for _, d := range farm.Daemons() {
		s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), "all")
	}
	id := s.Template("set", "options.natEnabled", "false", "all")
	inSync(t, s, farm, false)
	head := strings.Fields(mustMuster(t, "audit", "head", "--server", s.URL, "--muster-home", from.home))
	mustMuster(t, "token", "create", "--name", "night-shift", "--role", "operator", "--server", s.URL, "--muster-home",
		from.home)
	file := filepath.Join(t.TempDir(), "old.backup")
	mustMuster(t, lock.backup(from, file)...)
	op, key, label, text := "set", "options.natEnabled", "newer", "true"
	if _, err := s.Client.PutTemplate(t.Context(), id,
		api.PutTemplate{Op: &op, Key: &key, Label: &label, Template: &text}); err != nil {
		t.Fatal(err)
	}
	inSync(t, s, farm, true)
	s.Kill()
	to := newPlace(t, false)
	printed := mustMuster(t, lock.restore(to, file)...)
	if !strings.Contains(printed, "token night-shift: operator") || !strings.Contains(printed, "audit verify --head") {
		t.Errorf("restore prints %s", printed)
	}
	for _, d := range farm.Daemons() {
		d.ResetCounters()
	}
	for range 2 { // and it stays so after another start
		restored := server.Start(t, server.Options{Home: to.home})
		wantObserving(t, restored, farm, true)
		restored.Kill()
	}
	restored := server.Start(t, server.Options{Home: to.home})
	wantObserving(t, restored, farm, true)
	mustMuster(t, "audit", "verify", "--head", head[len(head)-1], "--server", restored.URL, "--muster-home", to.home)
	mustMuster(t, "resume", "--server", restored.URL, "--muster-home", to.home)
	inSync(t, restored, farm, false)
	if overview, err := restored.Client.Overview(t.Context()); err != nil || overview.Restored != nil {
		t.Errorf("a person resumed: %+v, %v", overview.Restored, err)
	}
}

func inSync(t *testing.T, s *server.Server, farm *stsim.Farm, nat bool) {
	t.Helper()
	for _, d := range farm.Daemons() {
		s.WaitConfiguration(d.ID(), fleet.ConfigInSync)
		wait.Until(t, func() string {
			if natOf(d) != nat {
				return fmt.Sprintf("%s has natEnabled %v", d.Name(), !nat)
			}
			return ""
		})
	}
}

// wantObserving waits until every device is planned, has the daemons change meanwhile, and counts what they were sent.
func wantObserving(t *testing.T, s *server.Server, farm *stsim.Farm, nat bool) {
	t.Helper()
	differing := func() string {
		overview, err := s.Client.Overview(t.Context())
		if err != nil {
			return err.Error()
		}
		if r := overview.Restored; r == nil || r.Differing != len(farm.Daemons()) || r.Unknown != 0 ||
			overview.Mode != string(fleet.ModeObserve) {
			return fmt.Sprintf("mode %s, restored %+v", overview.Mode, overview.Restored)
		}
		return ""
	}
	wait.Until(t, differing)
	for _, d := range farm.Daemons() { // a change at the daemon is planned, too
		revisions, err := s.Client.Revisions(t.Context(), string(d.ID()), client.List{})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Edit(func(config stconfig.Value) stconfig.Value {
			options := config.Get("options")
			return config.With("options", options.With("limitBandwidthInLan",
				stconfig.Boolean(!options.Get("limitBandwidthInLan").IsTrue())))
		}); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, func() string {
			again, err := s.Client.Revisions(t.Context(), string(d.ID()), client.List{})
			if err != nil || len(again) <= len(revisions) {
				return fmt.Sprintf("%d revisions, %v", len(again), err)
			}
			return ""
		})
	}
	wait.Until(t, differing)
	for _, d := range farm.Daemons() {
		if writes := d.Counters().Writes; writes > 0 || natOf(d) != nat {
			t.Errorf("%s was sent %d writes: %v", d.Name(), writes, d.Counters().ByRoute)
		}
	}
	code, output := muster(t, "status", "--server", s.URL, "--muster-home", s.Home)
	if code != 3 || !strings.Contains(output, "Restored from a backup of ") ||
		!strings.Contains(output, ": 2 devices would be changed") {
		t.Errorf("status ends with %d and says %q", code, output)
	}
}

func TestBackupsAreMadeByThemselvesAndTroubleIsShown(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := server.Start(t, server.Options{Mode: fleet.ModeObserve, BackupEvery: 200 * time.Millisecond, BackupTo: folder,
		BackupPassphrase: phrase})
	s.Template("set", "options.natEnabled", "true", "all")
	made := func() string {
		overview, err := s.Client.Overview(t.Context())
		if err != nil {
			return err.Error()
		}
		if b := overview.Backup; b == nil || b.LastAt == nil || b.Trouble != "" || b.Bytes == 0 ||
			!exists(filepath.Join(folder, b.File)) {
			return fmt.Sprintf("%+v", b)
		}
		return ""
	}
	wait.Until(t, made)
	wait.Until(t, func() string {
		if files, err := filepath.Glob(filepath.Join(folder, "*.backup")); err != nil || len(files) < 2 {
			return fmt.Sprint(files, err)
		}
		return ""
	})
	wantMetric(t, s, "muster_backup_failed 0")
	away := folder + ".away"
	if err := os.Rename(folder, away); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		overview, err := s.Client.Overview(t.Context())
		if err != nil {
			return err.Error()
		}
		if overview.Backup == nil || overview.Backup.Trouble == "" || overview.Backup.LastAt == nil {
			return fmt.Sprintf("%+v", overview.Backup)
		}
		for _, i := range overview.Impairments {
			if i.Part == "backup" && !i.Blocking && i.Next != "" {
				return ""
			}
		}
		return fmt.Sprintf("%+v", overview.Impairments)
	})
	wantMetric(t, s, "muster_backup_failed 1")
	if err := os.Rename(away, folder); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, made)
	s.Kill()
	files, err := filepath.Glob(filepath.Join(folder, "*.backup"))
	if err != nil || len(files) == 0 || len(files) > 3 {
		t.Fatal(files, err)
	}
	to := newPlace(t, true)
	mustMuster(t, to.command("restore", files[len(files)-1], "--passphrase-file", passphraseFile(t, phrase))...)
	wantSame(t, files[len(files)-1], byPassphrase(t), to)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func wantMetric(t *testing.T, s *server.Server, want string) {
	t.Helper()
	wait.Until(t, func() string {
		text, err := s.Client.Metrics(t.Context())
		if err != nil {
			return err.Error()
		}
		if !strings.Contains(string(text), want) {
			return "no " + want
		}
		return ""
	})
}

package backup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// An administrator chooses folder and time of backups while the server runs, below what the machine allows.
func TestBackupsAreMadeOnceSettingsSaySo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := server.Start(t, server.Options{BackupPassphrase: "a passphrase of many bytes", BackupRoots: []string{root}})
	ctx, folder := t.Context(), filepath.Join(root, "muster")
	refused := func(what string, err error, words string) {
		t.Helper()
		if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	_, err := s.Client.PutSetting(ctx, "backupEvery", "1h")
	refused("a time without a folder", err, "no folder yet")
	for _, outside := range []string{"/etc", filepath.Dir(root), root + "-x", filepath.Join(root, "..", "x"), "/"} {
		_, err = s.Client.PutSetting(ctx, "backupTo", outside)
		refused(outside, err, "only below")
		_, err = s.Client.TestSetting(ctx, "backupTo", &outside)
		refused(outside, err, "only below")
	}
	_, err = s.Client.TestSetting(ctx, "backupTo", &folder)
	refused("a folder that is not there", err, "no such folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Client.TestSetting(ctx, "backupTo", &folder); err != nil || !strings.Contains(found.Found, folder) {
		t.Errorf("got %+v, %v", found, err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("the trial leaves %v, %v", left, err)
	}
	for _, set := range [][2]string{{"backupTo", folder}, {"backupEvery", "1h"}} {
		if _, err := s.Client.PutSetting(ctx, set[0], set[1]); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, func() string {
		made, err := filepath.Glob(filepath.Join(folder, "muster-*.backup"))
		if err != nil || len(made) != 1 {
			return "there is no backup yet"
		}
		return ""
	})
	_, err = s.Client.TestSetting(ctx, "soak", nil)
	refused("a setting that is not tried", err, "not tried")
}

// The folder in the home is made, and needs nobody on the machine. What backups are encrypted to does.
func TestBackupsInTheHomeNeedALock(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	folder := filepath.Join(s.Home, "backups")
	if _, err := s.Client.TestSetting(t.Context(), "backupTo", &folder); err != nil {
		t.Error(err)
	}
	if _, err := s.Client.PutSetting(t.Context(), "backupTo", folder); err != nil {
		t.Error(err)
	}
	_, err := s.Client.PutSetting(t.Context(), "backupEvery", "1h")
	if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), "encrypted to") {
		t.Errorf("got %v", err)
	}
}

package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/engine/backup"
	"muster/internal/fleet"
)

// settled starts a server without flags for settings, with something that backups are encrypted to.
func settled(t *testing.T, home string, roots ...string) *App {
	t.Helper()
	lock, err := backup.NewLock(nil, fleet.NewSecret("a passphrase of many bytes"))
	if err != nil {
		t.Fatal(err)
	}
	o := optionsOf(home, fleet.Secret{})
	o.BackupLock, o.BackupRoots = lock, roots
	return started(t, o)
}

// started starts a server, and stops it at the end of the test.
func started(t *testing.T, o Options) *App {
	t.Helper()
	a, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop() })
	return a
}

func (a *App) set(t *testing.T, name fleet.SettingName, value string) {
	t.Helper()
	if _, err := a.policy.Put(fleet.WithActor(t.Context(), "anna"), name, value, nil); err != nil {
		t.Fatal(err)
	}
}

// A client secret is never shown, but the next start would have sent it to the provider of a thief.
func TestAStoredSecretKeepsItsProvider(t *testing.T) {
	t.Parallel()
	a := settled(t, t.TempDir())
	a.set(t, fleet.SettingOIDCRoles, "admin=chiefs")
	a.set(t, fleet.SettingOIDCClientID, "muster")
	a.set(t, fleet.SettingOIDCIssuer, "https://id.example")
	a.set(t, fleet.SettingOIDCClientSecret, "canary-7713")
	elsewhere := func(what string) {
		t.Helper()
		_, err := a.policy.Put(t.Context(), fleet.SettingOIDCIssuer, "https://evil.example", nil)
		if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), "client secret") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	elsewhere("another issuer")
	if _, err := a.policy.Reset(t.Context(), fleet.SettingOIDCIssuer, nil); err != nil {
		t.Fatal(err) // Single sign-on can be switched off.
	}
	elsewhere("without an issuer")
	if _, err := a.policy.Reset(t.Context(), fleet.SettingOIDCClientSecret, nil); err != nil {
		t.Fatal(err)
	}
	a.set(t, fleet.SettingOIDCIssuer, "https://other.example")
}

// An administrator had the server ask any address, again and again, and nobody could know.
func TestATrialIsInTheAuditAndRunsAlone(t *testing.T) {
	t.Parallel()
	a := settled(t, t.TempDir())
	var running, most atomic.Int32
	asked := make(chan struct{}, 10)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		asked <- struct{}{}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(provider.Close)
	ctx, done := fleet.WithActor(t.Context(), "anna"), make(chan error)
	const trials = 4
	for range trials {
		go func() {
			_, err := a.TestSetting(ctx, fleet.SettingOIDCIssuer, new(provider.URL))
			done <- err
		}()
	}
	for range trials {
		if err := <-done; err == nil {
			t.Error("a provider without metadata is found to work")
		}
	}
	if len(asked) < trials || most.Load() != 1 {
		t.Errorf("%d requests, %d at a time", len(asked), most.Load())
	}
	folder := filepath.Join(a.o.Home, ownBackups)
	if _, err := a.TestSetting(ctx, fleet.SettingBackupTo, new(folder)); err != nil {
		t.Error(err)
	}
	entries, err := a.store.Audit(ctx, fleet.AuditQuery{What: auditTrial})
	if err != nil || len(entries) != trials+1 || entries[0].Detail != folder || entries[1].Detail != provider.URL ||
		entries[1].Subject != string(fleet.SettingOIDCIssuer) || entries[1].Who != "anna" {
		t.Errorf("got %+v, %v", entries, err)
	}
}

// The server went on in a folder that the machine did not allow any more. A copy of it, restored elsewhere, removed the
// backups of the server that it was a copy of.
func TestBackupsFollowTheFoldersThatTheMachineAllows(t *testing.T) {
	t.Parallel()
	home, root := t.TempDir(), t.TempDir()
	a := settled(t, home, root)
	a.set(t, fleet.SettingBackupTo, root)
	a.set(t, fleet.SettingBackupEvery, "1h")
	if plan := a.backupPlan(); plan.Held != nil || plan.Stay != backupsStay || plan.Check() != nil {
		t.Errorf("got %+v", plan)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	a = settled(t, home)
	impairment := a.backups.Impairment()
	if a.backups.Enabled() || impairment == nil || !strings.Contains(impairment.Reason, "backupTo") ||
		!strings.Contains(impairment.Next, "--backup-root") {
		t.Errorf("got %+v", impairment)
	}
	if _, err := a.TestSetting(t.Context(), fleet.SettingBackupTo, new(root)); fleet.CodeOf(err) != fleet.CodeInvalid {
		t.Errorf("a trial writes there: %v", err)
	}
}

// A link below an allowed folder led anywhere.
func TestALinkLeadsNoBackupElsewhere(t *testing.T) {
	t.Parallel()
	root, elsewhere := t.TempDir(), t.TempDir()
	a := settled(t, t.TempDir(), root)
	link, inside := filepath.Join(root, "link"), filepath.Join(root, "inside")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{link, filepath.Join(link, "below")} {
		_, err := a.policy.Put(t.Context(), fleet.SettingBackupTo, folder, nil)
		if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), elsewhere) {
			t.Errorf("%s: got %v", folder, err)
		}
	}
	a.set(t, fleet.SettingBackupTo, inside)
	check := a.backupPlan().Check
	if err := check(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(inside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, inside); err != nil {
		t.Fatal(err)
	}
	if err := check(); fleet.CodeOf(err) != fleet.CodeInvalid {
		t.Errorf("the folder became a link: got %v", err)
	}
	// What the machine names may be a link.
	linked := filepath.Join(t.TempDir(), "root")
	if err := os.Symlink(root, linked); err != nil {
		t.Fatal(err)
	}
	a.o.BackupRoots = []string{linked}
	if err := a.checkBackupLinks(filepath.Join(linked, "new")); err != nil {
		t.Error(err)
	}
}

// A database in doubt stopped the backups, and nobody was told.
func TestADoubtAboutSettingsTellsThatNoBackupsAreMade(t *testing.T) {
	t.Parallel()
	a := settled(t, t.TempDir())
	of := func(source fleet.SettingSource, value string) fleet.SettingState {
		return fleet.SettingState{Value: value, Source: source}
	}
	inside := filepath.Join(a.o.Home, ownBackups)
	for _, c := range []struct {
		every, to fleet.SettingState
		held      bool
	}{
		{of(fleet.SettingByGuard, "0s"), of(fleet.SettingByGuard, ""), true},
		{of(fleet.SettingByFlag, "1h"), of(fleet.SettingByGuard, ""), true},
		{of(fleet.SettingByFlag, "1h"), of(fleet.SettingByFlag, "/var/any"), false},
		{of(fleet.SettingByDefault, "0s"), of(fleet.SettingByDefault, ""), false},
		{of(fleet.SettingStored, "1h"), of(fleet.SettingStored, inside), false},
	} {
		if held := a.heldBackups(c.every, c.to); (held != nil) != c.held {
			t.Errorf("%+v: got %+v", c, held)
		}
	}
}

// The number alone removed what was configured before.
func TestOnlyAFlagLetsTheNumberOfConfigurationsDecideAlone(t *testing.T) {
	t.Parallel()
	a := settled(t, t.TempDir())
	a.set(t, fleet.SettingKeepRevisions, "10")
	if r := a.retention(); r.Revisions != 10 || r.Recent != 168*time.Hour {
		t.Errorf("got %+v", r)
	}
	o := optionsOf(t.TempDir(), fleet.Secret{})
	o.Settings = map[fleet.SettingName]string{fleet.SettingKeepRevisions: "5"}
	if r := started(t, o).retention(); r.Revisions != 5 || r.Recent != 0 {
		t.Errorf("got %+v", r)
	}
}

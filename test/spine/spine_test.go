// Package spine_test tests a whole server with real Syncthing daemons from registration to the written configuration.
//
// Tests that kill a server at each step, or try one mistake after the other, run without the race detector.
//
//muster:needs daemons database
//muster:test -skip=Killed[ABD]|Although|Mistakes|WhoWins|FieldByField
//muster:test -race=false -run=Killed[ABD]|Although|Mistakes|WhoWins|FieldByField
//muster:soak
package spine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/adapter/store/pgtest"
	"muster/internal/edge/cli"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// enroll runs the command on a daemon's home, as a person on its machine would.
func enroll(t *testing.T, s *server.Server, d *daemon.Daemon, tags ...string) {
	t.Helper()
	args := []string{"enroll", "--server", s.URL, "--muster-home", s.Home, "--home", d.Home}
	for _, tag := range tags {
		args = append(args, "--tag", tag)
	}
	var out, errs bytes.Buffer
	if code := cli.Run(t.Context(), args, cli.Streams{Out: &out, Err: &errs}, "test"); code != 0 {
		t.Fatalf("enroll ended with %d: %s%s", code, &out, &errs)
	}
	if !strings.Contains(out.String(), string(d.ID)) || !strings.Contains(out.String(), "Online") {
		t.Fatalf("enroll printed %q", &out)
	}
}

func TestADaemonIsMirroredFieldByField(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	for name, options := range map[string]daemon.Options{"https": {TLS: true}, "plain loopback": {}} {
		t.Run(name, func(t *testing.T) {
			d := daemon.Start(t, options)
			d.AddFolder("photos 2026/ü")
			enroll(t, s, d)
			compareStatus(t, s, d)
			compareVersion(t, s, d)
			compareFolder(t, s, d, "photos 2026/ü")
		})
	}
}

func compareStatus(t *testing.T, s *server.Server, d *daemon.Daemon) {
	t.Helper()
	var got api.DeviceStatus
	wait.Until(t, func() string { // it is kept a moment after the device is online
		var err error
		if got, err = s.Client.DeviceStatus(t.Context(), string(d.ID)); err != nil {
			return err.Error()
		}
		return ""
	})
	var want struct {
		MyID, PathSeparator, Tilde string
		CPUPercent                 float64
		DiscoveryEnabled           bool
		DiscoveryMethods           int64
		Alloc, Sys, Uptime         int64
		Goroutines                 int64
	}
	d.GetJSON("/rest/system/status", &want)
	fixed := fmt.Sprint(got.MyID, got.PathSeparator, got.Tilde, got.CPUPercent, got.DiscoveryEnabled,
		got.DiscoveryMethods)
	if wanted := fmt.Sprint(want.MyID, want.PathSeparator, want.Tilde, want.CPUPercent, want.DiscoveryEnabled,
		want.DiscoveryMethods); fixed != wanted {
		t.Errorf("got %s, want %s", fixed, wanted)
	}
	if got.Alloc <= 0 || got.Sys <= 0 || got.GoRoutines <= 0 || got.Uptime < 0 || got.Uptime > want.Uptime {
		t.Errorf("moving numbers look wrong: %+v, the daemon says %+v", got, want)
	}
}

func compareVersion(t *testing.T, s *server.Server, d *daemon.Daemon) {
	t.Helper()
	got, err := s.Client.DeviceVersion(t.Context(), string(d.ID))
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Arch, Codename, LongVersion, OS, Version string }
	d.GetJSON("/rest/system/version", &want)
	if got.Arch != want.Arch || got.Codename != want.Codename || got.LongVersion != want.LongVersion ||
		got.OS != want.OS || got.Version != want.Version || got.Device != string(d.ID) {
		t.Errorf("got %+v, the daemon says %+v", got, want)
	}
}

func compareFolder(t *testing.T, s *server.Server, d *daemon.Daemon, folder string) {
	t.Helper()
	wait.Until(t, func() string {
		summaries, err := s.Client.FolderSummaries(t.Context(), folder)
		if err != nil {
			return err.Error()
		}
		for _, summary := range summaries {
			if summary.Device == string(d.ID) {
				return differences(t, summary,
					d.Get("/rest/db/status?folder="+strings.NewReplacer(" ", "%20", "/", "%2F").Replace(folder)))
			}
		}
		return "no summary of the folder yet"
	})
}

// differences between a summary and the daemon's own answer, by the contract's field names.
func differences(t *testing.T, summary api.FolderSummary, answer []byte) string {
	t.Helper()
	text, err := json.Marshal(summary)
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer, &want); err != nil {
		t.Fatal(err)
	}
	var wrong []string
	compared := 0
	for name, value := range got {
		if theirs, ok := want[name]; ok {
			compared++
			if fmt.Sprint(theirs) != fmt.Sprint(value) {
				wrong = append(wrong, fmt.Sprintf("%s is %v, the daemon says %v", name, value, theirs))
			}
		}
	}
	if compared < 20 {
		t.Fatalf("only %d fields have their name at the daemon", compared)
	}
	return strings.Join(wrong, "; ")
}

func TestATemplateChangesTheDaemon(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { templateChangesTheDaemon(t, server.Options{}) })
	t.Run("PostgreSQL", func(t *testing.T) {
		database, err := pgtest.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { database.Stop() })
		templateChangesTheDaemon(t, server.Options{Database: database.Database(t)})
	})
}

func templateChangesTheDaemon(t *testing.T, o server.Options) {
	s, d := server.Start(t, o), daemon.Start(t, daemon.Options{TLS: true})
	enroll(t, s, d, "office")
	label, priority, op, key, text := "No NAT", int64(50), "set", "options.natEnabled", "false\n"
	d.Patch("/rest/config/options", `{"natEnabled": true}`)
	made, err := s.Client.CreateTemplate(t.Context(), api.PutTemplate{Label: &label, Priority: &priority, Op: &op,
		Key: &key, Template: &text})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := s.Client.TagTemplate(t.Context(), made.ID, "office"); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		if natEnabled(d) {
			return "natEnabled is still true"
		}
		return ""
	})
	t.Logf("changed %v after the tag was set", time.Since(began).Round(time.Millisecond))
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)

	d.Patch("/rest/config/options", `{"natEnabled": true}`) // drift is corrected by itself
	wait.Until(t, func() string {
		if natEnabled(d) {
			return "the drift is still there"
		}
		return ""
	})
}

func natEnabled(d *daemon.Daemon) bool {
	var options struct{ NATEnabled bool }
	d.GetJSON("/rest/config/options", &options)
	return options.NATEnabled
}

func TestAStarlarkTemplateSharesAFolderThatThenSyncs(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	a, b := daemon.Start(t, daemon.Options{TLS: true}), daemon.Start(t, daemon.Options{})
	enroll(t, s, a, "team")
	enroll(t, s, b, "team")
	s.Template("merge", "devices", fmt.Sprintf(`[
	{deviceID: %q, name: "a", addresses: [%q]}
	{deviceID: %q, name: "b", addresses: [%q]}
]`, a.ID, a.SyncAddress(), b.ID, b.SyncAddress()), "team")
	s.Template("merge", "folders.shared", `def template(device):
    return {
        "label": "Shared",
        "path": "~/shared",
        "fsWatcherDelayS": 1,
        "devices": [{"deviceID": d.deviceID} for d in devices(tag="team")],
    }
`, "team")
	for _, d := range []*daemon.Daemon{a, b} {
		s.WaitConfiguration(d.ID, fleet.ConfigInSync)
		wait.Until(t, func() string {
			if _, err := os.Stat(filepath.Join(d.Home, "shared", ".stfolder")); err != nil {
				return "the folder is not there: " + err.Error()
			}
			return ""
		})
	}
	const content = "from one to the other\n"
	if err := os.WriteFile(filepath.Join(a.Home, "shared", "note.txt"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Post("/rest/db/scan?folder=shared", nil)
	wait.Until(t, func() string {
		got, err := os.ReadFile(filepath.Join(b.Home, "shared", "note.txt"))
		if err != nil {
			return err.Error()
		}
		if string(got) != content {
			return fmt.Sprintf("got %q", got)
		}
		return ""
	})
}

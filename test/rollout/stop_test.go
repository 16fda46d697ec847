package rollout_test

import (
	"bytes"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"muster/internal/edge/cli"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// command runs a client command as a person would.
func (w *world) command(args ...string) (out string, code int) {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	args = append(args, "--server", w.URL, "--muster-home", w.Home)
	code = cli.Run(w.t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr},
		"test")
	return stdout.String() + stderr.String(), code
}

func TestMusterIsStoppedAndResumed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, server.Options{})
	first, second := w.farm.Daemon(0), w.farm.Daemon(1)
	if _, err := w.Client.TagDevice(t.Context(), string(first.ID()), "site"); err != nil {
		t.Fatal(err)
	}
	for _, stop := range []struct {
		name  string
		args  []string
		stops bool // the second device as well
	}{
		{"fleet", nil, true},
		{"tag", []string{"--tag", "site"}, false},
		{"device", []string{"--device", string(first.ID())}, false},
	} {
		t.Run(stop.name, func(t *testing.T) {
			w.reset()
			if out, code := w.command(append([]string{"stop"}, stop.args...)...); code != 0 ||
				!strings.Contains(out, "Stopped") {
				t.Fatalf("stop ended with %d: %s", code, out)
			}
			id := w.template("options", `{"maxSendKbps": 5}`)
			w.WaitConfiguration(first.ID(), fleet.ConfigPending)
			if stop.stops {
				w.WaitConfiguration(second.ID(), fleet.ConfigPending)
			} else {
				w.inSync(second)
			}
			if first.Counters().Writes > 0 || stop.stops && second.Counters().Writes > 0 {
				t.Error("a stopped Muster writes")
			}
			if out, code := w.command(append([]string{"resume"}, stop.args...)...); code != 0 ||
				!strings.Contains(out, "Resumed") {
				t.Fatalf("resume ended with %d: %s", code, out)
			}
			w.inSync(first, second)
			if option(first, "maxSendKbps") != "5" {
				t.Error("a resumed Muster does not write")
			}
			if err := w.Client.DeleteTemplate(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			w.inSync(first, second)
			wait.Until(t, func() string {
				if option(first, "maxSendKbps") != "0" || option(second, "maxSendKbps") != "0" {
					return "the option did not return"
				}
				return ""
			})
		})
	}
}

// Somebody else holds the database: nothing can be written, and Muster is stopped nevertheless. The answer is success,
// and says that a restart would forget it.
func TestMusterIsStoppedWhileItsDatabaseCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, server.Options{})
	d := w.farm.Daemon(0)
	w.template("options", `{"maxSendKbps": 5}`)
	w.inSync(d)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.Home, "muster.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var tx *sql.Tx
	wait.Until(t, func() string {
		if tx, err = db.BeginTx(t.Context(), nil); err != nil {
			return err.Error()
		}
		return ""
	})
	for _, args := range [][]string{nil, {"--tag", "all"}, {"--device", string(d.ID())}} {
		out, code := w.command(append([]string{"stop"}, args...)...)
		if code != 0 || !strings.Contains(out, "Stopped") {
			t.Errorf("stop %v ended with %d: %s", args, code, out)
		}
		if !strings.Contains(out, "Warning") || !strings.Contains(out, "restart") {
			t.Errorf("stop %v: got %q: want a warning that a restart would forget it", args, out)
		}
	}
	if settings, err := w.Client.DeviceSettings(t.Context(), string(d.ID())); err != nil ||
		settings.Mode != string(fleet.ModeObserve) {
		t.Errorf("got %+v, %v", settings, err)
	}
	if mode, err := w.Client.Mode(t.Context()); err != nil || mode != string(fleet.ModeObserve) {
		t.Errorf("got %q, %v", mode, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		var kept string
		if err := db.QueryRowContext(t.Context(),
			`SELECT value FROM meta WHERE name = 'fleet_mode'`).Scan(&kept); err != nil || kept != string(fleet.ModeObserve) {
			return "not kept yet: " + kept
		}
		return ""
	})
	w.restart()
	if mode, err := w.Client.Mode(t.Context()); err != nil || mode != string(fleet.ModeObserve) {
		t.Errorf("got %q, %v after a restart", mode, err)
	}
}

// Stops of tags and devices are as much in force as the fleet's: status lists them, and a resume of something else
// says that they remain.
func TestStopsOfTagsAndDevicesAreSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, server.Options{})
	first, second := w.farm.Daemon(0), w.farm.Daemon(1)
	if _, err := w.Client.TagDevice(t.Context(), string(first.ID()), "site"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--tag", "site"}, {"--device", string(second.ID())}, nil} {
		w.says("Stopped", append([]string{"stop"}, args...)...)
	}
	const ofFleet, ofTag = "nothing is written to any device, since", `the devices with the tag "site" (1), since`
	ofDevice := "device " + second.Name() + " (" + string(second.ID())[:7] + "), since"
	expect := func(out string, want, unwanted []string) {
		t.Helper()
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("got %s\nwant %q", out, text)
			}
		}
		for _, text := range unwanted {
			if strings.Contains(out, text) {
				t.Errorf("got %s\nwithout %q", out, text)
			}
		}
	}
	expect(w.says("Observe only", "status"), []string{ofFleet, ofTag, ofDevice, "by admin"}, nil)
	expect(w.says("Observe only", "status", string(first.ID())), []string{ofFleet, ofTag}, []string{ofDevice})
	expect(w.says("Observe only", "status", string(second.ID())), []string{ofFleet, ofDevice}, []string{ofTag})

	expect(w.says("Resumed", "resume"), []string{"Still in force", ofTag, ofDevice, "`muster resume --tag 'site'`"},
		[]string{ofFleet, "written to any device again"})
	w.template("options", `{"maxSendKbps": 5}`)
	w.WaitConfiguration(first.ID(), fleet.ConfigPending)
	w.WaitConfiguration(second.ID(), fleet.ConfigPending)
	if len(w.written()) > 0 {
		t.Error("a stopped device was written to")
	}

	// Since when and by whom is known to another process, too.
	w.restart()
	// `muster status` ends with 3 while a device was not looked at.
	w.WaitConfiguration(first.ID(), fleet.ConfigPending)
	w.WaitConfiguration(second.ID(), fleet.ConfigPending)
	expect(w.says("Observe only", "status"), []string{ofTag, ofDevice, "by admin"}, []string{ofFleet})
	expect(w.says("Resumed", "resume", "--device", string(second.ID())), nil, []string{"Still in force"})
	expect(w.says("Nothing to resume", "resume", "--device", string(first.ID())), []string{"Still in force", ofTag}, nil)
	expect(w.says("Resumed", "resume", "--tag", "site"), []string{"written to devices with the tag"},
		[]string{"Still in force"})
	w.inSync(first, second)
	expect(w.says("2 devices", "status"), nil, []string{"Stopped"})
	w.says("Nothing to resume: the fleet was not stopped", "resume")
}

func TestAServerThatOnlyObservesSaysSoAfterAResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, server.Options{Mode: fleet.ModeObserve})
	w.says("Stopped", "stop")
	if out := w.says("Resumed", "resume"); !strings.Contains(out, "--configurator=observe") ||
		strings.Contains(out, "any device again") {
		t.Errorf("got %s", out)
	}
}

package guard_test

import (
	"fmt"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/guard"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// What a daemon forces is no difference and no failure, on simulated daemons of both versions and a real one: a
// receiveencrypted folder comes in sync, what a watcher without delay switched off is on again without the template,
// and no consent is asked for a value that the daemon overrides.
func TestWhatADaemonForcesIsNoDifference(t *testing.T) {
	t.Parallel()
	farm := simulated.Start(t, stsim.Options{Count: 2, Network: 85,
		Versions: []stsim.Version{stsim.V2, stsim.V1}, Folders: 2, Quiet: true})
	s := server.Start(t, server.Options{})
	real := daemon.Start(t, daemon.Options{})
	targets := []target{{id: real.ID, key: real.APIKey, host: real.Address, port: real.Port}}
	for _, d := range farm.Daemons() {
		targets = append(targets, target{id: d.ID(), key: d.APIKey(), host: d.Host(), port: d.Port()})
	}
	for i, target := range targets {
		version := target.config(t).Get("version").Str()
		t.Run(fmt.Sprint("daemon ", i, " with configuration version ", version), func(t *testing.T) {
			newLane(t, s, fmt.Sprint("forced-", i), target).showForced()
		})
	}
}

func (l *lane) showForced() {
	crypt := l.s.Template("merge", "folders.crypt",
		`{"path": "~/crypt", "type": "receiveencrypted", "ignorePerms": false}`, l.tag)
	l.waitShown("folders.crypt.ignorePerms", "true")

	delay := l.s.Template("set", "folders."+guard.Folder+".fsWatcherDelayS", "0", l.tag)
	l.waitShown("folders."+guard.Folder+".fsWatcherEnabled", "false")
	if err := l.s.Client.DeleteTemplate(l.t.Context(), delay); err != nil {
		l.t.Fatal(err)
	}
	l.waitShown("folders."+guard.Folder+".fsWatcherEnabled", "true")

	l.s.Template("set", "folders."+guard.Folder+".markerName", `""`, l.tag)
	l.s.Template("merge", "options", `{"reconnectionIntervalS": 1, "maxSendKbps": 4711}`, l.tag)
	l.waitShown("options.maxSendKbps", "4711")
	l.waitShown("options.reconnectionIntervalS", "5")
	made, err := l.s.Client.DevicePlan(l.t.Context(), string(l.daemon.id))
	if err != nil {
		l.t.Fatal(err)
	}
	told := map[string]bool{}
	for _, change := range made.Changes {
		told[change.Key] = change.Class == "skipped"
	}
	for _, key := range []string{"folders." + guard.Folder + ".markerName", "options.reconnectionIntervalS"} {
		if !told[key] {
			l.t.Errorf("nobody says that the daemon overrides %s: %+v", key, made.Changes)
		}
	}
	if err := l.s.Client.DeleteTemplate(l.t.Context(), crypt); err != nil {
		l.t.Fatal(err)
	}
}

// waitShown waits until the daemon shows a value and the device is in sync.
func (l *lane) waitShown(key, value string) {
	l.t.Helper()
	wait.Until(l.t, func() string {
		if got := stconfig.Lookup(l.daemon.config(l.t), keyOf(l.t, key)).Str(); got != value {
			return fmt.Sprintf("%s is %q, want %q", key, got, value)
		}
		state, err := l.s.Client.DeviceState(l.t.Context(), string(l.daemon.id))
		if err != nil {
			return err.Error()
		}
		if now := fleet.Configuration(state.Configuration); now != fleet.ConfigInSync && now != fleet.ConfigUnmanaged {
			return fmt.Sprintf("the device is %s: %s", now, state.Reason)
		}
		return ""
	})
}

package unsaved_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
)

// The same with a real daemon, whose configuration file cannot be replaced: a folder stands there.
func TestARealDaemonThatCannotSaveIsNotInSync(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "real")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	file := filepath.Join(d.Home, "config.xml")
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(file, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Template("set", "options.maxSendKbps", "4711", "real")
	maxSendKbps := func() int {
		var options struct{ MaxSendKbps int }
		d.GetJSON("/rest/config/options", &options)
		return options.MaxSendKbps
	}
	server.Until(t, func() string {
		if maxSendKbps() != 4711 {
			return "the value is not in the daemon's memory"
		}
		return ""
	})
	s.WaitState(d.ID, "pending, because it cannot save", func(state api.DeviceState) bool {
		return state.Configuration == string(fleet.ConfigPending) && strings.Contains(state.Reason, "500")
	})
	s.WaitState(d.ID, "failed after five answers", func(state api.DeviceState) bool {
		return state.Configuration == string(fleet.ConfigFailed) && strings.Contains(state.Reason, "500")
	})
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	saved, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(saved), "4711") {
		t.Errorf("the configuration file does not have the value: %v", err)
	}
}

package unsaved_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// The same with a real daemon, whose configuration file cannot be replaced: a folder stands there.
func TestARealDaemonThatCannotSaveIsNotInSync(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "real")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	file := cannotSave(t, d)
	s.Template("set", "options.maxSendKbps", "4711", "real")
	maxSendKbps := func() int {
		var options struct{ MaxSendKbps int }
		d.GetJSON("/rest/config/options", &options)
		return options.MaxSendKbps
	}
	wait.Until(t, func() string {
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

// cannotSave has a daemon fail in saving its configuration. The file as it was is beside, with the suffix .away.
func cannotSave(t *testing.T, d *daemon.Daemon) (file string) {
	t.Helper()
	file = filepath.Join(d.Home, "config.xml")
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(file, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// A real daemon loses a share of a person's that Muster had put back. That counted as taken away by a person.
func TestAShareThatARealDaemonLostIsPutBackAgain(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	nora := fleet.DeviceIDOf([32]byte{1})
	d.Post("/rest/config/devices", map[string]any{"deviceID": nora})
	d.Post("/rest/config/folders", map[string]any{"id": "docs", "path": filepath.Join(d.UserHome, "docs"),
		"devices": []map[string]any{{"deviceID": nora}}})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "real")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	shared := func(want bool) func() string {
		return func() string {
			is := strings.Contains(string(d.Get("/rest/config/folders/docs")), string(nora))
			if is != want {
				return fmt.Sprint("the folder is shared: ", is)
			}
			return ""
		}
	}
	template := s.Template("remove", "folders.docs.devices", fmt.Sprintf("[%q]", nora), "real")
	wait.Until(t, shared(false))
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	file := cannotSave(t, d)
	if err := s.Client.DeleteTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, shared(true))
	s.WaitState(d.ID, "pending, because it cannot save", func(state api.DeviceState) bool {
		return state.Configuration == string(fleet.ConfigPending) && strings.Contains(state.Reason, "500")
	})
	d.Stop()
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}
	d.Restart()
	wait.Until(t, shared(true))
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	d.Restart()
	wait.Until(t, shared(true))
}

package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/test/daemon"
	"muster/test/wait"
)

func TestTwoDaemonsOfOurOwnSyncAFile(t *testing.T) {
	a, b := daemon.Start(t, daemon.Options{TLS: true}), daemon.Start(t, daemon.Options{})
	if a.ID == b.ID || a.APIKey == b.APIKey {
		t.Fatalf("two daemons share identity or key: %s, %s", a.ID, b.ID)
	}
	if a.GUICertificate().Equal(b.GUICertificate()) {
		t.Fatal("two daemons share a GUI certificate")
	}
	a.AddPeer(b)
	from, to := a.AddFolder("Fotos & Co", b), b.AddFolder("Fotos & Co", a)
	if err := os.WriteFile(filepath.Join(from, "hello"), []byte("world"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Post("/rest/db/scan?folder=Fotos+%26+Co", nil)
	wait.For(t, "the file to arrive", func() bool {
		got, err := os.ReadFile(filepath.Join(to, "hello"))
		return err == nil && string(got) == "world"
	})
}

func TestADaemonKeepsItsIdentityOverARestart(t *testing.T) {
	d := daemon.Start(t, daemon.Options{})
	d.Patch("/rest/config/options", `{"maxSendKbps": 17}`)
	d.Restart()
	var options struct{ MaxSendKbps int }
	d.GetJSON("/rest/config/options", &options)
	if options.MaxSendKbps != 17 {
		t.Fatalf("maxSendKbps is %d after the restart, want 17", options.MaxSendKbps)
	}
	d.Stop()
	d.Stop()
}

func TestARestartOverTheAPIWorksWithTheSupervisor(t *testing.T) {
	d := daemon.Start(t, daemon.Options{Supervised: true})
	started := func() string {
		var status struct{ StartTime string }
		if code, body := d.Do("GET", "/rest/system/status", nil); code != 200 || json.Unmarshal(body, &status) != nil {
			return ""
		}
		return status.StartTime
	}
	before := started()
	d.Post("/rest/system/restart", nil)
	wait.For(t, "another start time", func() bool { now := started(); return now != "" && now != before })
}

func TestNothingLeavesTheMachine(t *testing.T) {
	d := daemon.Start(t, daemon.Options{})
	var got map[string]any
	d.GetJSON("/rest/config/options", &got)
	for name, want := range map[string]any{
		"globalAnnounceEnabled": false, "localAnnounceEnabled": false, "relaysEnabled": false, "natEnabled": false,
		"crashReportingEnabled": false, "startBrowser": false, "urAccepted": -1.0, "autoUpgradeIntervalH": 0.0,
	} {
		if got[name] != want {
			t.Errorf("options.%s is %v, want %v", name, got[name], want)
		}
	}
	for _, address := range got["listenAddresses"].([]any) {
		if !strings.HasPrefix(address.(string), "tcp://127.0.0.1:") {
			t.Errorf("listens on %v", address)
		}
	}
}

// Package pending_test accepts pending devices and folders of real daemons through a whole server.
//
//muster:needs daemons
package pending_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	m.Run()
}

// find waits until something asks the device to be let in.
func find(t *testing.T, s *server.Server, asked fleet.DeviceID, kind, folder string) (found api.Pending) {
	t.Helper()
	wait.Until(t, func() string {
		all, err := s.Client.Pending(t.Context(), client.List{})
		if err != nil {
			return err.Error()
		}
		i := slices.IndexFunc(all, func(p api.Pending) bool {
			return p.DeviceID == string(asked) && p.Kind == kind &&
				p.Folder == folder
		})
		if i < 0 {
			return fmt.Sprintf("no %s %s is pending: %+v", kind, folder, all)
		}
		found = all[i]
		return ""
	})
	return found
}

// offer adds a folder to a daemon, shared with another, that has one file.
func offer(t *testing.T, from, to *daemon.Daemon, id string) {
	t.Helper()
	path := from.AddFolder(id, to)
	if err := os.WriteFile(filepath.Join(path, "hello"), []byte("from "+id), 0o600); err != nil {
		t.Fatal(err)
	}
	from.Post("/rest/db/scan?folder="+url.QueryEscape(id), nil)
}

func TestARealDaemonIsLetInAndSyncs(t *testing.T) {
	t.Parallel()
	asking, asked := daemon.Start(t, daemon.Options{}), daemon.Start(t, daemon.Options{TLS: true})
	s := server.Start(t, server.Options{})
	s.Register(asked.ID, asked.APIKey, asked.Address, asked.Port)
	s.WaitConnection(asked.ID, fleet.Online)
	asking.Put("/rest/config/devices",
		[]any{map[string]any{"deviceID": asked.ID, "name": "asked", "addresses": []string{asked.SyncAddress()}}})

	device := find(t, s, asked.ID, "device", "")
	if device.From != string(asking.ID) || device.Registered || device.Address == "" {
		t.Errorf("got %+v", device)
	}
	name := "let in"
	if err := s.Client.AcceptPending(t.Context(), device.ID, api.AcceptPending{Name: &name}); err != nil {
		t.Fatal(err)
	}
	var entry struct{ Name string }
	asked.GetJSON("/rest/config/devices/"+string(asking.ID), &entry)
	if entry.Name != name {
		t.Errorf("the daemon calls it %q, want %q", entry.Name, name)
	}

	offer(t, asking, asked, "photos/of 2026")
	folder := find(t, s, asked.ID, "folder", "photos/of 2026")
	path := filepath.Join(asked.Home, "accepted")
	if err := s.Client.AcceptPending(t.Context(), folder.ID, api.AcceptPending{Path: &path}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		text, err := os.ReadFile(filepath.Join(path, "hello"))
		if err != nil {
			return err.Error()
		}
		if string(text) != "from photos/of 2026" {
			return fmt.Sprintf("the file holds %q", text)
		}
		return ""
	})

	offer(t, asking, asked, "unwanted")
	unwanted := find(t, s, asked.ID, "folder", "unwanted")
	if err := s.Client.DismissPending(t.Context(), unwanted.ID); err != nil {
		t.Fatal(err)
	}
	var left map[string]json.RawMessage
	asked.GetJSON("/rest/cluster/pending/folders", &left)
	if len(left) > 0 {
		t.Errorf("the daemon still has %v", left)
	}
	var config struct {
		Folders []struct{ ID string }
		Devices []struct{ DeviceID string }
	}
	asked.GetJSON("/rest/config", &config)
	if len(config.Folders) != 1 || len(config.Devices) != 2 {
		t.Errorf("letting in changed more than it should: %+v", config)
	}
}

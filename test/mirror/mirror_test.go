// Package mirror tests watchers against real daemons.
//
//muster:needs daemons
package mirror

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"muster/internal/adapter/syncthing"
	"muster/internal/engine/mirror"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/wait"
)

// watch is a mirror over real clients that keeps what it is told.
type watch struct {
	*mirror.Mirror
	t *testing.T

	mu      sync.Mutex
	kept    []fleet.Observation
	configs map[fleet.DeviceID]int
}

func (w *watch) SaveObservations(_ context.Context, o []fleet.Observation) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, o...)
	return nil
}

func (w *watch) configsSeen(id fleet.DeviceID) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.configs[id]
}

// client follows a daemon and changes nothing there.
type client struct{ *syncthing.Client }

func (client) Open(context.Context) (mirror.Channel, error) { panic("the daemon is not to be changed") }

func start(t *testing.T) *watch {
	t.Helper()
	return startWith(t, func(target mirror.Target) mirror.Daemon {
		return client{syncthing.New(target, syncthing.Options{})}
	})
}

func startWith(t *testing.T, dial func(mirror.Target) mirror.Daemon) *watch {
	t.Helper()
	w := &watch{t: t, configs: map[fleet.DeviceID]int{}}
	w.Mirror = mirror.New(mirror.Options{
		Sink: w, Dial: dial,
		ConfigObserved: func(id fleet.DeviceID) {
			w.mu.Lock()
			w.configs[id]++
			w.mu.Unlock()
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { _ = w.Run(ctx); close(ended) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("the mirror did not end within a minute")
		}
	})
	return w
}

func registered(d *daemon.Daemon) fleet.Registered {
	return fleet.Registered{Device: fleet.Device{ID: d.ID, APIKey: fleet.NewSecret(d.APIKey), APIAddress: d.Address,
		APIPort: d.Port}}
}

// until waits for a snapshot that holds what is wanted.
func (w *watch) until(id fleet.DeviceID, what string, holds func(mirror.Snapshot) bool) mirror.Snapshot {
	w.t.Helper()
	var last *mirror.Snapshot
	wait.ForState(w.t, func() string { return fmt.Sprintf("want %s; last %+v", what, last) }, func() bool {
		last = w.Snapshot(id)
		return last != nil && holds(*last)
	})
	return *last
}

func is(c fleet.Connection) func(mirror.Snapshot) bool {
	return func(s mirror.Snapshot) bool { return s.Connection == c }
}

func TestTwoRealDaemonsAreMirrored(t *testing.T) {
	t.Parallel()
	a, b := daemon.Start(t, daemon.Options{TLS: true}), daemon.Start(t, daemon.Options{})
	w := start(t)
	w.Put(registered(a), false)
	w.Put(registered(b), false)
	w.until(a.ID, "a online", is(fleet.Online))
	w.until(b.ID, "b online", is(fleet.Online))

	// A person shares a folder at the daemons: it arrives by their events.
	a.AddPeer(b)
	from := a.AddFolder("photos / ü", b)
	b.AddFolder("photos / ü", a)
	if err := os.WriteFile(filepath.Join(from, "hello"), make([]byte, 4321), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Post("/rest/db/scan?folder=photos+/+%C3%BC", nil)
	synced := func(s mirror.Snapshot) bool {
		f := s.Summaries["photos / ü"]
		return f.GlobalBytes == 4321 && f.InSyncBytes == 4321 && f.NeedFiles == 0 && f.State == "idle"
	}
	w.until(a.ID, "the file in the summary of a", synced)
	w.until(b.ID, "the file in the summary of b", synced)
	// the daemon may count on after the file arrived
	s := w.until(b.ID, "the numbers that the daemon gives", func(s mirror.Snapshot) bool {
		var said map[string]any
		b.GetJSON("/rest/db/status?folder=photos+/+%C3%BC", &said)
		got := s.Summaries["photos / ü"]
		for name, value := range map[string]int64{
			"globalBytes": got.GlobalBytes, "globalFiles": got.GlobalFiles, "globalDirectories": got.GlobalDirectories,
			"localBytes": got.LocalBytes, "localFiles": got.LocalFiles, "inSyncFiles": got.InSyncFiles,
			"needBytes": got.NeedBytes,
			"sequence":  got.Sequence, "version": got.Version,
		} {
			if said[name] != float64(value) {
				return false
			}
		}
		return true
	})
	if s.Folders[0] != (fleet.FolderLabel{Folder: "photos / ü", Label: "photos / ü"}) || s.Version.Version == "" ||
		s.Status.MyID != b.ID {
		t.Errorf("snapshot %+v", s)
	}
	w.mu.Lock()
	pins := map[fleet.DeviceID]string{}
	for _, o := range w.kept {
		if o.Proven != nil {
			pins[o.Device] = o.Proven.Fingerprint
		}
	}
	w.mu.Unlock()
	if pins[a.ID] != a.Pin() || pins[b.ID] != b.Pin() {
		t.Errorf("pins %v", pins)
	}
}

func TestAChangeAtTheDaemonIsOneNewConfiguration(t *testing.T) {
	t.Parallel()
	d := daemon.Start(t, daemon.Options{})
	w := start(t)
	w.Put(registered(d), false)
	first := w.until(d.ID, "the daemon online", is(fleet.Online)).Digest
	w.until(d.ID, "its configuration to be kept", func(mirror.Snapshot) bool { return w.configsSeen(d.ID) == 1 })

	d.Patch("/rest/config/options", `{"maxSendKbps": 77}`)
	w.until(d.ID, "the change", func(s mirror.Snapshot) bool { return s.Digest != first && w.configsSeen(d.ID) == 2 })
	d.Put("/rest/config", json.RawMessage(d.Get("/rest/config"))) // the same again: an event, but no news
	// and something that is, by which the rest has been worked off
	d.AddFolder("last")
	w.until(d.ID, "the folder", func(s mirror.Snapshot) bool {
		return len(s.Folders) == 1 &&
			s.Summaries["last"].State != ""
	})
	w.until(d.ID, "its configuration to be kept", func(mirror.Snapshot) bool { return w.configsSeen(d.ID) >= 3 })
	if n := w.configsSeen(d.ID); n != 3 {
		t.Fatalf("%d configurations were announced, want 3", n)
	}

	config, err := w.ReadNow(t.Context(), d.ID)
	if err != nil || string(config.JSON) != string(d.Get("/rest/config")) {
		t.Fatalf("read %d bytes, %v", len(config.JSON), err)
	}
}

func TestADaemonThatStopsAndStarts(t *testing.T) {
	t.Parallel()
	d := daemon.Start(t, daemon.Options{TLS: true})
	w := start(t)
	w.Put(registered(d), false)
	before := w.until(d.ID, "the daemon online", is(fleet.Online)).Status.StartTime
	d.Stop()
	s := w.until(d.ID, "the daemon unreachable", is(fleet.Unreachable))
	if s.Status == nil || s.Reason == "" {
		t.Fatalf("%+v", s)
	}
	d.Restart()
	w.until(d.ID, "the daemon online again", func(s mirror.Snapshot) bool {
		return s.Connection == fleet.Online && s.Status.StartTime != before
	})
	d.AddFolder("after")
	w.until(d.ID, "events of the new process", func(s mirror.Snapshot) bool { return len(s.Folders) == 1 })
	d.Patch("/rest/config/gui", `{"theme":"black"}`) // the API restarts and drops every connection
	d.AddFolder("later")
	w.until(d.ID, "the daemon after a change of its GUI",
		func(s mirror.Snapshot) bool { return s.Connection == fleet.Online && len(s.Folders) == 2 })
}

func TestAFolderInErrorSaysWhy(t *testing.T) {
	t.Parallel()
	d := daemon.Start(t, daemon.Options{})
	w := start(t)
	w.Put(registered(d), false)
	w.until(d.ID, "the daemon online", is(fleet.Online))
	path := d.AddFolder("fragile")
	w.until(d.ID, "the folder idle", func(s mirror.Snapshot) bool { return s.Summaries["fragile"].State == "idle" })
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	d.Do("POST", "/rest/db/scan?folder=fragile", nil)
	w.until(d.ID, "the folder in error", func(s mirror.Snapshot) bool {
		f := s.Summaries["fragile"]
		return f.State == "error" && f.Error != ""
	})
}

func TestWrongKeyAndWrongDaemonUntilTheRecordIsPutRight(t *testing.T) {
	t.Parallel()
	a, b := daemon.Start(t, daemon.Options{}), daemon.Start(t, daemon.Options{})
	w := start(t)
	wrong := registered(a)
	wrong.APIKey = fleet.NewSecret("no-such-key")
	w.Put(wrong, false)
	w.until(a.ID, "the key refused", is(fleet.KeyRefused))
	w.Put(registered(a), false)
	w.until(a.ID, "the right key to work at once", is(fleet.Online))

	other := registered(b)
	other.APIPort = a.Port
	w.Put(other, false)
	s := w.until(b.ID, "another daemon noticed", is(fleet.IdentityMismatch))
	if s.Status != nil || s.Digest != "" {
		t.Fatalf("something of another daemon was mirrored: %+v", s)
	}
	w.Put(registered(b), false)
	w.until(b.ID, "the right daemon at once", is(fleet.Online))
}

// Ignore patterns that a person sets by the daemon's API, and takes away again, show in the summary. No event of the
// daemon says so.
func TestIgnorePatternsSetByHandShowInTheSummary(t *testing.T) {
	t.Parallel()
	d := daemon.Start(t, daemon.Options{})
	w := start(t)
	w.Put(registered(d), false)
	w.until(d.ID, "the daemon online", is(fleet.Online))
	d.AddFolder("photos")
	w.until(d.ID, "the folder idle", func(s mirror.Snapshot) bool { return s.Summaries["photos"].State == "idle" })
	for _, lines := range [][]string{{"*.tmp", "/cache"}, {}} {
		d.Post("/rest/db/ignores?folder=photos", map[string][]string{"ignore": lines})
		var says struct{ IgnorePatterns bool }
		if d.GetJSON("/rest/db/status?folder=photos", &says); says.IgnorePatterns != (len(lines) > 0) {
			t.Fatalf("the daemon itself says %t after %q", says.IgnorePatterns, lines)
		}
		w.until(d.ID, "the patterns in the summary",
			func(s mirror.Snapshot) bool { return s.Summaries["photos"].IgnorePatterns == says.IgnorePatterns })
	}
}

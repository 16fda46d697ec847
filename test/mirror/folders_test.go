package mirror

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"muster/internal/engine/mirror"
	"muster/internal/fleet"
	"muster/test/daemon"
)

func TestWhatRealDaemonsTellOfTheirFolders(t *testing.T) {
	t.Parallel()
	a, b := daemon.Start(t, daemon.Options{TLS: true}), daemon.Start(t, daemon.Options{})
	a.AddPeer(b)
	b.AddPeer(a)
	at, there := a.AddFolder("photos", b), b.AddFolder("photos", a)
	w := start(t)
	w.Put(registered(a), false)
	w.Put(registered(b), false)
	s := w.until(
		a.ID,
		"a connected to b",
		func(s mirror.Snapshot) bool { return s.IsConnected(b.ID) && s.IsCurrent("photos") },
	)
	share, known := s.Share("photos")
	if !known || share.Type != fleet.SendReceive || share.Path != at || share.Paused ||
		share.With != fleet.PeersOf([]fleet.DeviceID{a.ID, b.ID}) {
		t.Errorf("a shares %+v, %v", share, known)
	}
	if s.Summaries["photos"].StateChanged.IsZero() {
		t.Error("it is not known since when the folder is in its state")
	}

	// An item fails: the directory that is to go holds a file that b ignores.
	write(t, filepath.Join(at, "old", "file"))
	scan(a)
	w.until(b.ID, "the directory at b", func(mirror.Snapshot) bool {
		_, err := os.Stat(filepath.Join(there, "old", "file"))
		return err == nil
	})
	b.Post("/rest/db/ignores?folder=photos", `{"ignore": ["keep"]}`)
	write(t, filepath.Join(there, "old", "keep"))
	if err := os.RemoveAll(filepath.Join(at, "old")); err != nil {
		t.Fatal(err)
	}
	scan(a)
	hasFailed := func(s mirror.Snapshot) bool {
		items := s.FailedItems["photos"]
		return s.Summaries["photos"].Failed == 1 && len(items) == 1 && items[0].Path == "old" && items[0].Text != ""
	}
	w.until(b.ID, "the item that failed", hasFailed)
	again := start(t)
	again.Put(registered(b), false)
	again.until(b.ID, "the item that failed before the daemon was followed", hasFailed)
	items, _, err := daemonOf(t, w, b).FailedItems(t.Context(), "photos", 1, 10)
	if err != nil || len(items) != 1 || items[0].Path != "old" {
		t.Errorf("read on demand: %+v, %v", items, err)
	}

	// Both change a file while they are apart.
	b.Post("/rest/db/ignores?folder=photos", `{"ignore": []}`)
	a.Post("/rest/system/pause?device="+string(b.ID), nil)
	w.until(a.ID, "a without b", func(s mirror.Snapshot) bool { return s.PausesPeer(b.ID) && !s.IsConnected(b.ID) })
	write(t, filepath.Join(at, "both"))
	write(t, filepath.Join(there, "both"))
	scan(a)
	scan(b)
	a.Post("/rest/system/resume?device="+string(b.ID), nil)
	w.until(a.ID, "a conflict at either", func(s mirror.Snapshot) bool {
		w.View(a.ID, "photos")
		w.View(b.ID, "photos")
		other := w.Snapshot(b.ID)
		return len(s.Conflicts["photos"])+len(other.Conflicts["photos"]) > 0
	})

	// While somebody looks, a poll that hangs is no reason to wait.
	for range 3 {
		last := w.Snapshot(a.ID).Summaries["photos"].UpdatedAt
		w.View(a.ID, "photos")
		w.until(a.ID, "younger figures", func(s mirror.Snapshot) bool { return s.Summaries["photos"].UpdatedAt.After(last) })
	}
	if s := w.Snapshot(a.ID); s.Connection != fleet.Online {
		t.Errorf("after looking, a is %s: %s", s.Connection, s.Reason)
	}

	// The folder stops, and the devices part.
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	a.Post("/rest/system/pause?device="+string(b.ID), nil)
	a.Do("POST", "/rest/db/scan?folder=photos", nil) // refused: there is no folder
	s = w.until(a.ID, "the folder stopped and the peer paused", func(s mirror.Snapshot) bool {
		return s.Summaries["photos"].State == fleet.FolderInError && s.PausesPeer(b.ID) && !s.IsConnected(b.ID)
	})
	if text := s.Summaries["photos"].Error; !strings.Contains(text, "missing") || s.Summaries["photos"].Failed != 0 {
		t.Errorf("the folder stopped with %q: %+v", text, s.Summaries["photos"])
	}
	w.until(b.ID, "b without a", func(s mirror.Snapshot) bool { return s.KnowsConnected() && !s.IsConnected(a.ID) })
}

func daemonOf(t *testing.T, w *watch, d *daemon.Daemon) mirror.Daemon {
	t.Helper()
	client, err := w.Daemon(d.ID)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func scan(d *daemon.Daemon) { d.Post("/rest/db/scan?folder=photos", nil) }

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(time.Now().String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

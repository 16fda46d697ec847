// Package copies_test compares what Muster says is proven of the copies of a folder with the files of real daemons.
//
//muster:needs daemons
package copies_test

import (
	"fmt"
	"io"
	"net/http"
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

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// world is three real daemons that share a folder: c is connected with b only.
type world struct {
	*server.Server
	a, b, c *daemon.Daemon
	paths   map[*daemon.Daemon]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: server.Start(t, server.Options{}), a: daemon.Start(t, daemon.Options{}),
		b: daemon.Start(t, daemon.Options{}), c: daemon.Start(t, daemon.Options{}), paths: map[*daemon.Daemon]string{}}
	for _, d := range []*daemon.Daemon{w.a, w.b, w.c} {
		d.Patch("/rest/config/options", `{"reconnectionIntervalS": 5}`)
	}
	w.a.AddPeer(w.b)
	w.b.AddPeer(w.a)
	w.b.AddPeer(w.c)
	w.c.AddPeer(w.b)
	w.paths[w.a], w.paths[w.b] = w.a.AddFolder("docs", w.b), w.b.AddFolder("docs", w.a, w.c)
	w.paths[w.c] = w.c.AddFolder("docs", w.b)
	for i := range 20 {
		w.write(t, w.a, fmt.Sprint("file-", i), "first")
	}
	for name, d := range map[string]*daemon.Daemon{"a": w.a, "b": w.b, "c": w.c} {
		w.Register(d.ID, d.APIKey, d.Address, d.Port, name)
	}
	return w
}

func (w *world) write(t *testing.T, d *daemon.Daemon, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.paths[d], name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Do("POST", "/rest/db/scan?folder=docs", nil)
}

// waitCopies waits until the copies are in these states, by device, and returns the answer.
func (w *world) waitCopies(t *testing.T, states map[*daemon.Daemon]string) (got api.FolderCopies) {
	t.Helper()
	wait.Until(t, func() string {
		var err error
		if got, err = w.Client.FolderCopies(t.Context(), "docs"); err != nil {
			return err.Error()
		}
		for d, want := range states {
			if is := w.copyOn(got, d); is.State != want {
				return fmt.Sprintf("%s: want %s, got %+v", d.ID.Short(), want, is)
			}
		}
		return ""
	})
	return got
}

// copyOn returns the copy on a daemon. It is zero until the daemon's configuration was read.
func (w *world) copyOn(all api.FolderCopies, d *daemon.Daemon) api.FolderCopy {
	for _, one := range all.Devices {
		if one.DeviceID == string(d.ID) {
			return one
		}
	}
	return api.FolderCopy{}
}

func (w *world) has(t *testing.T, d *daemon.Daemon, name, text string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(w.paths[d], name))
	if err != nil || string(got) != text {
		t.Errorf("%s of %s has %q, %v", name, d.ID.Short(), got, err)
	}
}

// waitRisk waits until the data of a device is in a state on the others.
func (w *world) waitRisk(t *testing.T, d *daemon.Daemon, state string) (got api.FolderAtRisk) {
	t.Helper()
	wait.Until(t, func() string {
		risk, err := w.Client.DeviceAtRisk(t.Context(), string(d.ID))
		if err != nil {
			return err.Error()
		}
		if len(risk.Folders) != 1 || risk.Folders[0].State != state {
			return fmt.Sprintf("want %s, got %+v", state, risk)
		}
		got = risk.Folders[0]
		return ""
	})
	return got
}

// TestACopyIsProvenAcrossDevicesThatAreNotConnected proves the copies of three daemons in a line, loses the end of it
// and finds it again. While it is away everything else is green there: it is idle and lacks nothing that it knows of.
func TestACopyIsProvenAcrossDevicesThatAreNotConnected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := map[*daemon.Daemon]string{w.a: "proven", w.b: "proven", w.c: "proven"}
	if got := w.waitCopies(t, all); got.Copies != 3 {
		t.Errorf("%d copies are counted: %+v", got.Copies, got)
	}
	for i := range 20 {
		w.has(t, w.c, fmt.Sprint("file-", i), "first")
	}

	w.b.Patch("/rest/config/devices/"+string(w.c.ID), `{"paused": true}`)
	w.write(t, w.a, "file-0", "second")
	w.write(t, w.c, "file-1", "of the island")
	got := w.waitCopies(t, map[*daemon.Daemon]string{w.a: "proven", w.b: "proven", w.c: "behind"})
	if island := w.copyOn(got, w.c); island.Until == nil || island.Reason == "" || got.Copies != 2 {
		t.Errorf("the island is %+v, of %d copies", island, got.Copies)
	}
	w.has(t, w.b, "file-0", "second")
	if len(got.Islands) != 2 || len(got.Cuts) != 1 || got.Cuts[0].Between != string(w.b.ID) ||
		got.Cuts[0].And != string(w.c.ID) {
		t.Errorf("the groups are %v, cut by %v", got.Islands, got.Cuts)
	}
	w.waitRisk(t, w.c, "behind")
	if risk := w.waitRisk(t, w.a, "proven"); len(risk.HeldBy) != 1 || risk.HeldBy[0] != string(w.b.ID) {
		t.Errorf("the data of a is held by %v", risk.HeldBy)
	}

	w.b.Patch("/rest/config/devices/"+string(w.c.ID), `{"paused": false}`)
	w.waitCopies(t, all)
	w.waitRisk(t, w.c, "proven")
	for _, d := range []*daemon.Daemon{w.a, w.b, w.c} {
		w.has(t, d, "file-0", "second")
		w.has(t, d, "file-1", "of the island")
	}
}

// TestACopyWithIgnorePatternsAgreesButIsNotProven has a device that ignores a file which the others have.
func TestACopyWithIgnorePatternsAgreesButIsNotProven(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.c.Post("/rest/db/ignores?folder=docs", map[string][]string{"ignore": {"file-1"}})
	got := w.waitCopies(t, map[*daemon.Daemon]string{w.a: "agrees", w.c: "agrees"})
	if got.Copies != 0 {
		t.Errorf("%d copies are called proven: %+v", got.Copies, got)
	}
}

// waitMetrics waits until the server offers these lines.
func (w *world) waitMetrics(t *testing.T, lines ...string) {
	t.Helper()
	wait.Until(t, func() string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+"/metrics", nil)
		if err != nil {
			return err.Error()
		}
		request.Header.Set("Authorization", "Bearer "+w.Token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return err.Error()
		}
		for _, line := range lines {
			if !strings.Contains(string(text), line+"\n") {
				return line + " is missing"
			}
		}
		return ""
	})
}

// TestCopiesAreProvenThoughNobodyAsks has a folder change and become quiet. What was proven is still known, with its
// time, after Muster was killed and a device is gone.
func TestCopiesAreProvenThoughNobodyAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, d := range []*daemon.Daemon{w.a, w.b, w.c} {
		w.WaitConnection(d.ID, fleet.Online)
	}
	wait.Until(t, func() string {
		overview, err := w.Client.Overview(t.Context())
		if err != nil || overview.Folders["upToDate"] != 1 {
			return fmt.Sprint(overview.Folders, err)
		}
		return ""
	})
	w.write(t, w.a, "late", "text")
	w.waitMetrics(t, `muster_folder_copies{folder="docs"} 3`, `muster_folder_unproven_seconds{folder="docs"} 0`)
	w.has(t, w.c, "late", "text")

	w.Kill()
	w.c.Stop()
	again := *w
	again.Server = server.Start(t, server.Options{Home: w.Home})
	again.WaitConnection(w.a.ID, fleet.Online)
	again.WaitConnection(w.b.ID, fleet.Online)
	got := again.waitCopies(t, map[*daemon.Daemon]string{w.a: "proven", w.b: "proven", w.c: "behind"})
	if is := again.copyOn(got, w.c); is.Until == nil {
		t.Errorf("the copy that is gone is %+v", is)
	}
}

// A policy about a folder that nobody has would never be short.
func TestAPolicyOfCopiesNamesAFolderThatADeviceHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waitCopies(t, map[*daemon.Daemon]string{w.a: "proven"})
	set := func(value string) error {
		_, err := w.Client.PutSetting(t.Context(), "copyPolicies", value)
		return err
	}
	if err := set("dosc=2"); err == nil || !strings.Contains(err.Error(), "dosc") {
		t.Errorf("a folder that nobody has: %v", err)
	}
	if err := set("docs=2"); err != nil {
		t.Error(err)
	}
}

package action_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

const docs = "docs"

// pair is a server with a real daemon that shares a folder with a daemon that is not managed.
type pair struct {
	*testing.T
	*server.Server
	d, peer         *daemon.Daemon
	path, pathOther string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{T: t, Server: server.Start(t, server.Options{}), d: daemon.Start(t, daemon.Options{}),
		peer: daemon.Start(t, daemon.Options{})}
	p.peer.AddPeer(p.d)
	for _, d := range []*daemon.Daemon{p.d, p.peer} {
		d.Patch("/rest/config/options", `{"reconnectionIntervalS": 5}`)
	}
	p.path, p.pathOther = p.d.AddFolder(docs, p.peer), p.peer.AddFolder(docs, p.d)
	p.write(p.peer, p.pathOther, "first")
	wait.For(t, "both have the first file", func() bool { return exists(t, filepath.Join(p.path, "first")) })
	p.Register(p.d.ID, p.d.APIKey, p.d.Address, p.d.Port, "all")
	p.Template("set", "options.maxSendKbps", "77", "all")
	p.WaitConfiguration(p.d.ID, fleet.ConfigInSync)
	return p
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// write makes a file, and has the daemon find it.
func (p *pair) write(d *daemon.Daemon, folder, name string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o600); err != nil {
		p.Fatal(err)
	}
	d.Post("/rest/db/scan?folder="+docs, nil)
}

// order gives the daemon an order for the folder, and waits for the end. It gives the order anew while the daemon is
// busy with the folder, or has not scanned it.
func (p *pair) order(kind client.OrderType, maxItems int64) (order api.Order) {
	p.Helper()
	wait.For(p.T, "the folder is idle", func() bool {
		given, err := p.Client.OrderToDevices(p.Context(), []string{string(p.d.ID)},
			client.OrderSpec{Type: kind, Folder: docs, MaxItems: maxItems})
		if err != nil {
			p.Fatal(err)
		}
		order = waitEnd(p.T, p.Server, given)
		return !strings.Contains(order.Reason, "is busy") && !strings.Contains(order.Reason, "was not scanned")
	})
	return order
}

// standing waits until the folder stands on the daemon as is wanted.
func (p *pair) standing(what string, wanted func(api.FolderStanding) bool) (standing api.FolderStanding) {
	p.Helper()
	wait.Until(p.T, func() string {
		all, err := p.Client.DeviceFolders(p.Context(), string(p.d.ID))
		if err != nil {
			return err.Error()
		}
		at := slices.IndexFunc(all, func(f api.FolderStanding) bool { return f.Folder == docs })
		if at < 0 || !wanted(all[at]) {
			return fmt.Sprintf("the folder is not %s: %+v", what, all)
		}
		standing = all[at]
		return ""
	})
	return standing
}

func (p *pair) isPaused() bool {
	var is struct{ Paused bool }
	p.d.GetJSON("/rest/config/folders/"+docs, &is)
	return is.Paused
}

// A folder that an order pauses stays paused, and says which order did it.
func TestARealDaemonPausesOneFolder(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	wantStatus(t, p.order(client.OrderPause, 0), "done", `folder "docs" paused`)
	if !p.isPaused() {
		t.Error("the folder is not paused")
	}
	p.standing("paused by an order", func(f api.FolderStanding) bool {
		return f.Paused && f.PausedBy != nil && f.PausedBy.Cause == string(fleet.PausedByOrder)
	})
	p.Template("set", "options.maxRecvKbps", "78", "all") // has Muster look at the device again
	p.WaitRevision(p.d.ID, "options.maxRecvKbps", "78")
	p.WaitConfiguration(p.d.ID, fleet.ConfigInSync)
	if !p.isPaused() {
		t.Error("Muster took the pause back")
	}
	wantStatus(t, p.order(client.OrderPause, 0), "done", "already")
	wantStatus(t, p.order(client.OrderRescan, 0), "failed", "paused")
	wantStatus(t, p.order(client.OrderResume, 0), "done", `folder "docs" resumed`)
	if p.isPaused() {
		t.Error("the folder is paused still")
	}
	wantStatus(t, p.order(client.OrderRescan, 0), "done", "scan")
	p.Template("merge", "folders.docs", "{paused: false, rescanIntervalS: 1234}", "all")
	p.WaitRevision(p.d.ID, "folders.docs.rescanIntervalS", "1234")
	p.WaitConfiguration(p.d.ID, fleet.ConfigInSync)
	wantStatus(t, p.order(client.OrderPause, 0), "failed", "template 3")
	if p.isPaused() {
		t.Error("a folder that a template has otherwise is paused")
	}
}

// An order that undoes local changes reaches no more files than were shown.
func TestARealDaemonRevertsWhatWasShown(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	wantStatus(t, p.order(client.OrderRevert, 1), "failed", "is sendreceive")
	p.d.Patch("/rest/config/folders/"+docs, map[string]any{"type": "receiveonly"})
	p.WaitRevision(p.d.ID, "folders.docs.type", `"receiveonly"`)
	wantStatus(t, p.order(client.OrderRevert, 1), "done", "nothing to do")
	p.write(p.d, p.path, "own")
	p.standing("changed by one item", func(f api.FolderStanding) bool { return f.LocalItems == 1 })
	p.write(p.d, p.path, "second")
	p.standing("changed by two items", func(f api.FolderStanding) bool { return f.LocalItems == 2 })
	wantStatus(t, p.order(client.OrderRevert, 1), "failed", "at most 1 was agreed to")
	if !exists(t, filepath.Join(p.path, "own")) || !exists(t, filepath.Join(p.path, "second")) {
		t.Error("a file is gone that nobody was shown")
	}
	wantStatus(t, p.order(client.OrderOverride, 1), "failed", "is receiveonly")
	wantStatus(t, p.order(client.OrderRevert, 2), "done", "told to revert 2 items")
	wait.For(t, "the local changes are undone", func() bool {
		return !exists(t, filepath.Join(p.path, "own")) && !exists(t, filepath.Join(p.path, "second"))
	})
	if !exists(t, filepath.Join(p.path, "first")) {
		t.Error("the file of the others is gone")
	}
}

func TestARealDaemonOverridesTheOthers(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.d.Patch("/rest/config/folders/"+docs, map[string]any{"type": "sendonly"})
	p.WaitRevision(p.d.ID, "folders.docs.type", `"sendonly"`)
	p.write(p.peer, p.pathOther, "wrong")
	p.standing("out of sync", func(f api.FolderStanding) bool { return f.NeedItems == 1 })
	wantStatus(t, p.order(client.OrderOverride, 1), "done", "told to override 1 item of")
	wait.For(t, "the other daemon gives up its file", func() bool {
		return !exists(t, filepath.Join(p.pathOther, "wrong"))
	})
	if !exists(t, filepath.Join(p.pathOther, "first")) {
		t.Error("a file that both had is gone")
	}
	audited, err := p.Client.Audit(t.Context(), client.AuditSearch{What: "device.override"})
	if err != nil || len(audited) == 0 || audited[0].Subject != string(p.d.ID) ||
		!strings.Contains(audited[0].Detail, "at most 1 item") {
		t.Errorf("the audit has %v, %v", audited, err)
	}
}

// A daemon with a new database and an empty disk counts all files as missing. Its override deleted them on the others.
func TestARealDaemonThatHasNothingOverridesNothing(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.d.Patch("/rest/config/folders/"+docs, map[string]any{"type": "sendonly", "paused": true})
	p.WaitRevision(p.d.ID, "folders.docs.type", `"sendonly"`)
	if err := os.RemoveAll(p.path); err != nil {
		t.Fatal(err)
	}
	p.d.Post("/rest/system/reset?folder="+docs, nil)
	p.d.Restart()
	p.d.Patch("/rest/config/folders/"+docs, map[string]any{"paused": false})
	wait.For(t, "the daemon lacks the file of the other", func() bool {
		var is struct {
			State                 string
			NeedFiles, LocalFiles int64
		}
		p.d.GetJSON("/rest/db/status?folder="+docs, &is)
		return is.State == "idle" && is.NeedFiles == 1 && is.LocalFiles == 0
	})
	p.standing("out of sync", func(f api.FolderStanding) bool { return f.NeedItems == 1 })
	wantStatus(t, p.order(client.OrderOverride, 9), "failed", "was told nothing")
	if !exists(t, filepath.Join(p.pathOther, "first")) {
		t.Error("the file of the other is gone")
	}
}

func TestOrdersThatChangeFilesAreAnAdministrators(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	f := farm(t, s, stsim.Options{Count: 1, Group: 1, Network: 102})
	id := string(f.Daemon(0).ID())
	made, err := s.Client.CreateToken(t.Context(), "olga", "author")
	if err != nil {
		t.Fatal(err)
	}
	for _, changesFiles := range fleet.FileOrderTypes {
		kind := client.OrderType(changesFiles)
		spec := client.OrderSpec{Type: kind, Folder: docs, MaxItems: 1}
		if _, err := s.As(made.Secret).OrderToDevices(t.Context(), []string{id}, spec); fleet.CodeOf(err) !=
			fleet.CodeForbidden {
			t.Errorf("%s: got %v", kind, err)
		}
		for _, wrong := range []client.OrderSpec{{Type: kind, MaxItems: 1}, {Type: kind, Folder: docs}} {
			if _, err := s.Client.OrderToDevices(t.Context(), []string{id}, wrong); fleet.CodeOf(err) != fleet.CodeInvalid {
				t.Errorf("%+v: got %v", wrong, err)
			}
		}
	}
	given, err := s.Client.Orders(t.Context(), client.List{})
	if err != nil || len(given) > 0 {
		t.Errorf("got %v, %v", given, err)
	}
}

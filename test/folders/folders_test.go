// Package folders_test puts folders of real daemons into each kind of trouble and out of it again. It checks the
// state, the reason and the advice that Muster shows.
//
// The troubles of one simulated version run with the race detector: Muster does the same for the other daemons, which
// run without it.
//
//muster:needs daemons
//muster:test -skip=OfAFolder|Simulated/v1
//muster:test -race=false -run=OfAFolder|Simulated/v1
//muster:soak
package folders_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/edge/cli"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// startServer starts a server for which everything is trouble soon, and which tells a receiver of it at once. Agents
// connect at agents; "": none can.
func startServer(t *testing.T, r *receiver, agents string) *server.Server {
	t.Helper()
	return server.Start(t, server.Options{TroubleAfter: time.Second, StalledAfter: 3 * time.Second,
		DisagreeAfter: time.Second, NotifyURLs: []string{r.URL}, NotifyAfter: time.Second, AgentListen: agents})
}

// world is a server with two real daemons that are connected with each other.
type world struct {
	*server.Server
	a, b     *daemon.Daemon // b does not run as root
	receiver *receiver

	// configure is held over a change of a daemon's configuration: daemons lose one of two that come at once.
	configure sync.Mutex
}

func newWorld(t *testing.T) *world {
	t.Helper()
	r := newReceiver(t)
	w := &world{Server: startServer(t, r, ""), a: daemon.Start(t, daemon.Options{}),
		b: daemon.Start(t, daemon.Options{Unprivileged: true}), receiver: r}
	w.a.AddPeer(w.b)
	for name, d := range map[string]*daemon.Daemon{"a": w.a, "b": w.b} {
		d.Patch("/rest/config/options", `{"reconnectionIntervalS": 5}`)
		w.Register(d.ID, d.APIKey, d.Address, d.Port, name)
	}
	return w
}

// share is a folder with one file that both daemons have.
func (w *world) share(t *testing.T, folder string) (pathA, pathB string) {
	t.Helper()
	w.configure.Lock()
	pathA, pathB = w.a.AddFolder(folder, w.b), w.b.AddFolder(folder, w.a)
	w.configure.Unlock()
	write(t, w.a, pathA, "first", "what both have")
	rescan(w.a, folder)
	w.waitFolder(t, w.a, folder, fleet.FolderUpToDate)
	w.waitFolder(t, w.b, folder, fleet.FolderUpToDate)
	wait.For(t, "both have the file", func() bool {
		_, err := os.Stat(filepath.Join(pathB, "first"))
		return err == nil
	})
	return pathA, pathB
}

func write(t *testing.T, d *daemon.Daemon, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // the daemon may be another user
		t.Fatal(err)
	}
	d.Own(path)
}

// rescan has a daemon look at a folder. Its answer is 500 where the folder is in trouble, and does not matter.
func rescan(d *daemon.Daemon, folder string) { d.Do("POST", "/rest/db/scan?folder="+folder, nil) }

// set changes the configuration of a folder of b, by hand.
func (w *world) set(folder, change string) {
	w.configure.Lock()
	defer w.configure.Unlock()
	w.b.Patch("/rest/config/folders/"+folder, change)
}

// wantSameOfFolder asks for the devices of a folder: they must tell what the folders of the device do.
func (w *world) wantSameOfFolder(t *testing.T, want api.FolderStanding) {
	t.Helper()
	devices, err := w.Client.FolderDevices(t.Context(), want.Folder, client.List{FolderState: []string{want.State}})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range devices {
		if got.DeviceID == want.DeviceID && got.State == want.State && got.Trouble == want.Trouble {
			return
		}
	}
	t.Errorf("the devices of folder %s are %+v, want %+v among them", want.Folder, devices, want)
}

// standing is how a folder stands on a device.
func (w *world) standing(t *testing.T, d *daemon.Daemon, folder string) (api.FolderStanding, error) {
	t.Helper()
	of, err := w.Client.DeviceFolders(t.Context(), string(d.ID))
	if err != nil {
		return api.FolderStanding{}, err
	}
	i := slices.IndexFunc(of, func(f api.FolderStanding) bool { return f.Folder == folder })
	if i < 0 {
		return api.FolderStanding{}, fmt.Errorf("the device has no folder %s", folder)
	}
	return of[i], nil
}

// waitFolder waits until a folder is in a state on a device.
func (w *world) waitFolder(t *testing.T, d *daemon.Daemon, folder string, want fleet.FolderState) api.FolderStanding {
	t.Helper()
	return w.waitStanding(t, d, folder, want.String(), func(f api.FolderStanding) bool { return f.State == want.String() })
}

func (w *world) waitStanding(t *testing.T, d *daemon.Daemon, folder, what string,
	want func(api.FolderStanding) bool) api.FolderStanding {
	t.Helper()
	var got api.FolderStanding
	wait.Until(t, func() string {
		var err error
		if got, err = w.standing(t, d, folder); err != nil {
			return err.Error()
		}
		if want(got) {
			return ""
		}
		return fmt.Sprintf("%s on %s: want %s, got %+v", folder, d.ID.Short(), what, got)
	})
	return got
}

// trouble is one way in which a folder of b gets into a state, and out of it.
type trouble struct {
	name   string
	before func(t *testing.T, w *world, path string) // nil: nothing is to be done before the folder is shared
	make   func(t *testing.T, w *world, folder, path string)
	state  fleet.FolderState
	reason string // a part of it
	next   string // a part of it
	kind   fleet.FolderErrorKind
	failed string // a part of what the daemon says of the item that failed
	calm   bool   // nobody has to look
	mend   func(t *testing.T, w *world, folder, path string)
}

const deletes = "empty folder in its place" // what the next step must warn of

// diskFull needs a small disk, which only root may mount. Where the test may not, "too-little-free" alone shows a lack
// of room.
const diskFull = "disk-full"

var troubles = []trouble{
	{
		name: "path-removed", state: fleet.FolderStopped, kind: fleet.ErrorPathMissing,
		reason: "folder path missing", next: deletes,
		make: func(t *testing.T, w *world, folder, path string) { rename(t, path, path+".away"); rescan(w.b, folder) },
		mend: func(t *testing.T, w *world, folder, path string) { rename(t, path+".away", path); rescan(w.b, folder) },
	},
	{
		name: "marker-removed", state: fleet.FolderStopped, kind: fleet.ErrorMarkerMissing,
		reason: "folder marker missing", next: deletes,
		make: func(t *testing.T, w *world, folder, path string) {
			rename(t, filepath.Join(path, ".stfolder"), path+".marker")
			rescan(w.b, folder)
		},
		mend: func(t *testing.T, w *world, folder, path string) {
			rename(t, path+".marker", filepath.Join(path, ".stfolder"))
			rescan(w.b, folder)
		},
	},
	{
		name: "no-permission", state: fleet.FolderStopped, kind: fleet.ErrorPermission,
		reason: "permission denied", next: "read and write the folder",
		make: func(t *testing.T, w *world, folder, path string) { chmod(t, path, 0); rescan(w.b, folder) },
		mend: func(t *testing.T, w *world, folder, path string) { chmod(t, path, 0o700); rescan(w.b, folder) },
	},
	{
		name: diskFull, state: fleet.FolderFailedItems, failed: "space",
		reason: "space", next: "Make room",
		before: func(t *testing.T, _ *world, path string) {
			mount(t, path, "mode=777,size=512k")
			t.Cleanup(func() { _ = exec.CommandContext(context.Background(), "umount", "--lazy", path).Run() })
		},
		make: func(t *testing.T, w *world, folder, _ string) {
			write(t, w.a, w.pathA(folder), "large", strings.Repeat("what a has", 200_000))
			rescan(w.a, folder)
		},
		mend: func(t *testing.T, w *world, folder, path string) {
			mount(t, path, "remount,mode=777,size=8m")
			w.set(folder, `{"rescanIntervalS": 1800}`) // the folder tries again at once
		},
	},
	{
		name: "too-little-free", state: fleet.FolderFailedItems, failed: "insufficient space",
		reason: "insufficient space", next: "Make room",
		make: func(t *testing.T, w *world, folder, _ string) {
			w.set(folder, `{"minDiskFree": {"value": 1000000, "unit": "TB"}}`)
			w.newFile(t, folder, "second")
		},
		mend: func(_ *testing.T, w *world, folder, _ string) {
			w.set(folder, `{"minDiskFree": {"value": 0, "unit": "%"}}`)
		},
	},
	{
		name: "unreadable-file", state: fleet.FolderFailedItems, failed: "permission denied",
		reason: "1 item could not be synced", next: "",
		make: func(t *testing.T, w *world, folder, path string) {
			write(t, w.b, path, "closed", "what b cannot read")
			chmod(t, filepath.Join(path, "closed"), 0)
			rescan(w.b, folder)
		},
		mend: func(t *testing.T, w *world, folder, path string) {
			chmod(t, filepath.Join(path, "closed"), 0o600)
			rescan(w.b, folder)
		},
	},
	{
		name: "paused-by-hand", state: fleet.FolderPaused, reason: "paused", next: "Resume", calm: true,
		make: func(_ *testing.T, w *world, folder, _ string) { w.set(folder, `{"paused": true}`) },
		mend: func(_ *testing.T, w *world, folder, _ string) { w.set(folder, `{"paused": false}`) },
	},
	{
		name: "receive-only-edited", state: fleet.FolderLocalChanges, reason: "receive-only", next: "revert",
		make: func(t *testing.T, w *world, folder, path string) {
			w.set(folder, `{"type": "receiveonly"}`)
			write(t, w.b, path, "own", "what only b has")
			rescan(w.b, folder)
		},
		mend: func(_ *testing.T, w *world, folder, _ string) { w.b.Do("POST", "/rest/db/revert?folder="+folder, nil) },
	},
	{
		name: "send-only-overruled", state: fleet.FolderOutOfSync, reason: "send-only", next: "override",
		make: func(t *testing.T, w *world, folder, _ string) {
			w.set(folder, `{"type": "sendonly"}`)
			w.newFile(t, folder, "second")
		},
		mend: func(_ *testing.T, w *world, folder, _ string) {
			w.b.Do("POST", "/rest/db/override?folder="+folder, nil)
		},
	},
	{
		name: "unshared", state: fleet.FolderUnshared, reason: "no other device", next: "Share it", calm: true,
		make: func(_ *testing.T, w *world, folder, _ string) {
			w.set(folder, fmt.Sprintf(`{"devices": [{"deviceID": %q}]}`, w.b.ID))
		},
		mend: func(_ *testing.T, w *world, folder, _ string) {
			w.set(folder, fmt.Sprintf(`{"devices": [{"deviceID": %q}, {"deviceID": %q}]}`, w.b.ID, w.a.ID))
		},
	},
}

func (w *world) pathA(folder string) string { return filepath.Join(w.a.Home, "folders", folder) }

// newFile has a make a file.
func (w *world) newFile(t *testing.T, folder, name string) {
	t.Helper()
	write(t, w.a, w.pathA(folder), name, "what a has")
	rescan(w.a, folder)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// causes are why a person is asked to look at a folder, by its state.
var causes = map[fleet.FolderState]fleet.WaitCause{
	fleet.FolderStopped: fleet.WaitFolderStopped, fleet.FolderFailedItems: fleet.WaitFailedItems,
	fleet.FolderAlone: fleet.WaitAlone, fleet.FolderOutOfSync: fleet.WaitOutOfSync,
	fleet.FolderLocalChanges: fleet.WaitLocalChanges,
}

// waitCause waits until what waits for a person has a device with a cause and a folder, or has it no more.
func (w *world) waitCause(t *testing.T, id fleet.DeviceID, cause fleet.WaitCause, folder string, want bool) {
	t.Helper()
	wait.Until(t, func() string {
		waiting, err := w.Client.Waiting(t.Context(), "")
		if err != nil {
			return err.Error()
		}
		found := slices.ContainsFunc(waiting.Groups, func(group api.WaitingGroup) bool {
			return group.Cause == string(cause) && group.Subject == folder &&
				slices.ContainsFunc(group.Devices, func(one api.WaitingDevice) bool { return one.DeviceID == string(id) })
		})
		if found == want {
			return ""
		}
		return fmt.Sprintf("%s waits with cause %s: %t, want %t; waiting are %+v", folder, cause, found, want, waiting.Groups)
	})
}

// wantFailed reads from the daemon of b which items failed.
func (w *world) wantFailed(t *testing.T, folder, text string) {
	t.Helper()
	items, err := w.Client.FailedItems(t.Context(), folder, client.List{Device: string(w.b.ID)})
	if err != nil || len(items) != 1 || !strings.Contains(items[0].Text, text) {
		t.Errorf("failed are %+v, %v, want one item with %q", items, err, text)
	}
}

// wantSaid runs a command of this server: it ends with a code and prints a text, where words may be on two lines.
func (w *world) wantSaid(t *testing.T, code int, text string, args ...string) {
	t.Helper()
	out, got := w.run(t, args...)
	if got != code || !strings.Contains(strings.Join(strings.Fields(out), " "), text) {
		t.Errorf("%q ended with %d, want %d, and printed no %q:\n%s", args, got, code, text, out)
	}
}

// said is what a command prints.
func (w *world) said(t *testing.T, args ...string) string {
	t.Helper()
	out, _ := w.run(t, args...)
	return out
}

func (w *world) run(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var printed bytes.Buffer
	args = append(args, "--server", w.URL, "--muster-home", w.Home)
	code = cli.Run(t.Context(), args, cli.Streams{Out: &printed, Err: &printed, In: strings.NewReader("")}, "test")
	return printed.String(), code
}

func TestEachTroubleOfAFolderIsSaidAndGoesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, one := range troubles {
		if one.name == diskFull && !mayMount(t) {
			continue
		}
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			if one.before != nil {
				one.before(t, w, filepath.Join(w.b.Home, "folders", one.name))
			}
			_, path := w.share(t, one.name)
			one.make(t, w, one.name, path)
			got := w.waitStanding(t, w.b, one.name, "state "+one.state.String(), func(f api.FolderStanding) bool {
				return f.State == one.state.String() && f.Trouble != one.calm && strings.Contains(f.Reason, one.reason)
			})
			if !strings.Contains(got.Next, one.next) {
				t.Errorf("the next step is %q, want one with %q", got.Next, one.next)
			}
			if kind := errorKind(got); kind != one.kind {
				t.Errorf("the error is of kind %q, want %q", kind, one.kind)
			}
			w.wantSameOfFolder(t, got)
			if one.failed != "" {
				w.wantFailed(t, one.name, one.failed)
			}
			w.wantSaid(t, 0, one.reason, "folder", "get", one.name)
			w.wantTroubled(t, one)
			one.mend(t, w, one.name, path)
			if got := w.waitFolder(t, w.b, one.name, fleet.FolderUpToDate); got.Trouble || got.Error != nil || got.Failed != 0 {
				t.Errorf("after it was mended: %+v", got)
			}
			w.waitOver(t, one, got.Reason)
		})
	}
}

// wantTroubled waits until everybody is told of a trouble, or fails where people are told of a state that is fine.
func (w *world) wantTroubled(t *testing.T, one trouble) {
	t.Helper()
	cause, waits := causes[one.state]
	if !waits {
		if told := w.saidOf(t, one.name); told != "" {
			t.Errorf("what is no trouble waits for a person: %s", told)
		}
		return
	}
	w.waitCause(t, w.b.ID, cause, one.name, true)
	w.waitTold(t, w.b.ID, cause, one.name, one.reason, false)
	w.wantSaid(t, 3, one.reason, "status", w.b.ID.Short())
	w.wantSaid(t, 3, "--waiting "+string(cause), "status") // it names the one that stands longest
	w.wantSaid(t, 3, `"connection": "online"`, "status", w.b.ID.Short(), "-o", "json")
}

// waitOver waits until nobody is told any more of a trouble that is over.
func (w *world) waitOver(t *testing.T, one trouble, reason string) {
	t.Helper()
	cause, waits := causes[one.state]
	if !waits {
		return
	}
	w.waitCause(t, w.b.ID, cause, one.name, false)
	w.waitTold(t, w.b.ID, cause, one.name, one.reason, true)
	if told := w.saidOf(t, one.name); told != "" {
		t.Errorf("what is over waits for a person: %s", told)
	}
	if text := w.said(t, "folder", "get", one.name); strings.Contains(text, reason) {
		t.Errorf("what is over is said of the folder:\n%s", text)
	}
}

// saidOf is what waits for a person because of a folder of b; "" where nothing does.
func (w *world) saidOf(t *testing.T, folder string) string {
	t.Helper()
	waiting, err := w.Client.Waiting(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range waiting.Groups {
		of := func(one api.WaitingDevice) bool { return one.DeviceID == string(w.b.ID) }
		if group.Subject == folder && slices.ContainsFunc(group.Devices, of) {
			return fmt.Sprintf("%+v", group)
		}
	}
	return ""
}

// mayMount tells whether this machine lets the test mount a disk.
func mayMount(t *testing.T) bool {
	t.Helper()
	path := t.TempDir()
	if err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", path).Run(); err != nil {
		return false
	}
	return exec.CommandContext(t.Context(), "umount", path).Run() == nil
}

// mount puts a disk of its own at a path, or makes the one there another size. It needs to be root.
func mount(t *testing.T, path, options string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", options, "tmpfs", path).
		CombinedOutput(); err != nil {
		t.Fatalf("mount a small disk: %v: %s", err, out)
	}
}

func errorKind(f api.FolderStanding) fleet.FolderErrorKind {
	if f.Error == nil {
		return ""
	}
	return fleet.FolderErrorKind(f.Error.Kind)
}

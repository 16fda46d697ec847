package writer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"muster/api"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// disk is a small disk of its own, which a test fills.
type disk struct {
	t    *testing.T
	path string
}

// newDisk mounts a disk over a folder, with the files that the folder had.
func newDisk(t *testing.T, path, size string) disk {
	t.Helper()
	aside := filepath.Join(t.TempDir(), "aside")
	if err := errors.Join(os.MkdirAll(path, 0o700), os.CopyFS(aside, os.DirFS(path))); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "mode=700,size="+size, "tmpfs", path).
		CombinedOutput()
	if err != nil {
		t.Fatalf("this test mounts a small disk, for which it has to be root: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
	if err := os.CopyFS(path, os.DirFS(aside)); err != nil {
		t.Fatal(err)
	}
	return disk{t, path}
}

func (d disk) filler() string { return filepath.Join(d.path, "filler") }

// fill leaves no free byte on the disk.
func (d disk) fill() {
	file, err := os.Create(d.filler())
	for block := make([]byte, 4096); err == nil; {
		_, err = file.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Errorf("fill the disk: %v", err)
	}
	_ = file.Close()
}

func (d disk) free() {
	d.t.Helper()
	if err := os.Remove(d.filler()); err != nil {
		d.t.Fatal(err)
	}
}

// filledWhenWritten is a daemon that Muster reaches by a proxy, with a template in force.
func filledWhenWritten(t *testing.T, s *server.Server, d *daemon.Daemon) (through *proxy, template int64) {
	t.Helper()
	through = newProxy(t, d)
	s.Register(d.ID, d.APIKey, through.host, through.port, "t")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	template = s.Template("set", "options.maxSendKbps", "100", "t")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	return through, template
}

// setMaxSendKbps has the template ask for another value. The answer is of no importance: the database may be full.
func setMaxSendKbps(t *testing.T, s *server.Server, template int64, value string) {
	op, key := "set", "options.maxSendKbps"
	_, _ = s.Client.PutTemplate(t.Context(), template, api.PutTemplate{Op: &op, Key: &key, Template: &value})
}

// personEdits has a person change a value beside the one that Muster writes, and a folder.
func personEdits(d *daemon.Daemon) {
	d.Patch("/rest/config/options", `{"maxRecvKbps": 4712}`)
	d.Patch("/rest/config/folders/own", `{"label": "of a person"}`)
}

// wantBoth wants the value that Muster wrote, and everything that personEdits did.
func wantBoth(t *testing.T, d *daemon.Daemon) {
	t.Helper()
	for key, want := range map[string]string{"options.maxSendKbps": "200", "options.maxRecvKbps": "4712",
		"folders.own.label": `"of a person"`} {
		if got := shown(lookup(t, d, key)); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
}

// The answer to a write is lost, and at that moment the disk of Muster is full: what the daemon has cannot be recorded.
// Once there is space, Muster reads what is there, writes nothing a second time, and undoes nothing of a person's. The
// same where Muster is killed meanwhile.
func TestAFullDiskAndALostAnswerTogether(t *testing.T) {
	for name, killed := range map[string]bool{"runs on": false, "is killed": true} {
		t.Run(name, func(t *testing.T) {
			home := server.PreparedHome(t)
			full := newDisk(t, home, "48m")
			s, d := server.Start(t, server.Options{Home: home}), forAPerson(t)
			through, template := filledWhenWritten(t, s, d)
			before := len(through.writes())
			lost := make(chan struct{})
			through.loseNext(loss{before: func() {}, after: func() {
				full.fill()
				writeUntilFull(t, s)
				close(lost)
			}})
			setMaxSendKbps(t, s, template, "200")
			<-lost
			personEdits(d)
			wait.Until(t, func() string { return stillWrites(t, s) })
			if killed {
				s.Kill()
				s.WaitEnd()
				full.free()
				s = server.Start(t, server.Options{Home: home})
			} else {
				full.free()
			}
			s.WaitConfiguration(d.ID, fleet.ConfigInSync)
			wantBoth(t, d)
			if again := through.writes()[before:]; len(again) != 1 {
				t.Errorf("Muster wrote %q, want one write", again)
			}
			s.Template("set", "options.reconnectionIntervalS", "77", "t") // The database takes changes again.
			wait.Until(t, func() string {
				if got := shown(lookup(t, d, "options.reconnectionIntervalS")); got != "77" {
					return "reconnectionIntervalS is " + got
				}
				return ""
			})
			s.WaitConfiguration(d.ID, fleet.ConfigInSync)
			wantBoth(t, d)
		})
	}
}

// writeUntilFull changes things in Muster until its database cannot be written: pages that the database has already
// take some more changes on a full disk.
func writeUntilFull(t *testing.T, s *server.Server) {
	for n := 0; ; n++ {
		if err := changeVars(t, s, n); err != nil {
			return
		}
	}
}

// stillWrites is "" while the database cannot be written.
func stillWrites(t *testing.T, s *server.Server) string {
	if err := changeVars(t, s, -1); err == nil {
		return "the database can be written"
	}
	return ""
}

func changeVars(t *testing.T, s *server.Server, n int) error {
	long := strings.Repeat("x", 8<<10)
	_, err := s.Client.PutTagVars(t.Context(), "elsewhere",
		map[string]json.RawMessage{"long": json.RawMessage(fmt.Sprintf(`"%d %s"`, n, long))})
	return err
}

// The same with the disk of the daemon: it has the value in its memory only, and Muster does not learn of the error. A
// daemon that starts anew has its old value. A person did not do that, and Muster writes the value again.
func TestADaemonsFullDiskAndALostAnswerTogether(t *testing.T) {
	s, d := server.Start(t, server.Options{}), forAPerson(t)
	d.Stop()
	full := newDisk(t, d.Home, "48m")
	d.Restart()
	through, template := filledWhenWritten(t, s, d)
	personEdits(d)
	lost := make(chan struct{})
	through.loseNext(loss{before: full.fill, after: func() { close(lost) }})
	setMaxSendKbps(t, s, template, "200")
	<-lost
	wantBoth(t, d)
	d.Stop()
	full.free()
	d.Restart()
	if got := shown(lookup(t, d, "options.maxSendKbps")); got != "100" {
		t.Fatalf("the daemon saved %s: its disk was not full", got)
	}
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	wait.Until(t, func() string {
		if got := shown(lookup(t, d, "options.maxSendKbps")); got != "200" {
			return "maxSendKbps is " + got
		}
		return ""
	})
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	wantBoth(t, d)
	d.Restart()
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	wantBoth(t, d)
}

// A share of a person's that a template took away comes back when the template goes. The daemon has it in memory only,
// and its next start loses it. That is no edit of a person: Muster puts the share back again.
func TestAShareThatAFullDiskAndALostAnswerTookComesBackAgain(t *testing.T) {
	s, d := server.Start(t, server.Options{}), forAPerson(t)
	d.Stop()
	full := newDisk(t, d.Home, "48m")
	d.Restart()
	through := newProxy(t, d)
	s.Register(d.ID, d.APIKey, through.host, through.port, "t")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	shared := func() bool { return lookup(t, d, "folders.managed.devices."+peerA).Exists() }
	template := s.Template("remove", "folders.managed.devices", fmt.Sprintf("[%q]", peerA), "t")
	wait.For(t, "the share is taken away", func() bool { return !shared() })
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	lost := make(chan struct{})
	through.loseNext(loss{before: full.fill, after: func() { close(lost) }})
	if err := s.Client.DeleteTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	<-lost
	wait.For(t, "the share is back", shared)
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	d.Stop()
	saved, err := os.ReadFile(filepath.Join(d.Home, "config.xml"))
	if n := strings.Count(string(saved), `<device id="`+peerA+`"`); err != nil || n != 1 {
		t.Fatalf("the daemon saved %d entries with the device, want its own alone: %v", n, err)
	}
	full.free()
	d.Restart()
	wait.For(t, "the share is back after the start", shared)
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
}

func lookup(t *testing.T, d *daemon.Daemon, key string) stconfig.Value {
	t.Helper()
	return stconfig.Lookup(config(t, d), keyOf(t, key))
}

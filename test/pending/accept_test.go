package pending_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/edge/cli"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// farm is two simulated daemons that know nothing of one another, the first of which is registered and asked by the
// other.
func farm(t *testing.T, s *server.Server) (asked, asking *stsim.Daemon) {
	t.Helper()
	f := simulated.Start(t, stsim.Options{Count: 2, Folders: 1, Group: 1, Quiet: true, Network: 83})
	asked, asking = f.Daemon(0), f.Daemon(1)
	s.Register(asked.ID(), asked.APIKey(), asked.Host(), asked.Port(), "all")
	s.WaitConnection(asked.ID(), fleet.Online)
	asked.AddPendingDevice(asking.ID(), "new", "192.0.2.7:22000")
	return asked, asking
}

func knows(d *stsim.Daemon, id fleet.DeviceID) bool {
	for device := range d.Config().Get("devices").Values() {
		if device.Get("deviceID").Str() == string(id) {
			return true
		}
	}
	return false
}

func TestAcceptSurvivesACrash(t *testing.T) {
	t.Parallel()
	for _, step := range []string{afterIntent, afterWrites, beforeOutcome} {
		t.Run(step, func(t *testing.T) {
			s := server.Start(t, server.Options{KillAt: step})
			asked, asking := farm(t, s)
			if err := s.Client.AcceptPending(t.Context(), find(t, s, asked.ID(), "device", "").ID,
				api.AcceptPending{}); err == nil {
				t.Error("a server that was killed answered")
			}
			s.WaitEnd()
			sent := step != afterIntent
			if knows(asked, asking.ID()) != sent {
				t.Errorf("the daemon knows the device: %v, want %v", !sent, sent)
			}
			s = server.Start(t, server.Options{Home: s.Home})
			s.WaitConfiguration(asked.ID(), fleet.ConfigUnmanaged)
			if knows(asked, asking.ID()) != sent || asked.Counters().Writes > 1 {
				t.Errorf("after the restart the daemon had %d writes", asked.Counters().Writes)
			}
			if !sent {
				if err := s.Client.AcceptPending(t.Context(), find(t, s, asked.ID(), "device", "").ID,
					api.AcceptPending{}); err != nil {
					t.Fatal(err)
				}
			}
			wait.Until(t, func() string {
				all, err := s.Client.Revisions(t.Context(), string(asked.ID()), client.List{})
				if err != nil {
					return err.Error()
				}
				if len(all) == 0 || all[0].Cause != fleet.CauseAccept {
					return fmt.Sprintf("the revisions are %+v", all)
				}
				return ""
			})
		})
	}
}

func TestWhatATemplateTakesBackIsNotAccepted(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	asked, asking := farm(t, s)
	if err := s.Client.AcceptPending(t.Context(), find(t, s, asked.ID(), "device", "").ID,
		api.AcceptPending{}); err != nil {
		t.Fatal(err)
	}
	s.Template("set", "folders.handbook.devices", "[]", "all")
	s.WaitConfiguration(asked.ID(), fleet.ConfigInSync)
	asked.AddPendingFolder("handbook", "Handbook", asking.ID())
	before := asked.Counters().Writes
	err := s.Client.AcceptPending(t.Context(), find(t, s, asked.ID(), "folder", "handbook").ID, api.AcceptPending{})
	var problem *client.Error
	if !errors.As(err, &problem) || problem.Status != http.StatusConflict ||
		!strings.Contains(err.Error(), "template 1") {
		t.Errorf("got %v", err)
	}
	if now := asked.Counters().Writes; now != before {
		t.Errorf("%d writes", now-before)
	}
}

// TestAPinComesWithWhatIsLetIn covers a device that is let in and registered with the fingerprint of its certificate:
// before, its first contact trusted any certificate at the address that was given.
func TestAPinComesWithWhatIsLetIn(t *testing.T) {
	t.Parallel()
	for _, genuine := range []bool{true, false} {
		s := server.Start(t, server.Options{})
		asked, asking := farm(t, s)
		pin, err := asking.Pin()
		if err != nil {
			t.Fatal(err)
		}
		want := fleet.Online
		if !genuine {
			if pin, err = asked.Pin(); err != nil {
				t.Fatal(err)
			}
			want = fleet.PinMismatch
		}
		id := find(t, s, asked.ID(), "device", "").ID
		accept := func(want int, args ...string) {
			t.Helper()
			var out bytes.Buffer
			args = append([]string{"pending", "accept", id, "--server", s.URL, "--muster-home", s.Home}, args...)
			streams := cli.Streams{In: strings.NewReader(asking.APIKey()), Out: &out, Err: &out}
			if code := cli.Run(t.Context(), args, streams, "test"); code != want {
				t.Fatalf("muster %s ended with %d: %s", strings.Join(args, " "), code, out.String())
			}
		}
		accept(2, "--pin", pin)
		accept(2, "--pin", "sha256:12", "--register-key", "-")
		if knows(asked, asking.ID()) {
			t.Error("it was let in with a pin that is none")
		}
		digits := strings.TrimPrefix(pin, "sha256:")
		accept(0, "--pin", "sha256 Fingerprint="+strings.ToUpper(digits[:2])+":"+digits[2:], "--register-key", "-",
			"--register-address", asking.Host(), "--register-port", strconv.Itoa(asking.Port()))
		s.WaitConnection(asking.ID(), want)
		if keys := asking.Counters().ByRoute["GET /rest/config"]; !genuine && keys > 0 {
			t.Errorf("%d requests for the configuration, with the key, reached a daemon with another certificate", keys)
		}
	}
}

func TestItIsLetInAndRegisteredFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	asked, asking := farm(t, s)
	id := find(t, s, asked.ID(), "device", "").ID
	run := func(in string, want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		args = append(args, "--server", s.URL, "--muster-home", s.Home)
		if code := cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(in), Out: &out, Err: &out},
			"test"); code != want {
			t.Fatalf("muster %s ended with %d: %s", strings.Join(args, " "), code, out.String())
		}
		return out.String()
	}
	if list := run("", 0, "pending", "list"); !strings.Contains(list, id) || !strings.Contains(list, "new") {
		t.Errorf("got %s", list)
	}
	run("\n", 2, "pending", "accept", id, "--register-key", "-")
	run(asking.APIKey()+"\n", 0, "pending", "accept", id, "--name", "let in", "--register-key", "-", "--register-address",
		asking.Host(),
		"--register-port", strconv.Itoa(asking.Port()))
	s.WaitConnection(asking.ID(), fleet.Online)
	if device, err := s.Client.Device(t.Context(), string(asking.ID())); err != nil || device.Label != "let in" {
		t.Errorf("got %+v, %v", device, err)
	}
	asked.AddPendingFolder("unwanted", "", asking.ID())
	run("", 0, "pending", "dismiss", "--yes", find(t, s, asked.ID(), "folder", "unwanted").ID)
	run("", 3, "pending", "dismiss", "--yes", id)

	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run("", 0, "secret", "put", "pw", "--file", file); !strings.HasPrefix(out, "Created") {
		t.Errorf("got %s", out)
	}
	if out := run("hunter3", 0, "secret", "put", "pw"); !strings.HasPrefix(out, "Replaced") {
		t.Errorf("got %s", out)
	}
	if out := run("", 0, "secret", "list"); !strings.HasPrefix(out, "pw ") || strings.Count(out, "\n") != 1 {
		t.Errorf("got %s", out)
	}
	run("", 0, "secret", "delete", "--yes", "pw")
	run("", 3, "secret", "delete", "pw", "--yes")
}

// The steps of a change of a person's own, with one write.
const (
	afterIntent   = reconcile.ChangeStepPrefix + reconcile.StepAfterIntent
	afterWrites   = reconcile.ChangeStepPrefix + reconcile.StepBeforeVerify
	beforeOutcome = reconcile.ChangeStepPrefix + reconcile.StepBeforeOutcome
)

// Package unsaved_test writes to daemons that cannot save their configuration.
//
//muster:needs daemons
package unsaved_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// daemons are simulated ones of both versions, registered.
func daemons(t *testing.T, s *server.Server, network int) []*stsim.Daemon {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{Count: 2, Network: network,
		Versions: []stsim.Version{stsim.V2, stsim.V1}, Quiet: true})
	for _, d := range farm.Daemons() {
		s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), string(d.Version()))
		s.WaitConfiguration(d.ID(), fleet.ConfigUnmanaged)
	}
	return farm.Daemons()
}

func shows(d *stsim.Daemon, want string) func() string {
	return func() string {
		if got := d.Config().Get("options").Get("maxSendKbps").Str(); got != want {
			return "maxSendKbps is " + got
		}
		return ""
	}
}

// A daemon whose disk is full shows the value, and is not in sync: not after a restart of Muster either. After five
// equal answers it is failed. Once it can save it has the value for good.
func TestAWriteThatTheDaemonCouldNotSaveIsNotDone(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := server.Start(t, server.Options{Home: home})
	all := daemons(t, s, 92)
	for _, d := range all {
		d.SetFaults(stsim.Faults{DiskFull: true})
		s.Template("set", "options.maxSendKbps", "4711", string(d.Version()))
		wait.Until(t, shows(d, "4711"))
		unsaved(s, d, fleet.ConfigPending)
	}
	s.Kill()
	s.WaitEnd()
	s = server.Start(t, server.Options{Home: home})
	for _, d := range all {
		unsaved(s, d, fleet.ConfigFailed)
		d.SetFaults(stsim.Faults{})
		s.WaitConfiguration(d.ID(), fleet.ConfigInSync)
		if err := simulated.Restart(d); err != nil {
			t.Fatal(err)
		}
		s.WaitConfiguration(d.ID(), fleet.ConfigInSync)
		if what := shows(d, "4711")(); what != "" {
			t.Errorf("%s: after its restart %s", d.Version(), what)
		}
	}
}

// The daemon starts anew with a full disk and has its old value: that is nobody's edit, and is written again.
func TestAValueThatADaemonLostIsWrittenAgain(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	for _, d := range daemons(t, s, 93) {
		person := d.Config().Get("options").Get("maxSendKbps").Str()
		d.SetFaults(stsim.Faults{DiskFull: true})
		template := s.Template("set", "options.maxSendKbps", "4711", string(d.Version()))
		wait.Until(t, shows(d, "4711"))
		unsaved(s, d, fleet.ConfigPending)
		d.Stop()
		d.SetFaults(stsim.Faults{})
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, shows(d, "4711"))
		s.WaitConfiguration(d.ID(), fleet.ConfigInSync)
		if err := s.Client.DeleteTemplate(t.Context(), template); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, shows(d, person))
		s.WaitConfiguration(d.ID(), fleet.ConfigUnmanaged)
		before := d.Config()
		if err := simulated.Restart(d); err != nil {
			t.Fatal(err)
		}
		if changes := stconfig.Diff(before, d.Config()); len(changes) > 0 {
			t.Errorf("%s: %s was not saved", d.Version(), changes[0].Key)
		}
	}
}

// A share of a person's that Muster had put back, and that the daemon lost with its next start, counted as taken away
// by a person.
func TestAShareThatADaemonLostIsPutBackAgain(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	for _, d := range daemons(t, s, 95) {
		folder := d.Config().Get("folders").At(0)
		var other string
		for share := range folder.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); id != string(d.ID()) {
				other = id
			}
		}
		place := stconfig.Key{}.Child("folders").Child(folder.Get("id").Str()).Child("devices").Child(other)
		shared := func(want bool) func() string {
			return func() string {
				if is := stconfig.Lookup(d.Config(), place).Exists(); is != want {
					return fmt.Sprint("the folder is shared: ", is)
				}
				return ""
			}
		}
		template := s.Template("remove", place.Parent().String(), fmt.Sprintf("[%q]", other), string(d.Version()))
		wait.Until(t, shared(false))
		s.WaitConfiguration(d.ID(), fleet.ConfigInSync)
		d.SetFaults(stsim.Faults{DiskFull: true})
		if err := s.Client.DeleteTemplate(t.Context(), template); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, shared(true))
		unsaved(s, d, fleet.ConfigPending)
		d.Stop()
		d.SetFaults(stsim.Faults{})
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, shared(true))
		s.WaitConfiguration(d.ID(), fleet.ConfigUnmanaged)
		if err := simulated.Restart(d); err != nil {
			t.Fatal(err)
		}
		if what := shared(true)(); what != "" {
			t.Errorf("%s: after its restart %s", d.Version(), what)
		}
	}
}

// A daemon refused to mark a device as untrusted a few times, and then did it. A person put the old document back once.
// That counted as the third time for the share with the device, and the first for the mark: the mark was sent alone.
// The daemon took the share away with it, which was taken for a person's doing: the share never came back.
func TestAShareComesBackAfterTheMarkOfItsDeviceWasRefused(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemons(t, s, 96)[0]
	before := d.Config()
	folder := before.Get("folders").At(0)
	var other string
	for share := range folder.Get("devices").Values() {
		if id := share.Get("deviceID").Str(); id != string(d.ID()) {
			other = id
		}
	}
	mark := stconfig.Key{}.Child("devices").Child(other).Child("untrusted")
	place := stconfig.Key{}.Child("folders").Child(folder.Get("id").Str()).Child("devices").Child(other)
	marked := func(want bool) func() string {
		return func() string {
			doc := d.Config()
			is, shared := stconfig.Lookup(doc, mark).IsTrue(), stconfig.Lookup(doc, place).Exists()
			if is != want || shared == want {
				return fmt.Sprint("the device is untrusted: ", is, "; the folder is shared with it: ", shared)
			}
			return ""
		}
	}
	d.SetFaults(stsim.Faults{WriteStatus: 500})
	writes := d.Counters().Writes
	template := s.Template("set", mark.String(), "true", string(d.Version()))
	wait.Until(t, func() string {
		if n := d.Counters().Writes - writes; n < 4 {
			return fmt.Sprint("the daemon refused ", n, " writes")
		}
		return ""
	})
	d.SetFaults(stsim.Faults{})
	wait.Until(t, marked(true))
	s.WaitConfiguration(d.ID(), fleet.ConfigInSync)
	if err := d.Edit(func(stconfig.Value) stconfig.Value { return before }); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, marked(true))
	s.WaitConfiguration(d.ID(), fleet.ConfigInSync)
	if err := s.Client.DeleteTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, marked(false))
	s.WaitConfiguration(d.ID(), fleet.ConfigUnmanaged)
}

func unsaved(s *server.Server, d *stsim.Daemon, want fleet.Configuration) {
	s.WaitState(d.ID(), string(want)+", because it cannot save", func(state api.DeviceState) bool {
		return state.Configuration == string(want) && strings.Contains(state.Reason, "no space left")
	})
}

// What a person restored was done when the daemon showed it, and the daemon lost it at its next start.
func TestARestoreThatTheDaemonCouldNotSaveIsNotDone(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	for _, d := range daemons(t, s, 94) {
		template := s.Template("set", "options.maxSendKbps", "4711", string(d.Version()))
		wait.Until(t, shows(d, "4711"))
		s.WaitConfiguration(d.ID(), fleet.ConfigInSync)
		revision := s.WaitRevision(d.ID(), "options.maxSendKbps", "4711")
		if err := s.Client.DeleteTemplate(t.Context(), template); err != nil {
			t.Fatal(err)
		}
		s.WaitConfiguration(d.ID(), fleet.ConfigUnmanaged)
		d.SetFaults(stsim.Faults{DiskFull: true})
		_, err := s.Client.RestoreRevision(t.Context(), string(d.ID()), revision,
			api.Restore{Section: new("options.maxSendKbps")})
		if err == nil {
			t.Error("the restore went well")
		}
		unsaved(s, d, fleet.ConfigPending)
		d.SetFaults(stsim.Faults{})
		s.WaitConfiguration(d.ID(), fleet.ConfigUnmanaged)
		if err := simulated.Restart(d); err != nil {
			t.Fatal(err)
		}
		if what := shows(d, "4711")(); what != "" {
			t.Errorf("%s: after its restart %s", d.Version(), what)
		}
	}
}

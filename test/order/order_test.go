// Tests that kill the server at each step of an order run without the race detector. Other tests give the same orders
// with it.
//
//muster:needs daemons
//muster:test -skip=WasKilled|Override
//muster:test -race=false -run=WasKilled|Override
//muster:soak
package action_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// waitEnd waits until an order has ended.
func waitEnd(t *testing.T, s *server.Server, order api.Order) api.Order {
	t.Helper()
	wait.Until(t, func() string {
		now, err := s.Client.Order(t.Context(), order.ID)
		if err != nil {
			return err.Error()
		}
		if order = now; order.Status == "running" {
			return "the order is carried out still"
		}
		return ""
	})
	return order
}

// act orders a device to do something and waits for the end.
func act(t *testing.T, s *server.Server, id fleet.DeviceID, o client.OrderSpec) api.Order {
	t.Helper()
	order, err := s.Client.OrderToDevice(t.Context(), string(id), o)
	if err != nil {
		t.Fatal(err)
	}
	return waitEnd(t, s, order)
}

func wantStatus(t *testing.T, order api.Order, status, reason string) {
	t.Helper()
	if order.Status != status || !strings.Contains(order.Reason, reason) {
		t.Errorf("%s is %s: %s; want %s: %s", order.Type, order.Status, order.Reason, status, reason)
	}
}

func wantConflict(t *testing.T, err error, text string) {
	t.Helper()
	var problem *client.Error
	if !errors.As(err, &problem) || problem.Status != http.StatusConflict || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v", err)
	}
}

func TestARealDaemonDoesWhatItIsTold(t *testing.T) {
	t.Parallel()
	d, peer := daemon.Start(t, daemon.Options{Supervised: true}), daemon.Start(t, daemon.Options{})
	d.AddPeer(peer)
	d.AddFolder("docs")
	d.AddFolder("paused")
	s := server.Start(t, server.Options{})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "all")
	s.Template("set", "options.maxSendKbps", "77", "all")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)

	started := func() string {
		var status struct{ StartTime string }
		d.GetJSON("/rest/system/status", &status)
		return status.StartTime
	}
	before := started()
	wantStatus(t, act(t, s, d.ID, client.OrderSpec{Type: client.OrderRestart}), "done", "back")
	if started() == before {
		t.Error("the daemon was not restarted")
	}
	rescan := client.OrderSpec{Type: client.OrderRescan}
	wantStatus(t, act(t, s, d.ID, rescan), "done", "scanned")
	d.Patch("/rest/config/folders/paused", map[string]any{"paused": true})
	s.WaitRevision(d.ID, "folders.paused.paused", "true")
	wantStatus(t, act(t, s, d.ID, rescan), "done", "scanned")
	rescan.Folder = "docs"
	wantStatus(t, act(t, s, d.ID, rescan), "done", "scanned")
	rescan.Folder = "paused"
	wantStatus(t, act(t, s, d.ID, rescan), "failed", "paused")
	rescan.Folder = "nowhere"
	wantStatus(t, act(t, s, d.ID, rescan), "failed", `no folder "nowhere"`)

	pausedPeer := func() bool {
		var is struct{ Paused bool }
		d.GetJSON("/rest/config/devices/"+string(peer.ID), &is)
		return is.Paused
	}
	wantStatus(t, act(t, s, d.ID, client.OrderSpec{Type: client.OrderPause}), "done", "1 connections paused")
	s.WaitRevision(d.ID, "devices."+string(peer.ID)+".paused", "true")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	if !pausedPeer() {
		t.Error("the connection is not paused")
	}
	wantStatus(t, act(t, s, d.ID, client.OrderSpec{Type: client.OrderPause}), "done", "already")
	wantStatus(t, act(t, s, d.ID, client.OrderSpec{Type: client.OrderResume}), "done", "resumed")
	if pausedPeer() {
		t.Error("the connection is paused still")
	}
	wantStatus(t, act(t, s, d.ID, client.OrderSpec{Type: client.OrderUpgrade}), "failed", "does not upgrade itself")

	wait.Until(t, func() string {
		entries, err := s.Client.Audit(t.Context(), client.AuditSearch{What: "device.restart"})
		if err != nil || len(entries) == 0 || entries[0].Subject != string(d.ID) {
			return fmt.Sprintf("the audit has %v, %v", entries, err)
		}
		return ""
	})
}

// farm starts simulated daemons and registers them as d0, d1 and so on with the tag "all".
func farm(t *testing.T, s *server.Server, o stsim.Options) *stsim.Farm {
	t.Helper()
	o.Quiet = true
	f := simulated.Start(t, o)
	for i := range o.Count {
		d := f.Daemon(i)
		s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), "all")
		label := fmt.Sprint("d", i)
		port, address, key := int64(d.Port()), d.Host(), d.APIKey()
		if _, _, err := s.Client.PutDevice(t.Context(), string(d.ID()), api.PutDevice{Label: &label, APIPort: &port,
			APIAddress: &address, APIKey: &key}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range o.Count {
		s.WaitConfiguration(f.Daemon(i).ID(), fleet.ConfigUnmanaged)
	}
	return f
}

func states(order api.Order) (all []string) {
	for _, d := range order.Devices {
		all = append(all, d.Label+" "+d.State)
	}
	return all
}

func wantStates(t *testing.T, order api.Order, want string) {
	t.Helper()
	if got := strings.Join(states(order), ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestATagIsReachedOneAfterTheOtherAndEndsAtTheFirstThatFails(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	f := farm(t, s, stsim.Options{Count: 3, Group: 1, Network: 95})
	order, err := s.Client.OrderToTag(t.Context(), "all", client.OrderSpec{Type: client.OrderRestart})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Client.OrderToDevice(t.Context(), string(f.Daemon(2).ID()), client.OrderSpec{Type: client.OrderRescan})
	wantConflict(t, err, "another order")
	order = waitEnd(t, s, order)
	wantStatus(t, order, "done", "3 of 3")
	wantStates(t, order, "d0 done, d1 done, d2 done")

	folder := f.Daemon(0).Config().Get("folders").At(0).Get("id").Str()
	if err := f.Daemon(1).Edit(func(doc stconfig.Value) stconfig.Value { // a paused folder is not scanned
		return doc.With("folders", stconfig.List(doc.Get("folders").At(0).With("paused", stconfig.Boolean(true))))
	}); err != nil {
		t.Fatal(err)
	}
	s.WaitRevision(f.Daemon(1).ID(), "folders."+folder+".paused", "true")
	if order, err = s.Client.OrderToTag(t.Context(), "all",
		client.OrderSpec{Type: client.OrderRescan, Folder: folder}); err != nil {
		t.Fatal(err)
	}
	order = waitEnd(t, s, order)
	wantStatus(t, order, "failed", "d1")
	wantStates(t, order, "d0 done, d1 failed, d2 untouched")

	f.Daemon(1).Stop()
	s.WaitConnection(f.Daemon(1).ID(), fleet.Unreachable)
	if order, err = s.Client.OrderToTag(t.Context(), "all", client.OrderSpec{Type: client.OrderRescan}); err != nil {
		t.Fatal(err)
	}
	order = waitEnd(t, s, order)
	wantStates(t, order, "d0 done, d1 skipped, d2 done")
}

func TestChosenDevicesAreToldAndNoOther(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	f := farm(t, s, stsim.Options{Count: 3, Group: 1, Network: 101})
	ids := []string{string(f.Daemon(2).ID()), string(f.Daemon(0).ID()), string(f.Daemon(2).ID())}
	order, err := s.Client.OrderToDevices(t.Context(), ids, client.OrderSpec{Type: client.OrderRescan})
	if err != nil {
		t.Fatal(err)
	}
	order = waitEnd(t, s, order)
	wantStatus(t, order, "done", "2 of 2")
	wantStates(t, order, "d2 done, d0 done")

	given, err := s.Client.Orders(t.Context(), client.List{})
	if err != nil {
		t.Fatal(err)
	}
	nobody := "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
	for _, wrong := range []struct {
		ids   []string
		order client.OrderSpec
		code  fleet.Code
	}{
		{append(ids, nobody), client.OrderSpec{Type: client.OrderRescan}, fleet.CodeNotFound},
		{append(ids, "x"), client.OrderSpec{Type: client.OrderRescan}, fleet.CodeInvalid},
		{[]string{}, client.OrderSpec{Type: client.OrderRescan}, fleet.CodeInvalid},
		{ids, client.OrderSpec{Type: "format"}, fleet.CodeInvalid},
		{ids, client.OrderSpec{Type: client.OrderRestart, Folder: "docs"}, fleet.CodeInvalid},
		{ids, client.OrderSpec{Type: client.OrderPause, Major: true}, fleet.CodeInvalid},
	} {
		if _, err := s.Client.OrderToDevices(t.Context(), wrong.ids, wrong.order); fleet.CodeOf(err) != wrong.code {
			t.Errorf("%v %+v: got %v, want %s", wrong.ids, wrong.order, err, wrong.code)
		}
	}
	if now, err := s.Client.Orders(t.Context(), client.List{}); err != nil || len(now) != len(given) {
		t.Errorf("there are %d orders, %v; want %d", len(now), err, len(given))
	}
}

func TestAnUpgradeLeadsToAnotherMajorVersionOnlyWhereThatIsAllowed(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	f := farm(t, s, stsim.Options{Count: 2, Group: 1, Network: 96, Versions: []stsim.Version{stsim.V1, stsim.V2}})
	order := client.OrderSpec{Type: client.OrderUpgrade}
	wantStatus(t, act(t, s, f.Daemon(1).ID(), order), "done", "already")
	wantStatus(t, act(t, s, f.Daemon(0).ID(), order), "failed", "another major version")
	order.Major = true
	wantStatus(t, act(t, s, f.Daemon(0).ID(), order), "done", "v2.1.3")
	if f.Daemon(0).Version() != stsim.V2 {
		t.Error("it was not upgraded")
	}
}

func TestWhatATemplateTakesBackIsNotPaused(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	f := farm(t, s, stsim.Options{Count: 2, Group: 2, Network: 97})
	id, other := f.Daemon(0).ID(), f.Daemon(1).ID()
	s.Template("merge", "devices."+string(other), `{paused: false, maxSendKbps: 12}`, "all")
	s.WaitConfiguration(id, fleet.ConfigInSync)
	before := f.Daemon(0).Counters().Writes
	wantStatus(t, act(t, s, id, client.OrderSpec{Type: client.OrderPause}), "failed", "template 1")
	if now := f.Daemon(0).Counters().Writes; now != before {
		t.Errorf("%d writes", now-before)
	}
}

// A device entry that Muster made is paused and stays so: its key paused is the person's from then on.
func TestADeviceThatATemplateMadeStaysPaused(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	f := farm(t, s, stsim.Options{Count: 2, Group: 1, Network: 98})
	id, other := f.Daemon(0).ID(), f.Daemon(1).ID()
	s.Template("merge", "devices."+string(other), `{name: "other"}`, "all")
	s.WaitConfiguration(id, fleet.ConfigInSync)
	wantStatus(t, act(t, s, id, client.OrderSpec{Type: client.OrderPause}), "done", "1 connections paused")
	s.WaitRevision(id, "devices."+string(other)+".paused", "true")
	s.Template("set", "options.maxSendKbps", "77", "all") // another pass over the device
	s.WaitRevision(id, "options.maxSendKbps", "77")
	s.WaitConfiguration(id, fleet.ConfigInSync)
	for device := range f.Daemon(0).Config().Get("devices").Values() {
		if device.Get("deviceID").Str() == string(other) && !device.Get("paused").IsTrue() {
			t.Error("Muster took the pause back")
		}
	}
}

func TestAServerThatWasKilledSaysWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	f := farm(t, s, stsim.Options{Count: 2, Group: 1, Network: 99, NoRestart: true})
	order, err := s.Client.OrderToTag(t.Context(), "all", client.OrderSpec{Type: client.OrderRestart})
	if err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		if f.Daemon(0).Running() {
			return "the first daemon runs still"
		}
		return ""
	})
	s.Kill()
	s.WaitEnd()
	s = server.Start(t, server.Options{Home: s.Home})
	order = waitEnd(t, s, order)
	wantStatus(t, order, "interrupted", "does not continue it")
	wantStates(t, order, "d0 unknown, d1 untouched")
	if !f.Daemon(1).Running() {
		t.Error("the second daemon was told to restart")
	}
}

func TestNothingIsOrderedWhileMusterIsStopped(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	f := farm(t, s, stsim.Options{Count: 1, Group: 1, Network: 100})
	id := string(f.Daemon(0).ID())
	observe := string(fleet.ModeObserve)
	if _, err := s.Client.PutDeviceSettings(t.Context(), id, api.PutDeviceSettings{Mode: &observe}); err != nil {
		t.Fatal(err)
	}
	for _, given := range fleet.OrderTypes {
		order := client.OrderSpec{Type: client.OrderType(given)}
		_, err := s.Client.OrderToDevice(t.Context(), id, order)
		wantConflict(t, err, "observe")
		_, err = s.Client.OrderToTag(t.Context(), "all", order)
		wantConflict(t, err, "observe")
	}
	_, err := s.Client.OrderToTag(t.Context(), "nothing", client.OrderSpec{Type: client.OrderRestart})
	if fleet.CodeOf(err) != fleet.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

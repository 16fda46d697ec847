package action_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"muster/client"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// orderedTo is a real daemon with a peer and a folder, and what shows how often it did as it was told.
type orderedTo struct {
	*daemon.Daemon
	peer *daemon.Daemon
}

// done counts how often the daemon has done what an order is about since it was made.
func (d orderedTo) done(kind client.OrderType) string {
	switch kind {
	case client.OrderRestart:
		var status struct{ StartTime string }
		d.GetJSON("/rest/system/status", &status)
		return "started at " + status.StartTime
	case client.OrderPause:
		var peer struct{ Paused bool }
		d.GetJSON("/rest/config/devices/"+string(d.peer.ID), &peer)
		return fmt.Sprint("paused: ", peer.Paused)
	}
	var events []struct {
		Type string
		Data json.RawMessage
	}
	d.GetJSON("/rest/events?since=0&timeout=0", &events) // A filter would begin to count with this request.
	scans := 0
	for _, e := range events {
		var state struct{ To string }
		if e.Type == "StateChanged" && json.Unmarshal(e.Data, &state) == nil && state.To == "scanning" {
			scans++
		}
	}
	return fmt.Sprint(scans, " scans")
}

// Muster is killed with SIGKILL before an order is told to a real daemon, after that, and before it is stored what came
// of it. The next start does not tell the daemon again and does not say that the order is done. It says what is not
// known, and a person may give the order again.
func TestAnOrderThatWasKilledIsNotRepeatedAndNotDone(t *testing.T) {
	t.Parallel()
	for _, kind := range []client.OrderType{client.OrderRescan, client.OrderPause, client.OrderRestart} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			for _, step := range []string{reconcile.StepBeforeOrder, reconcile.StepAfterOrder,
				reconcile.StepAfterCarried} {
				// Syncthing starts itself again three times a minute, so that each step has a daemon of its own.
				t.Run(step, func(t *testing.T) { newOrderedTo(t).killed(t, kind, step) })
			}
		})
	}
}

// newOrderedTo starts the daemon, and waits for the scan of its new folder.
func newOrderedTo(t *testing.T) orderedTo {
	t.Helper()
	d := orderedTo{daemon.Start(t, daemon.Options{Supervised: true}), daemon.Start(t, daemon.Options{})}
	d.AddPeer(d.peer)
	d.AddFolder("docs")
	wait.Until(t, func() string {
		if scans := d.done(client.OrderRescan); scans != "1 scans" {
			return "the daemon has made " + scans
		}
		return ""
	})
	return d
}

func (d orderedTo) killed(t *testing.T, kind client.OrderType, step string) {
	t.Helper()
	s := server.Start(t, server.Options{KillAt: step})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "all")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	before := d.done(kind)
	// The answer to the request may be lost with the process.
	_, _ = s.Client.OrderToDevice(t.Context(), string(d.ID), client.OrderSpec{Type: kind})
	s.WaitEnd()
	var after string
	if told := step != reconcile.StepBeforeOrder; told {
		wait.Until(t, func() string {
			if after = d.done(kind); after == before {
				return "the daemon was told, and did nothing: " + after
			}
			return ""
		})
	} else if after = d.done(kind); after != before {
		t.Errorf("the daemon was not told, and has %s, was %s", after, before)
	}

	s = server.Start(t, server.Options{Home: s.Home})
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	order, err := s.Client.Order(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	order = waitEnd(t, s, order)
	wantStatus(t, order, "interrupted", "is not known")
	wantStatus(t, order, "interrupted", "give the order again where it is needed")
	if len(order.Devices) != 1 || order.Devices[0].State != "unknown" {
		t.Errorf("got %+v", order.Devices)
	}
	wantStatus(t, act(t, s, d.ID, client.OrderSpec{Type: kind}), "done", "")
	if again := d.done(kind); again == before || kind != client.OrderPause && again == after {
		t.Errorf("the order that a person gave again was not carried out: %s, was %s", again, before)
	}
	s.Stop()
}

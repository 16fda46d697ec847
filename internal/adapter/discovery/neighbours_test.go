package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/fleet"
)

// neighbours are managed daemons that answer as a test says.
type neighbours struct {
	online      []fleet.DeviceID
	discovery   func(fleet.DeviceID) (string, error)
	connections func(fleet.DeviceID) (string, error)
	calls       atomic.Int64
	mu          sync.Mutex
	asked       []fleet.DeviceID
}

func (n *neighbours) Online(fleet.DeviceID) []fleet.DeviceID { return n.online }

func (n *neighbours) Discovery(_ context.Context, from fleet.DeviceID) ([]byte, error) {
	return n.tell(n.discovery, from)
}

func (n *neighbours) Connections(_ context.Context, from fleet.DeviceID) ([]byte, error) {
	n.mu.Lock()
	n.asked = append(n.asked, from)
	n.mu.Unlock()
	return n.tell(n.connections, from)
}

func (n *neighbours) tell(answer func(fleet.DeviceID) (string, error), from fleet.DeviceID) ([]byte, error) {
	n.calls.Add(1)
	if answer == nil {
		return nil, errors.New("offline")
	}
	text, err := answer(from)
	return []byte(text), err
}

func always(text string) func(fleet.DeviceID) (string, error) {
	return func(fleet.DeviceID) (string, error) { return text, nil }
}

// silentServer keeps the public ones out of a test.
func silentServer(t *testing.T) string { return newLookupServer(t, status(404)).pinned() }

func TestNeighboursSayWhereADeviceIs(t *testing.T) {
	wanted, other := deviceOf("wanted"), deviceOf("other")
	connection := func(address, kind string, connected bool) string {
		return fmt.Sprintf(
			`{"total":{},"connections":{"%s":{"at":"2026-11-20T12:00:00Z","address":"%s","type":"%s","connected":%t,"paused":false}}}`,
			wanted.ID,
			address,
			kind,
			connected,
		)
	}
	for name, c := range map[string]struct {
		discovery, connections string
		want                   []string // host and sync addresses
	}{
		"discovered": {fmt.Sprintf(`{"%s":{"addresses":["relay://192.0.2.9:443","tcp://192.0.2.1:22001"]}}`,
			wanted.ID), "", []string{"192.0.2.1", "tcp://192.0.2.1:22001"}},
		"lower case": {fmt.Sprintf(`{"%s":{"addresses":["tcp://192.0.2.1:22001"]}}`,
			strings.ToLower(string(wanted.ID))), "", []string{"192.0.2.1", "tcp://192.0.2.1:22001"}},
		"connected to": {"", connection("192.0.2.1:22001", "tcp-client", true),
			[]string{"192.0.2.1", "tcp://192.0.2.1:22001"}},
		"connected from": {"", connection("192.0.2.1:51515", "tcp-server", true),
			[]string{"192.0.2.1", "tcp://192.0.2.1:22000"}},
		"connected from by quic": {"", connection("[2001:db8::7]:51515", "quic-server", true),
			[]string{"2001:db8::7", "tcp://[2001:db8::7]:22000"}},
		"through a relay":     {"", connection("192.0.2.9:443", "relay-client", true), nil},
		"not connected":       {"", connection("192.0.2.1:22001", "tcp-client", false), nil},
		"on loopback":         {"", connection("127.0.0.1:22001", "tcp-client", true), nil},
		"host with path":      {"", connection("192.0.2.1/x:22001", "tcp-client", true), nil},
		"host with user":      {"", connection("a@192.0.2.1:22001", "tcp-client", true), nil},
		"nobody asked for it": {fmt.Sprintf(`{"%s":{"addresses":["tcp://192.0.2.1:22001"]}}`, other.ID), "", nil},
		"null":                {`{"` + string(wanted.ID) + `":null}`, `{"connections":null}`, nil},
		"a list":              {`[1,2,3]`, `[]`, nil},
		"wrong types":         {`{"` + string(wanted.ID) + `":{"addresses":[1]}}`, `{"connections":{"x":7}}`, nil},
		"not JSON":            {"<html>", "<html>", nil},
		"far too much": {`{"` + string(wanted.ID) + `":{"addresses":["tcp://192.0.2.1:22001"]}}` +
			strings.Repeat(" ", maxSystemBytes), "", nil},
		"the same from both ways": {fmt.Sprintf(`{"%s":{"addresses":["tcp://192.0.2.1:22001"]}}`, wanted.ID),
			connection("192.0.2.1:22001", "tcp-client", true), []string{"192.0.2.1", "tcp://192.0.2.1:22001"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := &neighbours{online: []fleet.DeviceID{deviceOf("n").ID}, discovery: always(c.discovery),
				connections: always(c.connections)}
			d, _ := newDiscovery(t, Options{Servers: []string{silentServer(t)}})
			if c.want == nil {
				if e := mustNotFind(t, d, wanted, n); !strings.Contains(e.Message,
					"no other managed daemon that was asked knows it") {
					t.Errorf("message %q", e.Message)
				}
				return
			}
			got := mustResolve(t, d, wanted, n)
			if got.Host != c.want[0] || got.By != ByFleet || !slices.Equal(got.SyncAddresses, c.want[1:]) {
				t.Errorf("got %+v, want %v", got, c.want)
			}
		})
	}
}

func TestNeighboursAreAskedRarelyAndInTurn(t *testing.T) {
	n := &neighbours{discovery: always("{}"), connections: always("{}")}
	for i := range 20 {
		n.online = append(n.online, deviceOf(fmt.Sprint("n", i)).ID)
	}
	d, clock := newDiscovery(t, Options{Servers: []string{silentServer(t)}})
	wanted := deviceOf("wanted")
	n.online = append(n.online, wanted.ID) // never asked about itself
	for range 3 {
		mustNotFind(t, d, wanted, n)
	}
	if got := len(n.asked); got != 20 {
		t.Errorf("three look-ups asked %d neighbours, want each of the 20 once", got)
	}
	mustNotFind(t, d, wanted, n)
	if got := len(n.asked); got != 20 {
		t.Errorf("a neighbour was asked again at once")
	}
	clock.forward(sightingsMinAge)
	mustNotFind(t, d, wanted, n)
	if got := len(n.asked); got != 20 {
		t.Errorf("a neighbour was asked again after %s", sightingsMinAge)
	}
	mustNotFind(t, d, deviceOf("later"), n) // what is kept was read before anybody asked for this one
	if got := len(n.asked); got != 28 {
		t.Errorf("%d questions after a new device, want 28", got)
	}
	clock.forward(sightingsLife)
	mustNotFind(t, d, wanted, n)
	if got := len(n.asked); got != 36 {
		t.Errorf("%d questions after a minute, want 36", got)
	}
	if slices.Contains(n.asked, wanted.ID) {
		t.Error("the device was asked where it is itself")
	}
}

func TestASilentNeighbourKeepsNobodyFromTheServers(t *testing.T) {
	n := &neighbours{online: []fleet.DeviceID{deviceOf("n").ID}}
	s := newLookupServer(t, addresses("tcp://192.0.2.1:22000"))
	d, _ := newDiscovery(t, Options{Servers: []string{s.pinned()}})
	if got := mustResolve(t, d, deviceOf("a"), n); got.By != ByGlobal {
		t.Errorf("got %+v", got)
	}
}

func TestServersAreAskedOnlyWhenTheCheaperSourcesAreUsedUp(t *testing.T) {
	wanted := deviceOf("wanted")
	n := &neighbours{online: []fleet.DeviceID{deviceOf("n").ID}, connections: always("{}"),
		discovery: always(fmt.Sprintf(`{"%s":{"addresses":["tcp://192.0.2.1:22001"]}}`, wanted.ID))}
	s := newLookupServer(t, addresses("tcp://192.0.2.2:22000", "tcp://192.0.2.1:22001"))
	d, clock := newDiscovery(t, Options{Servers: []string{s.pinned()}})
	for i, want := range []struct {
		host  string
		asked int64
	}{{"192.0.2.1", 0}, {"192.0.2.2", 1}, {"192.0.2.1", 1}} {
		got := mustResolve(t, d, wanted, n)
		if got.Host != want.host || s.asked.Load() != want.asked {
			t.Errorf("look-up %d: %s after %d questions, want %+v", i, got.Host, s.asked.Load(), want)
		}
		clock.forward(time.Second)
	}
}

func TestAnswersOfManyNeighboursAreBounded(t *testing.T) {
	h := newNeighbourhood(false, newClock().now, func(fleet.DeviceID) bool { return true })
	for i := range 3 * maxNeighbours {
		h.mu.Lock()
		h.keep(deviceOf(fmt.Sprint(i)).ID, &sightings{at: h.now()})
		h.mu.Unlock()
	}
	if len(h.answers) > maxNeighbours {
		t.Errorf("%d answers are kept", len(h.answers))
	}
	about := map[fleet.DeviceID][]syncAddress{}
	for i := range 2 * maxSightings {
		h.sight(string(deviceOf(fmt.Sprint(i)).ID), []string{"tcp://192.0.2.1:22000"}, about)
	}
	if len(about) != maxSightings {
		t.Errorf("%d sightings of one neighbour are kept", len(about))
	}
}

// Package hubs_test joins hubs and spokes without discovery.
//
//muster:needs daemons
package hubs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"muster/client"
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

const (
	hubs, spokes = 3, 9
	// template is recipe 13 of the manual.
	template = `def template(device):
    peers = devices(tag="hub")
    if "hub" in device.tags:
        peers = peers + devices(tag="spoke")
    return [
        {"deviceID": d.deviceID, "addresses": d.addresses if "hub" in d.tags else ["dynamic"]}
        for d in peers if d != device
    ]
`
)

// member is one daemon, and how its configuration is read.
type member struct {
	id      fleet.DeviceID
	key     string
	host    string
	port    int
	address string // for syncing
	isReal  bool
	devices func() []peer
}

type peer struct {
	DeviceID  fleet.DeviceID `json:"deviceID"`
	Addresses []string       `json:"addresses"`
}

// start starts one real hub, two real laptops and simulated daemons for the others, hubs first.
func start(t *testing.T) (all []member, real []*daemon.Daemon) {
	farm := simulated.Start(t, stsim.Options{Count: hubs + spokes - 3, Network: 96,
		Versions: []stsim.Version{stsim.V2, stsim.V1}, Folders: -1, Quiet: true})
	for i, d := range farm.Daemons() {
		all = append(all, member{d.ID(), d.APIKey(), d.Host(), d.Port(), fmt.Sprintf("tcp://127.0.96.%d:22000", i+1),
			false, func() (peers []peer) {
				if err := json.Unmarshal(d.Config().Get("devices").JSON(), &peers); err != nil {
					t.Error(err)
				}
				return peers
			}})
	}
	for i := range 3 {
		d := daemon.Start(t, daemon.Options{})
		real = append(real, d)
		at := 0 // the first is a hub
		if i > 0 {
			at = len(all)
		}
		all = slices.Insert(all, at, member{d.ID, d.APIKey, d.Address, d.Port, d.SyncAddress(), true, func() (peers []peer) {
			d.GetJSON("/rest/config/devices", &peers)
			return peers
		}})
	}
	return all, real
}

// Three hubs and nine laptops know each other by one template, and call the hubs where the hubs' vars say. Before,
// the addresses of the hubs were in no template's reach.
func TestHubsAndLaptopsWithoutDiscoveryAreOneTemplate(t *testing.T) {
	s := server.Start(t, server.Options{Waves: "rest"})
	all, real := start(t)
	for i, m := range all {
		tag := "spoke"
		if i < hubs {
			tag = "hub"
		}
		s.Register(m.id, m.key, m.host, m.port, tag)
	}
	for _, m := range all[:hubs] {
		setAddress(t, s, m.id, m.address)
	}
	s.Template("merge", "options", `{globalAnnounceEnabled: false, localAnnounceEnabled: false, relaysEnabled: false}`,
		"hub", "spoke")
	s.Template("merge", "devices", template, "hub", "spoke")
	for i, m := range all {
		want := map[fleet.DeviceID]string{}
		for at, other := range all {
			switch {
			case at == i:
			case at < hubs:
				want[other.id] = other.address
			case i < hubs:
				want[other.id] = "dynamic"
			}
		}
		state := func() string {
			state, err := s.Client.DeviceState(t.Context(), string(m.id))
			return fmt.Sprintf("daemon %d has %+v, want %v; state %s: %s, %v", i, m.devices(), want, state.Configuration,
				state.Reason, err)
		}
		wait.ForState(t, state, func() bool { return m.knows(want) })
	}
	for _, laptop := range real[1:] {
		wait.For(t, "a laptop has called the hub", func() bool { return isConnected(laptop, real[0].ID) })
	}
	// Another address of a hub goes out to all without a change of the template.
	moved := "tcp://127.0.96.99:22001"
	setAddress(t, s, all[1].id, moved)
	for i, m := range all[hubs:] {
		state := func() string {
			state, err := s.Client.DeviceState(t.Context(), string(m.id))
			rollouts, _ := s.Client.Rollouts(t.Context(), client.List{})
			return fmt.Sprintf(
				"laptop %d has %+v; state %s: %s, %v; rollouts %+v",
				i,
				m.devices(),
				state.Configuration,
				state.Reason,
				err,
				rollouts,
			)
		}
		wait.ForState(t, state, func() bool {
			return slices.ContainsFunc(m.devices(), func(p peer) bool {
				return p.DeviceID == all[1].id && slices.Equal(p.Addresses, []string{moved})
			})
		})
	}
}

// knows reports whether the daemon has these peers at these addresses. Simulated daemons know some of each other from
// the start, real ones nobody.
func (m member) knows(want map[fleet.DeviceID]string) bool {
	known, others := 0, 0
	for _, p := range m.devices() {
		switch {
		case p.DeviceID == m.id:
		case want[p.DeviceID] == "":
			others++
		case slices.Equal(p.Addresses, []string{want[p.DeviceID]}):
			known++
		}
	}
	return known == len(want) && (others == 0 || !m.isReal)
}

func setAddress(t *testing.T, s *server.Server, id fleet.DeviceID, address string) {
	t.Helper()
	vars := map[string]json.RawMessage{"addresses": json.RawMessage(fmt.Sprintf("%q", address))}
	if _, err := s.Client.PutDeviceVars(t.Context(), string(id), vars); err != nil {
		t.Fatal(err)
	}
}

func isConnected(d *daemon.Daemon, to fleet.DeviceID) bool {
	var answer struct {
		Connections map[fleet.DeviceID]struct{ Connected bool }
	}
	d.GetJSON("/rest/system/connections", &answer)
	return answer.Connections[to].Connected
}

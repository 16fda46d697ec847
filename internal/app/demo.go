package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sync/errgroup"

	"muster/internal/demo"
	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/store"
	"muster/internal/stsim"
)

// The demo's fleet: simulated daemons at three sites, and templates that a newcomer can read and change.
var (
	demoSites     = []fleet.Tag{"site:berlin", "site:lima", "site:osaka"}
	demoTemplates = []struct {
		template fleet.Template
		tag      fleet.Tag
	}{
		{fleet.Template{Label: "No relays", Priority: 10, Op: fleet.OpSet, Key: "options.relaysEnabled", Text: "false\n"},
			"demo"},
		{fleet.Template{Label: "Slow line in Lima", Priority: 20, Op: fleet.OpMerge, Key: "options",
			Text: "{\n  # KiB/s\n  maxSendKbps: 2000\n  maxRecvKbps: 8000\n}\n"}, "site:lima"},
		{fleet.Template{Label: "Price list, read-only everywhere", Priority: 30, Op: fleet.OpMerge, Key: "folders.price-list", Text: `def template(device):
    return {
        "label": "Price list",
        "path": "~/price-list",
        "type": "receiveonly",
        "devices": [{"deviceID": d.deviceID} for d in devices(tag="price-list")],
    }
`}, "price-list"},
	}
)

// priceListDevices share the demo's folder: a few, so that sharing stays readable at any size of the fleet.
const priceListDevices = 5

// demoAgentEach is how many of the demo's devices there are for each one that comes by its agent.
const demoAgentEach = 3

// startDemo starts n simulated daemons and registers them, and one more whose agent asks for that. It wants a database
// without devices: a demo must not mix with a real fleet.
func startDemo(ctx context.Context, s *store.Store, n int) (*stsim.Farm, error) {
	registry, err := s.Registry(ctx)
	if err != nil {
		return nil, err
	}
	if len(registry.Devices) > 0 {
		return nil, &fleet.Error{
			Code: fleet.CodeConflict, Message: fmt.Sprintf("the demo wants a home of its own, this one has %d devices",
				len(registry.Devices)),
			Hint: "Leave out --home: the demo then keeps its data in a temporary folder.",
		}
	}
	farm, err := stsim.New(stsim.Options{Count: n + 1, Seed: 1, Folders: 2, Shared: n > 200})
	if err != nil {
		return nil, fmt.Errorf("make simulated daemons: %w", err)
	}
	if err := farm.Start(); err != nil {
		return nil, fmt.Errorf("start simulated daemons: %w", err)
	}
	if err := registerDemo(ctx, s, farm); err != nil {
		return nil, errors.Join(err, farm.Close())
	}
	return farm, nil
}

func registerDemo(ctx context.Context, s *store.Store, farm *stsim.Farm) error {
	for _, demo := range demoTemplates {
		made, err := s.CreateTemplate(ctx, demo.template)
		if err != nil {
			return fmt.Errorf("register a template of the demo: %w", err)
		}
		if _, err := s.TagTemplate(ctx, made.ID, demo.tag, nil); err != nil {
			return fmt.Errorf("tag a template of the demo: %w", err)
		}
	}
	group, ctx := errgroup.WithContext(ctx) // writes that wait together are committed together
	group.SetLimit(64)
	all := farm.Daemons()
	for i, daemon := range all[:len(all)-1] {
		group.Go(func() error {
			device := fleet.Device{ID: daemon.ID(), Label: daemon.Name(), APIKey: fleet.NewSecret(daemon.APIKey()),
				APIAddress: daemon.Host(), APIPort: daemon.Port()}
			if comesByAgent(i) {
				device.APIAddress = ""
			}
			if _, _, err := s.PutDevice(ctx, device, nil); err != nil {
				return fmt.Errorf("register a simulated daemon: %w", err)
			}
			for _, tag := range demoTags(i) {
				if _, err := s.TagDevice(ctx, daemon.ID(), tag, nil); err != nil {
					return fmt.Errorf("tag a simulated daemon: %w", err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func comesByAgent(i int) bool { return i%demoAgentEach == demoAgentEach-1 }

// runDemoAgents has the demo's agents connect to this server until ctx ends: those of the devices that come by them,
// and that of the device that waits to be accepted.
func (a *App) runDemoAgents(ctx context.Context, farm *stsim.Farm) error {
	socket := a.socket
	if a.forAgents != nil {
		socket = a.forAgents
	}
	server := onThisMachine(socket.Addr())
	all := farm.Daemons()
	var group errgroup.Group
	for i, daemon := range all {
		if comesByAgent(i) || i == len(all)-1 {
			group.Go(func() error { return daemon.RunAgent(ctx, server) })
		}
	}
	return group.Wait()
}

// onThisMachine is where programs of this machine reach a socket.
func onThisMachine(at net.Addr) string {
	address, err := netip.ParseAddrPort(at.String())
	if err != nil || !address.Addr().IsUnspecified() {
		return at.String()
	}
	host := "127.0.0.1"
	if address.Addr().Is6() && !address.Addr().Is4In6() {
		host = "::1"
	}
	return net.JoinHostPort(host, strconv.Itoa(int(address.Port())))
}

func demoTags(i int) []fleet.Tag {
	tags := []fleet.Tag{"demo", demoSites[i%len(demoSites)]}
	if i < priceListDevices {
		tags = append(tags, "price-list")
	}
	return tags
}

// demo is what people start to look around in, nil where this server starts none: it is a demo, or a test.
func (a *App) demo() httpapi.Demo {
	if len(a.o.DemoServer) == 0 || a.o.Demo > 0 {
		return nil
	}
	d := demo.New(a.o.DemoServer, a.log)
	a.life.onStop("demo", func(context.Context) error { d.End(); return nil })
	return d
}

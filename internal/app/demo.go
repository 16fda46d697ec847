package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"muster/internal/adapter/demo"
	"muster/internal/adapter/store"
	"muster/internal/edge/httpapi"
	"muster/internal/engine/change"
	"muster/internal/fleet"
	"muster/internal/stsim"
)

// The demo's fleet: simulated daemons at three sites, and templates that a new user can read and change.
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
		{
			fleet.Template{
				Label:    "Price list, read-only everywhere",
				Priority: 30,
				Op:       fleet.OpMerge,
				Key:      "folders.price-list",
				Text: `def template(device):
    return {
        "label": "Price list",
        "path": "~/price-list",
        "type": "receiveonly",
        "devices": [{"deviceID": d.deviceID} for d in devices(tag="price-list")],
    }
`,
			},
			"price-list",
		},
	}
)

// priceListDevices is the number of devices that share the demo's folder. It is small so that the folder can be read
// in a fleet of any size.
const priceListDevices = 5

// demoAgentEach says that one of so many devices of a demo is reached through an agent.
const demoAgentEach = 3

// startDemo starts n simulated daemons and registers them. One more daemon has an agent that asks to be accepted. The
// database must have no devices, so that a demo never mixes with a real fleet.
func startDemo(ctx context.Context, s *store.Store, edits *change.Changes, check checkTemplate, n int) (*stsim.Farm,
	error) {
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
	if err := makeDemoTroubles(farm); err != nil {
		return nil, errors.Join(err, farm.Close())
	}
	// The demo is registered as an admin. Otherwise the template with the price list, which an author would have saved,
	// would wait for consent.
	if err := registerDemo(fleet.WithRole(ctx, fleet.RoleAdmin), edits, check, farm); err != nil {
		return nil, errors.Join(err, farm.Close())
	}
	return farm, nil
}

// checkTemplate determines the inputs of a template.
type checkTemplate func(context.Context, fleet.Template) (fleet.Inputs, error)

// demoDevicesEach is how many devices a demo registers in one transaction. An edit of more than ten devices would
// become a rollout.
const demoDevicesEach = 10

func registerDemo(ctx context.Context, edits *change.Changes, check checkTemplate, farm *stsim.Farm) error {
	var templates fleet.Edit
	for _, demo := range demoTemplates {
		template := demo.template
		var err error
		if template.Reads, err = check(ctx, template); err != nil {
			return fmt.Errorf("check a template of the demo: %w", err)
		}
		templates.New = append(templates.New, fleet.TaggedTemplate{Template: template, Tags: []fleet.Tag{demo.tag}})
	}
	if _, err := edits.Apply(ctx, templates, fleet.Basis{}); err != nil {
		return fmt.Errorf("register the templates of the demo: %w", err)
	}
	all := farm.Daemons()
	first := 0
	for some := range slices.Chunk(all[:len(all)-1], demoDevicesEach) {
		var devices fleet.Edit
		for i, daemon := range some {
			device := fleet.Device{ID: daemon.ID(), Label: daemon.Name(), APIKey: fleet.NewSecret(daemon.APIKey()),
				APIAddress: daemon.Host(), APIPort: daemon.Port()}
			if comesByAgent(first + i) {
				device.APIAddress = ""
			}
			devices.Put = append(devices.Put, fleet.DevicePut{Device: device})
			for _, tag := range demoTags(first + i) {
				devices.Tag = append(devices.Tag, fleet.Tagging{Tag: tag, Device: daemon.ID()})
			}
		}
		if _, err := edits.Apply(ctx, devices, fleet.Basis{}); err != nil {
			return fmt.Errorf("register simulated daemons: %w", err)
		}
		first += len(some)
	}
	return nil
}

func comesByAgent(i int) bool { return i%demoAgentEach == demoAgentEach-1 }

// runDemoAgents connects the demo's agents to this server until ctx ends: those of registered devices, and that of the
// device that waits to be accepted.
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

// onThisMachine returns the address at which programs of this machine reach a socket.
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

// demo returns the part that starts a demo server, or nil when this server cannot: it is a demo itself, or a test.
func (a *App) demo() httpapi.Demo {
	if len(a.o.DemoServer) == 0 || a.o.Demo > 0 {
		return nil
	}
	d := demo.New(a.o.DemoServer, a.log)
	a.life.onStop("demo", func(context.Context) error { d.End(); return nil })
	return d
}

package app

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"muster/internal/fleet"
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

// startDemo starts n simulated daemons and registers them. It wants a database without devices: a demo must not mix
// with a real fleet.
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
	farm, err := stsim.New(stsim.Options{Count: n, Seed: 1, Folders: 2, Shared: n > 200})
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
	for i, daemon := range farm.Daemons() {
		group.Go(func() error {
			_, _, err := s.PutDevice(ctx, fleet.Device{
				ID: daemon.ID(), Label: daemon.Name(), APIKey: fleet.NewSecret(daemon.APIKey()), APIAddress: daemon.Host(),
				APIPort: daemon.Port(),
			}, nil)
			if err != nil {
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

func demoTags(i int) []fleet.Tag {
	tags := []fleet.Tag{"demo", demoSites[i%len(demoSites)]}
	if i < priceListDevices {
		tags = append(tags, "price-list")
	}
	return tags
}

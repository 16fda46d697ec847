package reconcile

import (
	"context"
	"fmt"
	"hash/maphash"
	"strings"

	"muster/internal/fleet"
	"muster/internal/template"
)

// view is what a registry means to templates, made once for all devices.
type view struct {
	registry  *fleet.Registry
	facts     map[fleet.DeviceID]template.Facts
	fleet     *template.Fleet
	labels    map[fleet.DeviceID]string
	fleetSum  uint64           // of all facts
	templates map[int64]uint64 // of each template
}

// fingerprint tells whether what a device is planned from changed.
type fingerprint struct {
	templates uint64 // those that apply
	inputs    uint64 // everything but the observed document
}

const keptViews = 4 // generations that devices are admitted to at the same time

// viewOf is the view of the registry at the generation that a device is admitted to.
func (e *Engine) viewOf(ctx context.Context, id fleet.DeviceID, current *fleet.Registry) (*view, error) {
	registry := current
	if e.o.Admitted != nil && current.Devices[id] != nil {
		admitted, err := e.o.Admitted(ctx, id, current)
		if err != nil {
			return nil, err
		}
		if admitted.Devices[id] != nil {
			registry = admitted
		}
	}
	e.mu.Lock()
	v := e.views[registry]
	e.mu.Unlock()
	if v != nil {
		return v, nil
	}
	v = e.newView(registry)
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.views) >= keptViews {
		clear(e.views)
	}
	e.views[registry] = v
	return v, nil
}

func (e *Engine) newView(r *fleet.Registry) *view {
	v := &view{registry: r, facts: make(map[fleet.DeviceID]template.Facts, len(r.Devices)),
		labels: make(map[fleet.DeviceID]string, len(r.Devices)), templates: make(map[int64]uint64, len(r.Templates))}
	all := make([]template.Facts, 0, len(r.Devices))
	for id, d := range r.Devices {
		version := e.o.Daemon.Known(id).Version
		facts := template.Facts{DeviceID: id, Label: d.Label, Tags: d.Tags, APIAddress: d.APIAddress, APIPort: d.APIPort,
			OS: version.OS, Arch: version.Arch, Version: version.Version}
		v.facts[id], v.labels[id] = facts, d.Label
		v.fleetSum += e.sum(facts) // whatever the order
		all = append(all, facts)
	}
	v.fleet = template.NewFleet(all)
	for _, t := range r.Templates {
		v.templates[t.ID] = e.sum(t.ID, t.Priority, t.Op, t.Key, t.Text)
	}
	return v
}

// fingerprint of what a device is planned from.
func (e *Engine) fingerprint(v *view, id fleet.DeviceID, mode fleet.Mode, known Known) fingerprint {
	templates := v.registry.TemplatesOf(id)
	var sums []any
	for _, t := range templates {
		sums = append(sums, v.templates[t.ID])
	}
	print := fingerprint{templates: e.sum(sums...)}
	fleetSum := v.fleetSum
	if len(templates) == 0 {
		fleetSum = 0
	}
	hold := ""
	if e.o.HoldAll != nil {
		hold = e.o.HoldAll(id)
	}
	print.inputs = e.sum(print.templates, v.facts[id], fleetSum, mode, known.Online, known.Address, known.AddressFixed, known.TooOld, hold)
	return print
}

func (e *Engine) sum(parts ...any) uint64 {
	var h maphash.Hash
	h.SetSeed(e.seed)
	for _, part := range parts {
		fmt.Fprintf(&h, "%#v\x00", part)
	}
	return h.Sum64()
}

// hostOf is the host of a host:port, or the host itself.
func hostOf(address string) string {
	if i := strings.LastIndexByte(address, ':'); i >= 0 && (strings.HasPrefix(address, "[") || strings.IndexByte(address, ':') == i) {
		return strings.Trim(address[:i], "[]")
	}
	return address
}

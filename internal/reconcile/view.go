package reconcile

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/template"
)

// view is what a registry means to templates, made once for all devices. What takes a walk through the fleet is made
// when a template first asks for it.
type view struct {
	registry  *fleet.Registry
	known     func(fleet.DeviceID) Known
	templates map[int64]templateSum
	fleet     func() *template.Fleet // made once
	labels    func() uint64          // sum of which devices are registered, and their labels; made once
}

type templateSum struct {
	sum        uint64
	readsFleet bool
	readsVars  bool
	mayShare   bool
}

// fingerprint tells whether what a device is planned from changed.
type fingerprint struct {
	templates uint64 // those that apply
	inputs    uint64 // everything but the observed document
	folders   string // errors of folders that were written to
}

// viewOf is the view of the registry at the generation that a device is admitted to.
func (e *Engine) viewOf(ctx context.Context, id fleet.DeviceID, current *fleet.Registry) (*view, error) {
	registry := current
	if current.Devices[id] != nil {
		admission, err := e.o.Store.Admission(ctx)
		if err != nil {
			return nil, err
		}
		registry = admission.For(id, current)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.viewed != current { // no other registry is asked for again
		clear(e.views)
		e.viewed = current
	}
	v := e.views[registry]
	if v == nil {
		v = e.newView(registry)
		e.views[registry] = v
	}
	return v, nil
}

func (e *Engine) newView(r *fleet.Registry) *view {
	v := &view{registry: r, known: e.o.Daemon.Known, templates: make(map[int64]templateSum, len(r.Templates))}
	for _, t := range r.Templates {
		v.templates[t.ID] = templateSum{e.sum(t.ID, t.Priority, string(t.Op), t.Key, t.Text, string(t.SavedRole)),
			t.Reads.OrAll().ReadsFleet(), t.Reads.OrAll().ReadsVars(), desired.MayShare(t.Template)}
	}
	v.fleet = sync.OnceValue(func() *template.Fleet {
		all := make([]template.Facts, 0, len(r.Devices))
		for id, d := range r.Devices {
			all = append(all, template.FactsOf(d, v.known(id).Version))
		}
		return template.NewFleet(all)
	})
	v.labels = sync.OnceValue(func() (sum uint64) {
		for id, d := range r.Devices {
			sum += e.sum(string(id), d.Label) // whatever the order
		}
		return sum
	})
	return v
}

// facts of one registered device, by what is known of its daemon.
func (v *view) facts(id fleet.DeviceID, known Known) template.Facts {
	d := v.registry.Devices[id]
	if d == nil {
		return template.Facts{}
	}
	facts := template.FactsOf(d, known.Version)
	facts.Vars = v.registry.VarsOf(id)
	return facts
}

// label is that of a registered device.
func (v *view) label(id fleet.DeviceID) (label string, registered bool) {
	d := v.registry.Devices[id]
	if d == nil {
		return "", false
	}
	return d.Label, true
}

// fleetFor is what a template may see of other devices; nil for one that does not read them.
func (v *view) fleetFor(t fleet.Template) *template.Fleet {
	if t.Reads.OrAll().ReadsFleet() {
		return v.fleet()
	}
	return nil
}

// fingerprint of what a device is planned from.
func (e *Engine) fingerprint(v *view, id fleet.DeviceID, mode fleet.Mode, known Known, roots []string) fingerprint {
	var h maphash.Hash
	h.SetSeed(e.seed)
	readsFleet, readsVars, mayShare := false, false, false
	for t := range v.registry.Applying(id) {
		known := v.templates[t.ID]
		maphash.WriteComparable(&h, known.sum)
		readsFleet, mayShare = readsFleet || known.readsFleet, mayShare || known.mayShare
		readsVars = readsVars || known.readsVars
	}
	print := fingerprint{templates: h.Sum64()}
	others, labels := "", uint64(0)
	if readsFleet {
		others = v.fleet().Digest()
	}
	if mayShare {
		labels = v.labels()
	}
	own, paths := v.facts(id, known), known.System
	if !readsVars {
		own.Vars = ""
	}
	facts, byAdmins := own.AppendDigest(nil, fleet.AllFacts), !readsVars || v.registry.VarsByAdmins(id)
	print.inputs = e.sum(print.templates, string(facts), byAdmins, others, labels, string(mode), known.Online,
		known.Address, known.ByAgent, known.AddressFixed, known.TooOld, texts(roots), paths.OS,
		paths.PathSeparator, paths.Tilde, texts(paths.Directories))
	return print
}

// sum is a digest of comparable values. It holds in this process only.
func (e *Engine) sum(parts ...any) uint64 {
	var h maphash.Hash
	h.SetSeed(e.seed)
	for _, part := range parts {
		maphash.WriteComparable(&h, part)
	}
	return h.Sum64()
}

// texts makes one text of several. None of them holds a NUL.
func texts(all []string) string { return strings.Join(all, "\x00") }

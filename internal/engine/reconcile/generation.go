package reconcile

import (
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"muster/internal/core/desired"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// generation is a registry in the form that templates see. One is made for all devices admitted to that registry. The
// parts that need a walk through the whole fleet are made when a template first needs them.
type generation struct {
	registry  *fleet.Registry
	known     func(fleet.DeviceID) Known
	templates map[int64]templateSum
	fleet     func() *template.Fleet // the devices as templates see them; made once
	peers     func() *template.Fleet // the same with vars and addresses, for the templates that read them; made once
	peersSum  func() string          // digest of peers and of whether admins saved all vars; made once
	labels    func() uint64          // digest of which devices are registered, with labels and addresses; made once
}

type templateSum struct {
	sum        uint64
	readsFleet bool
	readsVars  bool
	readsPeers bool
	mayShare   bool
}

// fingerprint identifies everything from which a device is planned, except its document. Two passes with equal
// fingerprints have the same inputs.
type fingerprint struct {
	templates uint64 // digest of the templates that apply
	inputs    uint64 // digest of all inputs except the observed document
	revoked   uint64 // digest of the devices that are revoked
	folders   string // errors of the folders that Muster wrote to
}

// generationOf returns the generation to which a device is admitted. current is the present registry. A device that
// current lacks gets the generation of current.
func (e *Engine) generationOf(ctx context.Context, id fleet.DeviceID, current *fleet.Registry) (*generation, error) {
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
	if e.generationsOf != current { // The registry changed: nobody needs generations of the former one.
		clear(e.generations)
		e.generationsOf = current
	}
	g := e.generations[registry]
	if g == nil {
		g = e.newGeneration(registry)
		e.generations[registry] = g
	}
	return g, nil
}

func (e *Engine) newGeneration(r *fleet.Registry) *generation {
	g := &generation{registry: r, known: e.o.Daemon.Known, templates: make(map[int64]templateSum, len(r.Templates))}
	for _, t := range r.Templates {
		g.templates[t.ID] = templateSum{e.sum(t.ID, t.Priority, string(t.Op), t.Key, t.Text, string(t.SavedRole)),
			t.Reads.OrAll().ReadsFleet(), t.Reads.OrAll().ReadsVars(), t.Reads.OrAll().Peers, desired.MayShare(t.Template)}
	}
	version := func(id fleet.DeviceID) fleet.Version { return g.known(id).Version }
	g.fleet = sync.OnceValue(func() *template.Fleet { return template.FleetOf(r, version, false) })
	g.peers = sync.OnceValue(func() *template.Fleet { return template.FleetOf(r, version, true) })
	g.peersSum = sync.OnceValue(func() string { return fmt.Sprint(g.peers().Digest(), r.AllVarsByAdmins()) })
	g.labels = sync.OnceValue(func() (sum uint64) {
		for id, d := range r.Devices {
			sum += e.sum(string(id), d.Label, d.APIAddress) // The digests are added up, because the order of a map is random.
		}
		return sum
	})
	return g
}

// facts returns the facts of one registered device that templates may read. known is the state of its daemon. The
// facts of a device that is not registered are empty.
func (g *generation) facts(id fleet.DeviceID, known Known) template.Facts {
	d := g.registry.Devices[id]
	if d == nil {
		return template.Facts{}
	}
	facts := template.FactsOf(d, known.Version)
	facts.Vars = g.registry.VarsOf(id)
	return facts
}

// label returns the label of a registered device.
func (g *generation) label(id fleet.DeviceID) (label string, registered bool) {
	d := g.registry.Devices[id]
	if d == nil {
		return "", false
	}
	return d.Label, true
}

// fleetFor returns what template t may read of other devices; nil if t does not read them.
func (g *generation) fleetFor(t fleet.Template) *template.Fleet {
	switch reads := t.Reads.OrAll(); {
	case reads.Peers:
		return g.peers()
	case reads.ReadsFleet():
		return g.fleet()
	}
	return nil
}

// fleetOf is fleetFor for a template whose inputs may be unknown.
func (g *generation) fleetOf(t fleet.Template) *template.Fleet {
	if t.Reads.Peers {
		return g.peers()
	}
	return g.fleet()
}

// fingerprint returns the fingerprint of a device in a generation.
func (e *Engine) fingerprint(
	g *generation,
	id fleet.DeviceID,
	mode fleet.Mode,
	known Known,
	reach string,
) fingerprint {
	var h maphash.Hash
	h.SetSeed(e.seed)
	readsFleet, readsVars, readsPeers, mayShare := false, false, false, false
	for t := range g.registry.Applying(id) {
		known := g.templates[t.ID]
		maphash.WriteComparable(&h, known.sum)
		readsFleet, mayShare = readsFleet || known.readsFleet, mayShare || known.mayShare
		readsVars, readsPeers = readsVars || known.readsVars, readsPeers || known.readsPeers
	}
	print := fingerprint{templates: h.Sum64()}
	others, labels := "", uint64(0)
	if readsFleet {
		others = g.fleet().Digest()
	}
	if readsPeers {
		others += g.peersSum()
	}
	if mayShare {
		labels = g.labels()
	}
	own, paths := g.facts(id, known), known.System
	if !readsVars {
		own.Vars = ""
	}
	facts, byAdmins := own.AppendDigest(nil, fleet.AllFacts), !readsVars || g.registry.VarsByAdmins(id)
	print.inputs = e.sum(print.templates, string(facts), byAdmins, others, labels, string(mode), known.Online,
		known.Address, known.ByAgent, known.AddressFixed, known.TooOld, reach, paths.OS,
		paths.PathSeparator, paths.Tilde, texts(paths.Directories))
	return print
}

// sum returns a digest of comparable values. Only digests of the same process can be compared.
func (e *Engine) sum(parts ...any) uint64 {
	var h maphash.Hash
	h.SetSeed(e.seed)
	for _, part := range parts {
		maphash.WriteComparable(&h, part)
	}
	return h.Sum64()
}

// reachOf returns, as one text to compare, the settings of a device that apply at once, no matter to which generation
// the device is admitted: its folder roots, the keys that authors may set, and the revoked devices.
func reachOf(r *fleet.Registry, id fleet.DeviceID) string {
	reach := texts(r.RootsOf(id)) + "\x00\x00" + texts(r.AuthorKeysOf(id))
	all := []string{reach}
	for _, other := range r.RevokedOn(id) {
		all = append(all, string(other)+" "+r.Revocations[other].Since())
	}
	return texts(all)
}

// sumOfRevoked returns a digest of the devices that a device's daemon may not have.
func (e *Engine) sumOfRevoked(r *fleet.Registry, id fleet.DeviceID) uint64 {
	revoked := r.RevokedOn(id)
	if len(revoked) == 0 {
		return 0
	}
	return e.sum(fmt.Sprint(revoked))
}

// texts makes one text of several, which do not contain NUL.
func texts(all []string) string { return strings.Join(all, "\x00") }

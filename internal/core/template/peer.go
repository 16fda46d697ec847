package template

import (
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"muster/internal/fleet"
)

// Peer is what a program can read of another device beside its facts. Only programs whose inputs have Peers get it.
type Peer struct {
	Vars      fleet.Vars `json:"vars,omitempty"`
	Addresses []string   `json:"addresses,omitempty"` // addresses for syncing, as in a daemon's list of devices
}

// maxPeerBytes limits the vars and addresses of all devices together, since each worker keeps them in its memory.
const maxPeerBytes = 4 << 20

var peerNames = append(slices.Clone(factNames), "vars", "addresses")

// FleetOf returns the devices of a registry as programs read them; with their vars and addresses where `peers` is true
// and they are not too large together. version returns the version of a daemon, or zero if it is not known.
func FleetOf(r *fleet.Registry, version func(fleet.DeviceID) fleet.Version, peers bool) *Fleet {
	all := make([]Facts, 0, len(r.Devices))
	size := 0
	for id, d := range r.Devices {
		facts := FactsOf(d, version(id))
		if peers {
			facts.Peer = &Peer{r.VarsOf(id), r.AddressesOf(id)}
			size += facts.Peer.bytes()
		}
		all = append(all, facts)
	}
	if size > maxPeerBytes {
		for i := range all {
			all[i].Peer = nil
		}
	}
	return NewFleet(all)
}

func (p *Peer) bytes() int {
	if p == nil {
		return 0
	}
	n := len(p.Vars)
	for _, address := range p.Addresses {
		n += len(address)
	}
	return n
}

// PeerBytes returns the size of the vars and addresses of all devices.
func (f *Fleet) PeerBytes() (n int64) {
	for _, d := range f.Devices() {
		n += int64(d.Peer.bytes())
	}
	return n
}

func (p *Peer) appendDigest(b []byte) []byte {
	if p == nil {
		return b
	}
	b = appendText(append(b, "peer"...), string(p.Vars))
	for _, address := range p.Addresses {
		b = appendText(append(b, '@'), address)
	}
	return b
}

func addressList(addresses []string) *starlark.List {
	values := make([]starlark.Value, len(addresses))
	for i, address := range addresses {
		values[i] = starlark.String(address)
	}
	return frozenList(values)
}

const noPeers = "the vars and addresses of another device cannot be read here: write d.vars and d.addresses as such, " +
	"save the template again, and keep the vars of all devices below 4 MiB together"

// namesPeer reports whether a node is d.vars, d["vars"] or getattr(d, "vars"), of whatever d; addresses likewise.
func namesPeer(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.DotExpr:
		return isPeerName(n.Name.Name)
	case *syntax.IndexExpr:
		return isPeerText(n.Y)
	case *syntax.CallExpr:
		called, _ := n.Fn.(*syntax.Ident)
		return called != nil && called.Name == "getattr" && slices.ContainsFunc(n.Args, isPeerText)
	}
	return false
}

func isPeerText(expr syntax.Expr) bool {
	literal, ok := expr.(*syntax.Literal)
	if !ok {
		return false
	}
	name, _ := literal.Value.(string)
	return isPeerName(name)
}

func isPeerName(name string) bool { return name == "vars" || name == "addresses" }

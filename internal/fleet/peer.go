package fleet

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// addressesVar is the var that says at which addresses other devices reach a device for syncing.
const addressesVar = "addresses"

// AddressesOf returns the addresses at which other devices can reach a device for syncing: those of its var
// `addresses`, a text or a list of texts, else the host at which Muster calls its daemon, with Syncthing's own port.
// It returns nil where neither is known: a daemon that is called on its own machine says nothing of its network.
func (r *Registry) AddressesOf(id DeviceID) []string {
	for name, is := range r.EffectiveVars(id) {
		if strings.EqualFold(name, addressesVar) {
			return textsOf(is.Value)
		}
	}
	d := r.Devices[id]
	if d == nil || d.APIAddress == "" || strings.EqualFold(d.APIAddress, "localhost") {
		return nil
	}
	host := strings.Trim(d.APIAddress, "[]")
	if ip, err := netip.ParseAddr(host); err == nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return nil
	}
	return []string{"tcp://" + net.JoinHostPort(host, "22000")}
}

// textsOf reads a text or a list of texts; anything else is nil.
func textsOf(value json.RawMessage) []string {
	var one string
	if json.Unmarshal(value, &one) == nil && one != "" {
		return []string{one}
	}
	var all []string
	if json.Unmarshal(value, &all) != nil {
		return nil
	}
	return all
}

// AllVarsByAdmins reports whether admins saved all vars of all devices and tags.
func (r *Registry) AllVarsByAdmins() bool { return len(r.AllOthersVars(1)) == 0 }

// AllOthersVars names owners of vars, at most as many as asked for, that somebody below admin saved.
func (r *Registry) AllOthersVars(most int) (named []string) {
	for tag, saved := range r.TagVars {
		if saved.byOthers() && len(named) < most {
			named = append(named, fmt.Sprintf("those of %s", VarsOwner{Tag: tag}))
		}
	}
	for id, d := range r.Devices {
		if d.Vars.byOthers() && len(named) < most {
			named = append(named, fmt.Sprintf("those of %s", VarsOwner{Device: id}))
		}
	}
	return named
}

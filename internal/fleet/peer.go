package fleet

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"
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
func (r *Registry) AllVarsByAdmins() bool {
	for _, saved := range r.TagVars {
		if saved.byOthers() {
			return false
		}
	}
	for _, d := range r.Devices {
		if d.Vars.byOthers() {
			return false
		}
	}
	return true
}

// AllOthersVars names the owners of vars that somebody below admin saved: the first ones, and how many more there are.
func (r *Registry) AllOthersVars() (named []string) {
	for tag, saved := range r.TagVars {
		if saved.byOthers() {
			named = append(named, fmt.Sprintf("those of %s", VarsOwner{Tag: tag}))
		}
	}
	for id, d := range r.Devices {
		if d.Vars.byOthers() {
			named = append(named, fmt.Sprintf("those of %s", VarsOwner{Device: id}))
		}
	}
	slices.Sort(named) // The order of a map would make another reason of each plan.
	if more := len(named) - maxVarsNamed; more > 0 {
		named = append(named[:maxVarsNamed], fmt.Sprintf("%d more", more))
	}
	return named
}

package plan

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"muster/internal/core/stconfig"
)

// accessKeys are the fields of `gui` that decide how a daemon's API is reached.
var accessKeys = []string{"address", "useTLS", "apiKey"}

// MayMoveAccess reports whether a template with this key may change how the daemon's API is reached.
func MayMoveAccess(key stconfig.Key) bool {
	names := func(i int, name string) bool {
		return key.Len() <= i || key.At(i).Name == "*" || strings.EqualFold(key.At(i).Name, name)
	}
	return names(0, "gui") && slices.ContainsFunc(accessKeys, func(name string) bool { return names(1, name) })
}

// SetsAccess reports whether a template with this key and this value changes how the daemon's API is reached. It is
// only for keys for which MayMoveAccess is true.
func SetsAccess(key stconfig.Key, value stconfig.Value) bool {
	switch key.Len() {
	case 0:
		value = value.Get("gui")
	case 1:
	default:
		return true
	}
	return slices.ContainsFunc(accessKeys, func(name string) bool { return value.Get(name).Exists() })
}

// whyUnreachable returns why Muster could not reach the daemon's API at the address to which p, a change of
// gui.address, sets it; "" if Muster could reach it.
func whyUnreachable(g guard, p place) string {
	if g.facts.AddressFixed {
		return "the address of the daemon's API is set on its command line: the configuration cannot move it"
	}
	host, port, err := net.SplitHostPort(strings.TrimSpace(p.to.Str()))
	was := APIPort(g.observed.Get("gui").Get("address").Str())
	is := APIPort(p.to.Str())
	switch {
	case p.to.Kind() != stconfig.String || err != nil || is == 0:
		return "this is not an address of the form HOST:PORT on which Muster could reach the daemon"
	case is != was && !g.facts.ByAgent && was != g.facts.APIPort:
		return fmt.Sprintf("Muster reaches the daemon at port %d, and its API listens at %d: something in between "+
			"forwards the port, "+
			"and Muster could not follow it to another", g.facts.APIPort, was)
	case listensThere(listeners(g.observed), host, port) || listensThere(listeners(p.after), host, port):
		return "the daemon listens for other devices there: its API could not"
	case !g.reaches(host):
		if g.facts.ByAgent {
			return "the daemon is reached by the agent on its machine: use a loopback address or a wildcard"
		}
		return "Muster reaches the daemon at another host: use that one or a wildcard"
	}
	return ""
}

// APIPort returns the port of a GUI address, or 0 where it has none. Only digits count, although a daemon also accepts
// the name of a service there.
func APIPort(address string) int {
	_, text, err := net.SplitHostPort(strings.TrimSpace(address))
	port, notANumber := strconv.ParseUint(text, 10, 16)
	if err != nil || notANumber != nil {
		return 0
	}
	return int(port)
}

// reaches reports whether Muster, which now uses the address in g.facts, can reach an API that listens on host.
func (g guard) reaches(host string) bool {
	used, usedErr := netip.ParseAddr(strings.Trim(g.facts.APIAddress, "[]"))
	listens, err := netip.ParseAddr(host)
	switch {
	case host == "":
		return true
	case g.facts.ByAgent:
		return strings.EqualFold(host, "localhost") || err == nil && (listens.IsUnspecified() || listens.IsLoopback())
	case err != nil:
		return g.facts.APIAddress != "" && strings.EqualFold(host, g.facts.APIAddress)
	case listens.IsUnspecified():
		return listens.Is6() || usedErr != nil || used.Unmap().Is4()
	}
	return usedErr == nil && listens.Unmap() == used.Unmap()
}

// takesAPIPort reports whether a value of listenAddresses makes the daemon listen for other devices at the port of its
// API. While the daemon runs, its API keeps the port. At its next start the daemon listens for devices first, so the
// API fails and the daemon ends (seen on 1.19.2).
func takesAPIPort(g guard, p place) bool {
	for _, doc := range []stconfig.Value{g.observed, p.after} {
		host, port, err := net.SplitHostPort(strings.TrimSpace(doc.Get("gui").Get("address").Str()))
		if g.facts.AddressFixed || err != nil { // The command line, not the document, decides where the API listens.
			host, port = "", strconv.Itoa(g.facts.APIPort)
		}
		if listensThere(p.to, host, port) {
			return true
		}
	}
	return false
}

func listeners(doc stconfig.Value) stconfig.Value { return doc.Get("options").Get("listenAddresses") }

// defaultListener is the TCP address that `default` means in listenAddresses.
const defaultListener = "tcp://0.0.0.0:22000"

// listensThere reports whether one of addresses, a value of listenAddresses, occupies this TCP port on this host. A
// host that is not an IP address counts as every host.
func listensThere(addresses stconfig.Value, host, port string) bool {
	for address := range addresses.Values() {
		text := strings.ToLower(strings.TrimSpace(address.Str()))
		if text == "default" {
			text = defaultListener
		}
		listener, err := url.Parse(text)
		if err == nil && strings.HasPrefix(listener.Scheme, "tcp") && listener.Port() == port &&
			overlap(listener.Hostname(), host) {
			return true
		}
	}
	return false
}

func overlap(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX != nil || errY != nil || x.IsUnspecified() || y.IsUnspecified() || x.Unmap() == y.Unmap()
}

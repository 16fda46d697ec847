package plan

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"muster/internal/stconfig"
)

// What the guard knows about reaching a daemon's API.

// whyOutOfReach says why Muster could not reach the API at a new address, "" when it could.
func whyOutOfReach(g guard, p place) string {
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

// APIPort is the port of a GUI address, 0 where it has none. It is written in digits: a daemon would also take the
// name of a service.
func APIPort(address string) int {
	_, text, err := net.SplitHostPort(strings.TrimSpace(address))
	port, notANumber := strconv.ParseUint(text, 10, 16)
	if err != nil || notANumber != nil {
		return 0
	}
	return int(port)
}

// reaches tells whether an API that listens on host can be reached at the address that Muster uses.
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

// takesAPIPort tells whether one of the places where the daemon would listen for other devices is that of its API. As
// long as it runs the API keeps the port; at the next start the API is second, and a daemon without its API ends (seen
// on 1.19.2).
func takesAPIPort(g guard, p place) bool {
	for _, doc := range []stconfig.Value{g.observed, p.after} {
		host, port, err := net.SplitHostPort(strings.TrimSpace(doc.Get("gui").Get("address").Str()))
		if g.facts.AddressFixed || err != nil { // where the API listens is said elsewhere
			host, port = "", strconv.Itoa(g.facts.APIPort)
		}
		if listensThere(p.to, host, port) {
			return true
		}
	}
	return false
}

func listeners(doc stconfig.Value) stconfig.Value { return doc.Get("options").Get("listenAddresses") }

// defaultListener is what `default` among listenAddresses stands for, as far as TCP goes.
const defaultListener = "tcp://0.0.0.0:22000"

// listensThere tells whether any of listenAddresses takes a TCP port at a host; a host that is no address is any.
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

package discovery

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

const (
	maxAddressBytes  = 300
	maxAddresses     = 64 // that are looked at, of one answer
	maxHosts         = 8  // that are kept, of one answer
	maxSyncAddresses = 16 // that go with one candidate
	defaultSyncPort  = 22000
)

// syncAddress is a usable address of the sync protocol, where a device says that it listens.
type syncAddress struct {
	scheme string
	host   string // IP or lower-case name
	port   int
}

func (a syncAddress) String() string {
	host := strings.Replace(a.host, "%", "%25", 1) // the zone of a link-local address, as URLs have it
	return a.scheme + "://" + net.JoinHostPort(host, strconv.Itoa(a.port))
}

// parseAddress takes an announced address apart. refused says why it is of no use, for a person. An address without
// host, or with an unspecified one, means the announcement's sender: that is source, if it is known.
func parseAddress(text string, source netip.Addr, allowLocal bool) (address syncAddress, refused string) {
	if len(text) > maxAddressBytes || !printable(text) {
		return syncAddress{}, "not an address"
	}
	u, err := url.Parse(text)
	if err != nil {
		return syncAddress{}, "not an address"
	}
	switch u.Scheme {
	case "tcp", "tcp4", "tcp6", "quic":
	case "relay":
		return syncAddress{}, "a relay, not the device"
	default:
		return syncAddress{}, "of a kind that leads to no daemon"
	}
	if u.User != nil || u.Opaque != "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return syncAddress{}, "not an address"
	}
	port := defaultSyncPort
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return syncAddress{}, "without a usable port"
		}
	}
	host, refused := parseHost(u.Hostname(), u.Scheme, source, allowLocal)
	if refused != "" {
		return syncAddress{}, refused
	}
	return syncAddress{u.Scheme, host, port}, ""
}

func parseHost(host, scheme string, source netip.Addr, allowLocal bool) (string, string) {
	ip, err := netip.ParseAddr(host)
	if host == "" || err == nil && ip.IsUnspecified() {
		if !source.IsValid() {
			return "", "without a host"
		}
		ip, err = source, nil
	}
	if err != nil {
		return parseName(host, allowLocal)
	}
	ip = ip.Unmap()
	if why := refuseIP(ip, allowLocal); why != "" {
		return "", why
	}
	if scheme == "tcp4" && !ip.Is4() || scheme == "tcp6" && ip.Is4() {
		return "", "of another IP version than it says"
	}
	return ip.String(), ""
}

// parseName lets a host name pass. Where it leads is seen when it is resolved: AllowedIP.
func parseName(name string, allowLocal bool) (string, string) {
	if fleet.ValidateAddress(name) != nil {
		return "", "without a usable host"
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	if numeric(last) { // some resolvers read 127.1, 0x7f.1 and 2130706433 as an IP
		return "", "without a usable host"
	}
	if !allowLocal && last == "localhost" {
		return "", "on loopback"
	}
	return name, ""
}

func numeric(label string) bool {
	_, err := strconv.ParseUint(label, 0, 64) // decimal, 0x, 0, 0b, 0o
	if err == nil {
		return true
	}
	return strings.Trim(label, "0123456789") == ""
}

func printable(text string) bool {
	for i := range len(text) {
		if text[i] <= 0x20 || text[i] > 0x7e {
			return false
		}
	}
	return text != ""
}

var (
	thisNetwork    = netip.MustParsePrefix("0.0.0.0/8")
	reserved       = netip.MustParsePrefix("240.0.0.0/4") // the broadcast address too
	compatible     = netip.MustParsePrefix("::/96")       // an IPv4 address in the deprecated form
	translated     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour      = netip.MustParsePrefix("2002::/16")
	embeddedInLast = 12 // byte at which compatible and translated hold their IPv4 address
	embeddedIn6to4 = 2
)

// refuseIP says why a device cannot be at an IP, "" when it can. Unspecified and multicast addresses are never a device,
// loopback and link-local ones (the metadata services of clouds among them) only where local ones are allowed.
func refuseIP(ip netip.Addr, allowLocal bool) string {
	ip = ip.Unmap()
	switch {
	case !ip.IsValid():
		return "no address"
	case ip.Zone() != "" && (!allowLocal || !ip.IsLinkLocalUnicast() || !printable(ip.Zone()) || strings.ContainsAny(ip.Zone(), "%/?#[]@:")):
		return "link-local"
	case ip.IsUnspecified() || ip.IsMulticast() || thisNetwork.Contains(ip) || reserved.Contains(ip):
		return "no address of a single host"
	case ip.IsLoopback():
		return unlessLocal("on loopback", allowLocal)
	case ip.IsLinkLocalUnicast():
		return unlessLocal("link-local", allowLocal)
	}
	if inner, ok := embedded(ip); ok {
		return refuseIP(inner, allowLocal)
	}
	return ""
}

func unlessLocal(why string, allowLocal bool) string {
	if allowLocal {
		return ""
	}
	return why
}

// embedded is the IPv4 address that a gateway takes out of some IPv6 addresses.
func embedded(ip netip.Addr) (netip.Addr, bool) {
	at := embeddedInLast
	switch {
	case sixToFour.Contains(ip):
		at = embeddedIn6to4
	case !compatible.Contains(ip) && !translated.Contains(ip):
		return netip.Addr{}, false
	}
	bytes := ip.As16()
	return netip.AddrFrom4([4]byte(bytes[at : at+4])), true
}

// parseAddresses keeps the usable ones of a list, without repetition. refused is why the first unusable one is.
func parseAddresses(texts []string, source netip.Addr, allowLocal bool) (usable []syncAddress, refused string) {
	hosts := map[string]int{}
	for _, text := range texts[:min(len(texts), maxAddresses)] {
		a, why := parseAddress(text, source, allowLocal)
		if why != "" {
			if refused == "" {
				refused = why
			}
			continue
		}
		if hosts[a.host] == 0 && len(hosts) == maxHosts || contains(usable, a) {
			continue
		}
		hosts[a.host]++
		if len(usable) < maxSyncAddresses {
			usable = append(usable, a)
		}
	}
	return usable, refused
}

func contains(all []syncAddress, a syncAddress) bool {
	for _, other := range all {
		if other == a {
			return true
		}
	}
	return false
}

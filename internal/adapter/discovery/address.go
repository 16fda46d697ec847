package discovery

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

const (
	maxAddressBytes  = 300
	maxAddresses     = 64 // addresses in one answer that are looked at
	maxHosts         = 8  // hosts in one answer that are kept
	maxSyncAddresses = 16 // addresses that go with one candidate
	defaultSyncPort  = 22000
)

// syncAddress is a usable address of the sync protocol, at which a device claims to listen.
type syncAddress struct {
	scheme string
	host   string // IP or lower-case name
	port   int
}

func (a syncAddress) String() string {
	host := strings.Replace(a.host, "%", "%25", 1) // escapes the zone of a link-local address, as URLs have it
	return a.scheme + "://" + net.JoinHostPort(host, strconv.Itoa(a.port))
}

// parseAddress takes an announced address apart. refused tells a person why it is of no use. An address without a
// host, or with an unspecified one, means the sender of the announcement: that is source, if it is known.
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
	if u.User != nil || u.Opaque != "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery ||
		u.Fragment != "" {
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
	if why := RefuseIP(ip, allowLocal); why != "" {
		return "", why
	}
	if scheme == "tcp4" && !ip.Is4() || scheme == "tcp6" && ip.Is4() {
		return "", "of another IP version than it says"
	}
	return ip.String(), ""
}

// parseName checks the form of a host name. To which IP it leads is checked when it is dialled: see Control.
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
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	reserved    = netip.MustParsePrefix("240.0.0.0/4")    // the broadcast address too
	siteLocal   = netip.MustParsePrefix("fec0::/10")      // deprecated: another network on each interface
	localNAT64  = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215: its IPv4 address may be anywhere in it
	teredo      = netip.MustParsePrefix("2001::/32")      // ends in an inverted IPv4 address
	sixToFour   = netip.MustParsePrefix("2002::/16")      // has an IPv4 address at byte 2
	lastFour    = []netip.Prefix{                         // networks whose addresses end in an IPv4 address
		netip.MustParsePrefix("::/96"),           // deprecated
		netip.MustParsePrefix("::ffff:0:0:0/96"), // RFC 2765
		netip.MustParsePrefix("64:ff9b::/96"),    // NAT64
	}
	// metadata are the addresses of services by which clouds give credentials to their machines.
	metadata = []netip.Addr{
		netip.MustParseAddr("169.254.169.254"), // most clouds
		netip.MustParseAddr("100.100.100.200"), // Alibaba
		netip.MustParseAddr("168.63.129.16"),   // Azure
		netip.MustParseAddr("192.0.0.192"),     // Oracle
		netip.MustParseAddr("fd00:ec2::254"),   // Amazon
		netip.MustParseAddr("fd20:ce::254"),    // Google
	}
)

// RefuseIP tells why a device cannot be at an IP, "" when it can. Unspecified and multicast addresses and the
// metadata services of clouds are never those of a device. Loopback and link-local addresses may be only where
// allowLocal is true.
func RefuseIP(ip netip.Addr, allowLocal bool) string {
	ip = ip.Unmap()
	switch {
	case !ip.IsValid():
		return "no address"
	case ip.Zone() != "" && (!allowLocal || !ip.IsLinkLocalUnicast() || !printable(ip.Zone()) ||
		strings.ContainsAny(ip.Zone(), "%/?#[]@:")):
		return "link-local"
	case ip.IsUnspecified() || ip.IsMulticast() || thisNetwork.Contains(ip) || reserved.Contains(ip):
		return "no address of a single host"
	case siteLocal.Contains(ip) || localNAT64.Contains(ip):
		return "an address that leads somewhere else in each network"
	case slices.Contains(metadata, ip):
		return "a cloud's metadata service"
	case ip.IsLoopback():
		return unlessLocal("on loopback", allowLocal)
	case ip.IsLinkLocalUnicast():
		return unlessLocal("link-local", allowLocal)
	}
	if inner, ok := embedded(ip); ok {
		return RefuseIP(inner, allowLocal)
	}
	return ""
}

func unlessLocal(why string, allowLocal bool) string {
	if allowLocal {
		return ""
	}
	return why
}

// embedded returns the IPv4 address that a gateway takes out of an IPv6 address, if the address is one of those.
func embedded(ip netip.Addr) (netip.Addr, bool) {
	bytes := ip.As16()
	inner := [4]byte(bytes[12:])
	switch {
	case sixToFour.Contains(ip):
		inner = [4]byte(bytes[2:6])
	case teredo.Contains(ip):
		for i := range inner {
			inner[i] ^= 0xff
		}
	case bytes[10] == 0x5e && bytes[11] == 0xfe && bytes[9] == 0 && bytes[8]&^0x02 == 0: // ISATAP
	case !slices.ContainsFunc(lastFour, func(p netip.Prefix) bool { return p.Contains(ip) }):
		return netip.Addr{}, false
	}
	return netip.AddrFrom4(inner), true
}

// isOwn reports whether an address is that of one of Muster's own listeners, which may listen on all addresses of this
// machine.
func isOwn(at netip.AddrPort, listener net.Addr) bool {
	own, err := netip.ParseAddrPort(listener.String())
	if err != nil || own.Port() != at.Port() {
		return false
	}
	ip := at.Addr().Unmap().WithZone("")
	if !own.Addr().IsUnspecified() {
		return own.Addr().Unmap().WithZone("") == ip
	}
	if ip.IsLoopback() {
		return true
	}
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap() == ip
	})
}

// parseAddresses returns the usable addresses of a list, without repetition. refused tells why the first unusable one
// is unusable.
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

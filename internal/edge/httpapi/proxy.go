package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// fromClient puts the address of the client in the place of a trusted proxy's. Each proxy adds at the end of
// X-Forwarded-For whom it got the request from: the last address there that is no trusted proxy is the client. What is
// before it the client may have made up.
func (s *server) fromClient(r *http.Request) *http.Request {
	at, ok := parseHop(r.RemoteAddr)
	if !ok || !s.trusts(at) {
		return r
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		before, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			break
		}
		if at = before; !s.trusts(at) {
			break
		}
	}
	moved := *r
	moved.RemoteAddr = netip.AddrPortFrom(at, 0).String()
	return &moved
}

func (s *server) trusts(at netip.Addr) bool {
	return slices.ContainsFunc(s.options.Web.TrustedProxies, func(proxy netip.Prefix) bool { return proxy.Contains(at) })
}

// parseHop takes an address with or without a port.
func parseHop(text string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		with, withErr := netip.ParseAddrPort(text)
		ip, err = with.Addr(), withErr
	}
	return ip.Unmap().WithZone(""), err == nil
}

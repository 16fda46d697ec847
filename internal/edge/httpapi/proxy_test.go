package httpapi

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestOnlyTrustedProxiesSayWhereARequestIsFrom(t *testing.T) {
	s := &server{options: Options{Web: Web{TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32"),
	}}}}
	for _, test := range []struct{ from, forwarded, want string }{
		{"198.51.100.1:1234", "192.0.2.7", "198.51.100.1:1234"}, // no proxy: it may say what it likes
		{"127.0.0.1:1234", "", "127.0.0.1:0"},
		{"127.0.0.1:1234", "192.0.2.7", "192.0.2.7:0"},
		{"[::ffff:127.0.0.1]:1234", "192.0.2.7", "192.0.2.7:0"},
		{"127.0.0.1:1234", "203.0.113.9, 192.0.2.7", "192.0.2.7:0"}, // the client made the first one up
		{"127.0.0.1:1234", "203.0.113.9, 192.0.2.7, 127.0.0.2", "192.0.2.7:0"},
		{"127.0.0.1:1234", "192.0.2.7\n[2001:db8::1]:443", "192.0.2.7:0"}, // two proxies, a header each
		{"127.0.0.1:1234", "2001:db9::7", "[2001:db9::7]:0"},
		{"127.0.0.1:1234", "192.0.2.7:5678", "192.0.2.7:0"},
		{"127.0.0.1:1234", "192.0.2.7, unknown", "127.0.0.1:0"}, // nothing before what is not understood counts
		{"@", "192.0.2.7", "@"},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
		r.RemoteAddr = test.from
		for header := range strings.Lines(test.forwarded) {
			r.Header.Add("X-Forwarded-For", strings.TrimSpace(header))
		}
		if got := s.fromClient(r).RemoteAddr; got != test.want || r.RemoteAddr != test.from {
			t.Errorf("%s with %q: got %s, want %s", test.from, test.forwarded, got, test.want)
		}
	}
}

// Behind a proxy each client has limits of its own: one that guesses does not keep the others out.
func TestClientsBehindATrustedProxyAreLimitedApart(t *testing.T) {
	w := newWorld(t).with(func(o *setup) { o.Web.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")} })
	w.user("anna", fleet.RoleViewer)
	from := func(address, name string) int {
		return w.do(call{method: http.MethodPost, path: Prefix + "/login", token: "-",
			header: http.Header{"X-Forwarded-For": {address}},
			body:   `{"userid":"` + name + `","password":"` + goodPassword + `"}`}).StatusCode
	}
	for n := range 40 { // of accounts that are not there
		from("203.0.113.9", strings.Repeat("x", n+1))
	}
	if got := from("203.0.113.9", "anna"); got != http.StatusTooManyRequests {
		t.Errorf("got %d for the one that guesses", got)
	}
	if got := from("203.0.113.10", "anna"); got != http.StatusOK {
		t.Errorf("got %d for another one", got)
	}
}

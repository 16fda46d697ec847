package discovery

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestAddressesAreTakenApart(t *testing.T) {
	for text, want := range map[string]string{
		"tcp://192.0.2.1:22001":            "tcp://192.0.2.1:22001",
		"tcp4://192.0.2.1:22001":           "tcp4://192.0.2.1:22001",
		"tcp6://[2001:DB8::1]:22001":       "tcp6://[2001:db8::1]:22001",
		"quic://192.0.2.1:22001":           "quic://192.0.2.1:22001",
		"tcp://192.0.2.1":                  "tcp://192.0.2.1:22000",
		"tcp://192.0.2.1:22001/":           "tcp://192.0.2.1:22001",
		"tcp://[::ffff:192.0.2.1]:22001":   "tcp://192.0.2.1:22001",
		"tcp://10.0.0.7:22000":             "tcp://10.0.0.7:22000",
		"tcp://[fd00::7]:22000":            "tcp://[fd00::7]:22000",
		"tcp://Home.Example.org.:22000":    "tcp://home.example.org:22000",
		"tcp://127.0.0.1.example:5":        "tcp://127.0.0.1.example:5", // a name: seen when it is resolved
		"tcp://nas:22000":                  "tcp://nas:22000",
		"tcp://[64:ff9b::192.0.2.1]:22000": "tcp://[64:ff9b::c000:201]:22000",
	} {
		a, refused := parseAddress(text, netip.Addr{}, false)
		if refused != "" || a.String() != want {
			t.Errorf("%s: got %q, refused as %q; want %q", text, a, refused, want)
		}
	}
}

func TestLocalAddressesOnlyWhereTheyAreAllowed(t *testing.T) {
	for text, want := range map[string]string{
		"tcp://127.0.0.1:22001":             "127.0.0.1",
		"tcp://localhost:22001":             "localhost",
		"tcp://[::1]:22001":                 "::1",
		"tcp://169.254.7.7:22001":           "169.254.7.7",
		"tcp://[fe80::1%25eth0]:22001":      "fe80::1%eth0",
		"tcp://[::ffff:127.0.0.1]:22001":    "127.0.0.1",
		"tcp://[64:ff9b::127.0.0.1]:22000":  "64:ff9b::7f00:1",
		"tcp://[2002:7f00:1::]:22000":       "2002:7f00:1::",
		"tcp://a.b.localhost:22000":         "a.b.localhost",
		"tcp://[2002:a9fe:a9fe::]:22000":    "2002:a9fe:a9fe::",
		"tcp://[::ffff:169.254.7.7]:22001":  "169.254.7.7",
		"tcp://127.255.255.254:22001":       "127.255.255.254",
		"tcp://[64:ff9b::169.254.1.1]:2200": "64:ff9b::a9fe:101",
	} {
		if a, refused := parseAddress(text, netip.Addr{}, false); refused == "" {
			t.Errorf("%s was taken as %s", text, a)
		}
		a, refused := parseAddress(text, netip.Addr{}, true)
		if refused != "" || a.host != want {
			t.Errorf("%s with local ones allowed: got %q, refused as %q; want %q", text, a.host, refused, want)
		}
	}
}

func TestAllowedIPIsAskedAgainWhenANameIsResolved(t *testing.T) {
	strict, _ := newDiscovery(t, Options{Servers: []string{"none"}})
	local, _ := newDiscovery(t, Options{Servers: []string{"none"}, AllowLocal: true})
	for address, want := range map[string][2]bool{ // strict, local
		"192.0.2.1:8384":              {true, true},
		"10.1.2.3:8384":               {true, true},
		"[2001:db8::1]:8384":          {true, true},
		"127.0.0.1:8384":              {false, true},
		"[::1]:8384":                  {false, true},
		"[::ffff:127.0.0.1]:8384":     {false, true},
		"169.254.169.254:8384":        {false, true},
		"[fe80::1%eth0]:8384":         {false, true},
		"0.0.0.0:8384":                {false, false},
		"[::]:8384":                   {false, false},
		"0.1.2.3:8384":                {false, false},
		"224.0.0.1:8384":              {false, false},
		"[ff02::1]:8384":              {false, false},
		"255.255.255.255:8384":        {false, false},
		"[::ffff:0.0.0.0]:8384":       {false, false},
		"[64:ff9b::224.0.0.1]:8384":   {false, false},
		"[2002:ffff:ffff::]:8384":     {false, false},
		"[64:ff9b::10.0.0.1]:8384":    {true, true},
		"[::127.0.0.1]:8384":          {false, true},
		"[2001:db8::1%eth0]:8384":     {false, false},
		"[::ffff:255.255.255.255]:80": {false, false},
	} {
		ip := netip.MustParseAddrPort(address).Addr()
		for i, d := range []*Discovery{strict, local} {
			if got := d.AllowedIP(ip); got != want[i] {
				t.Errorf("%s with local %t: allowed %t, want %t", address, d.allowLocal, got, want[i])
			}
			if err := d.Control("tcp", address, nil); (err == nil) != want[i] {
				t.Errorf("%s with local %t: control says %v", address, d.allowLocal, err)
			}
		}
	}
	if strict.AllowedIP(netip.Addr{}) || local.Control("tcp", "nowhere", nil) == nil {
		t.Error("no address at all is allowed")
	}
}

func TestTooManyAddressesOfOneAnswerAreLeftOut(t *testing.T) {
	var texts []string
	for i := range 200 {
		texts = append(texts, "tcp://192.0.2."+string(rune('0'+i%10))+":22000", "tcp://192.0.2.1:"+string(rune('1'+i%9)))
	}
	usable, _ := parseAddresses(texts, netip.Addr{}, false)
	hosts := map[string]bool{}
	for _, a := range usable {
		hosts[a.host] = true
	}
	if len(hosts) != maxHosts || len(usable) > maxSyncAddresses {
		t.Errorf("%d addresses on %d hosts", len(usable), len(hosts))
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, seed := range []string{"tcp://192.0.2.1:22000", "tcp://[fe80::1%25eth0]:1", "quic://a.b:2", "tcp://<nil>:22000", "tcp://0x7f.1:1", "tcp://a%2fb:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, local := range []bool{false, true} {
			a, refused := parseAddress(text, netip.Addr{}, local)
			if refused != "" {
				continue
			}
			again, refused := parseAddress(a.String(), netip.Addr{}, local)
			if refused != "" || again != a {
				t.Errorf("%q became %q, which became %q (refused as %q)", text, a, again, refused)
			}
			u, err := url.Parse(a.String())
			if err != nil || u.Hostname() != a.host || strings.ContainsAny(a.host, "/@?#<> ") {
				t.Errorf("%q became %q: %v", text, a, err)
			}
			if ip, err := netip.ParseAddr(a.host); err == nil && refuseIP(ip, local) != "" {
				t.Errorf("%q leads to %s", text, ip)
			}
		}
	})
}

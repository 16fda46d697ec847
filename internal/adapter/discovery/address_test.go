package discovery

import (
	"net"
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
		"tcp://[2002:a9fe:707::]:22000":     "2002:a9fe:707::",
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

func TestTheAddressThatIsDialledIsCheckedAgain(t *testing.T) {
	strict, _ := newDiscovery(t, Options{Servers: []string{"none"}})
	local, _ := newDiscovery(t, Options{Servers: []string{"none"}, AllowLocal: true})
	for address, want := range map[string][2]bool{ // strict, local
		"192.0.2.1:8384":              {true, true},
		"10.1.2.3:8384":               {true, true},
		"[2001:db8::1]:8384":          {true, true},
		"127.0.0.1:8384":              {false, true},
		"[::1]:8384":                  {false, true},
		"[::ffff:127.0.0.1]:8384":     {false, true},
		"169.254.7.7:8384":            {false, true},
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
		for i, d := range []*Discovery{strict, local} {
			if err := d.Control("tcp", address, nil); (err == nil) != want[i] {
				t.Errorf("%s with local %t: control says %v", address, d.allowLocal, err)
			}
		}
	}
	if local.Control("tcp", "nowhere", nil) == nil {
		t.Error("no address at all is allowed")
	}
}

// The services that hand credentials to machines in a cloud are no device, in no spelling, also where local addresses
// are allowed.
func TestNoDiscoveredAddressLeadsToACloudsMetadata(t *testing.T) {
	local, _ := newDiscovery(t, Options{Servers: []string{"none"}, AllowLocal: true})
	for _, host := range []string{
		"169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254",
		"::ffff:169.254.169.254", "::ffff:100.100.100.200", "::100.100.100.200", "::ffff:0:100.100.100.200",
		"64:ff9b::169.254.169.254",
		"64:ff9b::100.100.100.200", "64:ff9b:1::a9fe:a9fe", "64:ff9b:1:6464:64:c800::", "2002:6464:64c8::",
		"2002:a9fe:a9fe::1",
		"2001::5601:5601", "2001:0:1:2:3:4:9b9b:9b37", "fd00::5efe:100.100.100.200", "fd00::200:5efe:169.254.169.254",
		"fd00:ec2::254%eth0",
		"fec0::1",
	} {
		address := netip.AddrPortFrom(netip.MustParseAddr(host), 8384).String()
		if err := local.Control("tcp", address, nil); err == nil {
			t.Errorf("%s is allowed", address)
		}
		text := "tcp://[" + strings.ReplaceAll(host, "%", "%25") + "]:22000"
		if !strings.Contains(host, ":") {
			text = "tcp://" + host + ":22000"
		}
		if a, refused := parseAddress(text, netip.Addr{}, true); refused == "" {
			t.Errorf("%s was taken as %s", text, a)
		}
	}
}

func TestNoDiscoveredAddressLeadsToMusterItself(t *testing.T) {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		listens string
		refused []string
		allowed []string
	}{
		"on one address": {"127.0.0.1:2525", []string{"127.0.0.1:2525", "[::ffff:127.0.0.1]:2525"},
			[]string{"127.0.0.1:8384", "127.0.0.2:2525", "192.0.2.1:2525"}},
		"on every address": {"[::]:2525", []string{"127.0.0.1:2525", "127.9.9.9:2525", "[::1]:2525"},
			[]string{"127.0.0.1:8384", "192.0.2.1:2525"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newDiscovery(t, Options{Servers: []string{"none"}, AllowLocal: true,
				Listeners: []net.Addr{net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.9:9999")),
					net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.listens))}})
			if strings.HasPrefix(c.listens, "[::]") {
				for _, a := range interfaces {
					c.refused = append(c.refused, net.JoinHostPort(a.(*net.IPNet).IP.String(), "2525"))
				}
			}
			for _, address := range c.refused {
				if err := d.Control("tcp", address, nil); err == nil || !strings.Contains(err.Error(), "Muster itself") {
					t.Errorf("%s: %v", address, err)
				}
			}
			for _, address := range c.allowed {
				if err := d.Control("tcp", address, nil); err != nil {
					t.Errorf("%s: %v", address, err)
				}
			}
		})
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
	for _, seed := range []string{"tcp://192.0.2.1:22000", "tcp://[fe80::1%25eth0]:1", "quic://a.b:2",
		"tcp://<nil>:22000", "tcp://0x7f.1:1", "tcp://a%2fb:1"} {
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
			if ip, err := netip.ParseAddr(a.host); err == nil && RefuseIP(ip, local) != "" {
				t.Errorf("%q leads to %s", text, ip)
			}
		}
	})
}

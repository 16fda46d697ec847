package fleet

import "testing"

func TestAnAddressIsAHostNameOrAnIP(t *testing.T) {
	for _, good := range []string{"", "nas", "nas.local.", "a_b", "10.example", "xn--bcher-kva.example", "192.168.1.2",
		"::1", "fe80::1%eth0", "::ffff:10.0.0.1"} {
		if err := ValidateAddress(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		" ", "http://nas", "nas:8384", "[::1]", "nas/x", "bücher.example", "-nas", "a..b", "0.0.0.0", "::", "::ffff:0.0.0.0",
		"224.0.0.1", "ff02::1",
		"255.255.255.255", "192.168.1.256", "192.168.1", "1234", "10.0.0.1.", "192.168.1.2/24",
	} {
		if err := ValidateAddress(bad); CodeOf(err) != CodeInvalid {
			t.Errorf("%q: got %v, want invalid", bad, err)
		}
	}
}

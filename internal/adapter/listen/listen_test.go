package listen

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestListenSpeaksPlainHTTPOnLoopbackOnlyUnlessToldSo(t *testing.T) {
	for name, test := range map[string]struct {
		listen string
		off    bool
		scheme string
	}{
		"loopback":         {"127.0.0.1:0", false, "http"},
		"loopback by name": {"localhost:0", false, "http"},
		"every address":    {"0.0.0.0:0", false, "https"},
		"no host":          {":0", false, "https"},
		"behind a proxy":   {"0.0.0.0:0", true, "http"},
	} {
		t.Run(name, func(t *testing.T) {
			socket, err := Listen(Options{Home: t.TempDir(), Address: test.listen, TLSOff: test.off, Clients: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			if scheme, _, _ := strings.Cut(socket.URL, ":"); scheme != test.scheme {
				t.Errorf("got %s, want %s", socket.URL, test.scheme)
			}
			if encrypted := socket.Served() != nil; encrypted != (test.scheme == "https") {
				t.Errorf("got the certificate %+v over %s", socket.Served(), test.scheme)
			}
		})
	}
}

func TestAGeneratedCertificateIsKept(t *testing.T) {
	home := t.TempDir()
	var serials []string
	for range 2 {
		made, err := newCertificate(Options{Home: home}, "muster.example")
		if err != nil {
			t.Fatal(err)
		}
		if err := made.shown.Leaf.VerifyHostname("muster.example"); err != nil {
			t.Error(err)
		}
		serials = append(serials, made.shown.Leaf.SerialNumber.String())
	}
	if serials[0] != serials[1] {
		t.Error("a second start made another certificate: clients that trusted the first are locked out")
	}
}

// Agents know the server by its key.
func TestARenewedGeneratedCertificateKeepsItsKey(t *testing.T) {
	home := t.TempDir()
	before, err := newCertificate(Options{Home: home}, "muster.example")
	if err != nil {
		t.Fatal(err)
	}
	key, err := before.keptKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := generateCertificate(before.cert, key, []string{"muster.example"}); err != nil {
		t.Fatal(err)
	}
	after, err := newCertificate(Options{Home: home}, "muster.example")
	if err != nil {
		t.Fatal(err)
	}
	if after.shown.Leaf.Equal(before.shown.Leaf) {
		t.Fatal("the certificate was not renewed: this test shows nothing")
	}
	first, second := (&Socket{certificate: before}).KeyFingerprint(), (&Socket{certificate: after}).KeyFingerprint()
	if first == "" || first != second {
		t.Errorf("the fingerprint %s became %s", first, second)
	}
}

func TestListenExplainsWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, test := range map[string]struct {
		options Options
		code    fleet.Code
	}{
		"no port":          {Options{Address: "127.0.0.1"}, fleet.CodeInvalid},
		"port in use":      {Options{Address: taken.Addr().String()}, fleet.CodeUnavailable},
		"not our address":  {Options{Address: "192.0.2.1:0"}, fleet.CodeUnavailable},
		"port too large":   {Options{Address: "127.0.0.1:65536"}, fleet.CodeUnavailable},
		"certificate gone": {Options{Address: "127.0.0.1:0", TLSCert: "absent.pem", TLSKey: "absent.pem"}, fleet.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Listen(test.options)
			var e *fleet.Error
			if !errors.As(err, &e) || e.Code != test.code || e.Hint == "" {
				t.Errorf("got %v, want code %s and what to do", err, test.code)
			}
		})
	}
}

func TestAWildcardIsNoAddressToCall(t *testing.T) {
	socket, err := Listen(Options{Home: t.TempDir(), Address: ":0", Clients: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	address, err := url.Parse(socket.URL)
	if err != nil || address.Hostname() != "localhost" {
		t.Fatalf("got %v, %v; want localhost", address, err)
	}
	accepted := make(chan error, 1)
	go func() {
		conn, err := socket.Accept()
		if err == nil {
			err = errors.Join(conn.(*tls.Conn).HandshakeContext(t.Context()), conn.Close())
		}
		accepted <- err
	}()
	conn, err := tls.Dial("tcp", address.Host, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // looked at below
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	shown := conn.ConnectionState().PeerCertificates[0]
	for _, name := range append(addressesOf("0.0.0.0"), "localhost", "127.0.0.1") {
		if err := shown.VerifyHostname(name); err != nil {
			t.Errorf("the certificate does not name %s: %v", name, err)
		}
	}
}

// The key of the certificate lies outside of the home, and was used however open it lay.
func TestATLSKeyThatOthersMayReadIsRefused(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "own.pem")
	key, err := (&certificate{}).keptKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := generateCertificate(path, key, nil); err != nil {
		t.Fatal(err)
	}
	o := Options{TLSCert: path, TLSKey: path}
	if _, err := newCertificate(o, ""); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[fs.FileMode]string{0o604: "may read", 0o620: "may write"} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := newCertificate(o, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%o: got %v", mode, err)
		}
	}
}

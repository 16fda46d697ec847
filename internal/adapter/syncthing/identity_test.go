package syncthing

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestAnExplicitAddressIsTrustedOnFirstUseAndAskedWithoutTheKeyFirst(t *testing.T) {
	f := newFake(t, fakeOptions{})
	c := newClient(t, f.target(), Limits{})
	if _, err := c.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"GET /rest/noauth/health", "GET /rest/system/status+key", "GET /rest/system/version+key"}
	if got := f.requests(); !slices.Equal(got, want) {
		t.Fatalf("sent %v, want %v", got, want)
	}
	if c.knownPin() != f.Pin {
		t.Fatalf("pin %q, want %q", c.knownPin(), f.Pin)
	}
}

func TestThePinnedCertificateNeedsNoMoreProof(t *testing.T) {
	f := newFake(t, fakeOptions{})
	for _, introduced := range []fleet.Introduction{fleet.ByPerson, fleet.ByAnybody} {
		target := f.target()
		target.Pin, target.Introduced = f.Pin, introduced
		if _, err := newClient(t, target, Limits{}).Status(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"GET /rest/system/status+key", "GET /rest/system/status+key"}; !slices.Equal(f.requests(), want) {
		t.Fatalf("sent %v, want %v", f.requests(), want)
	}
}

func TestAnotherDaemonThatSaysSoGetsNoKey(t *testing.T) {
	f := newFake(t, fakeOptions{})
	target := f.target()
	target.Device = newFake(t, fakeOptions{}).ID
	c := newClient(t, target, Limits{})
	_, err := c.Config(t.Context())
	wantCode(t, err, fleet.CodeWrongDevice)
	wantNoKey(t, f)
	if c.knownPin() != "" {
		t.Fatalf("the certificate of another device was pinned: %s", c.knownPin())
	}
}

func TestAnotherDaemonThatSaysNothingIsAskedForItsStatusAndNothingElse(t *testing.T) {
	f := newFake(t, fakeOptions{silentID: true})
	target := f.target()
	target.Device = newFake(t, fakeOptions{}).ID
	c := newClient(t, target, Limits{})
	for _, call := range []func() error{
		func() error { _, err := c.Config(t.Context()); return err },
		func() error { return c.Write(t.Context(), "PUT", "/rest/config/options", []byte(`{}`)) },
		func() error { _, err := c.Events(t.Context(), 0, 0, 0); return err },
	} {
		wantCode(t, call(), fleet.CodeWrongDevice)
	}
	for _, r := range f.requests() {
		if r != "GET /rest/noauth/health" && r != "GET /rest/system/status+key" {
			t.Fatalf("sent %s to another device", r)
		}
	}
	if c.knownPin() != "" {
		t.Fatal("the certificate of another device was pinned")
	}
}

func TestAnUnreadableIDIsAnotherDaemon(t *testing.T) {
	f := newFake(t, fakeOptions{})
	f.handle("/rest/noauth/health", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Syncthing-Id", "<script>")
	})
	_, err := newClient(t, f.target(), Limits{}).Status(t.Context())
	wantCode(t, err, fleet.CodeWrongDevice)
	wantNoKey(t, f)
}

func TestAnIDThatChangesLaterStopsEverything(t *testing.T) {
	f, other := newFake(t, fakeOptions{}), newFake(t, fakeOptions{})
	c := newClient(t, f.target(), Limits{})
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	f.ID = other.ID
	f.mu.Unlock()
	_, err := c.Version(t.Context())
	wantCode(t, err, fleet.CodeWrongDevice)
}

func TestAnotherCertificateThanThePinnedOne(t *testing.T) {
	f, other := newFake(t, fakeOptions{}), newFake(t, fakeOptions{})
	target := f.target()
	target.Pin = other.Pin

	t.Run("is not given the key", func(t *testing.T) {
		target.SyncAddresses = []string{"tcp://127.0.0.1:1"}
		e := wantCode(t, statusError(t, target), fleet.CodeWrongPin)
		wantNoKey(t, f)
		if want := fleet.ShortPin(f.Pin); !contains(e.Message, want) {
			t.Fatalf("%q does not name the new pin %s", e.Message, want)
		}
	})
	t.Run("nor when the sync port is another device's", func(t *testing.T) {
		target.SyncAddresses = []string{other.Sync}
		wantCode(t, statusError(t, target), fleet.CodeWrongPin)
		wantNoKey(t, f)
	})
	t.Run("nor when the sync port is the device's", func(t *testing.T) {
		target.SyncAddresses = []string{other.Sync, f.Sync}
		for _, introduced := range []fleet.Introduction{fleet.ByPerson, fleet.ByServer, fleet.ByAnybody} {
			target.Introduced = introduced
			c := newClient(t, target, Limits{})
			for range 2 { // the second time the session is resumed
				_, err := c.Status(t.Context())
				wantCode(t, err, fleet.CodeWrongPin)
			}
			wantNoKey(t, f)
			if shown, proven := c.Shown(); shown.Fingerprint != f.Pin || proven || c.knownPin() != other.Pin {
				t.Fatalf("shown %+v, proven %t, pin %s", shown, proven, c.knownPin())
			}
		}
	})
}

// Another daemon got the address: a person is not asked to trust its certificate.
func TestAnotherDaemonThatSaysSoIsNoRenewedCertificate(t *testing.T) {
	f := newFake(t, fakeOptions{})
	target := f.target()
	target.Device, target.Pin = newFake(t, fakeOptions{}).ID, newFake(t, fakeOptions{}).Pin
	wantCode(t, statusError(t, target), fleet.CodeWrongDevice)
	wantNoKey(t, f)
}

// What is found on anybody's word gets no key, whatever the sync port proves: it can be a relay.
func TestAnAddressOnAnybodysWordIsUnconfirmed(t *testing.T) {
	f := newFake(t, fakeOptions{})
	target := f.target()
	target.Introduced, target.SyncAddresses = fleet.ByAnybody, []string{f.Sync}
	c := newClient(t, target, Limits{})
	for range 2 {
		_, err := c.Config(t.Context())
		if e := wantCode(t, err, fleet.CodeUnconfirmed); !contains(e.Message, fleet.ShortPin(f.Pin)) ||
			!contains(e.Message, f.Address) {
			t.Fatalf("%q names not the certificate and where it was shown", e.Message)
		}
	}
	wantNoKey(t, f)
	plain := newFake(t, fakeOptions{plain: true})
	target = plain.target()
	target.Introduced, target.AllowPlain = fleet.ByAnybody, true
	wantCode(t, statusError(t, target), fleet.CodeUnconfirmed)
	if got := plain.requests(); len(got) > 0 {
		t.Fatalf("sent %v in clear", got)
	}
}

// While the first certificate is being trusted no other one gets the key: of two that answer in turn one is not the
// device's.
func TestOnFirstUseOnlyOneCertificateGetsTheKey(t *testing.T) {
	f, other := newFake(t, fakeOptions{}), newFake(t, fakeOptions{})
	other.mu.Lock()
	other.ID = f.ID
	other.mu.Unlock()
	asked, answer := make(chan struct{}), make(chan struct{})
	answers := sync.OnceFunc(func() { close(answer) })
	t.Cleanup(answers)
	f.handle("/rest/system/status", func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-answer
		_, _ = io.WriteString(w, `{"myID":"`+string(f.ID)+`"}`)
	})
	var turn atomic.Int32
	target := f.target()
	c := New(target, Options{Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		to := f.Address
		if turn.Add(1) > 1 {
			to = other.Address
		}
		return new(net.Dialer).DialContext(ctx, network, to)
	}})
	t.Cleanup(c.Close)
	c.Keep() // the status runs on the kept connection, the write on a second one
	first := make(chan error, 1)
	go func() {
		_, err := c.Status(t.Context())
		first <- err
	}()
	<-asked
	wantCode(t, c.Write(t.Context(), "PUT", "/rest/config", nil), fleet.CodeWrongPin)
	answers()
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	wantNoKey(t, other)
	if c.knownPin() != f.Pin {
		t.Fatalf("pin %s, want %s", c.knownPin(), f.Pin)
	}
}

// A proxy of the environment would see where keys go, and terminates TLS in many networks.
func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	f := newFake(t, fakeOptions{})
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	if err := statusError(t, f.target()); err != nil {
		t.Fatal(err)
	}
}

func TestADiscoveryServersAddressHasToBeProven(t *testing.T) {
	f, other := newFake(t, fakeOptions{}), newFake(t, fakeOptions{})
	noProtocol := syncPort(t, newCertificate(t), "h2")
	silent := "tcp://" + acceptAll(t, listen(t), func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1<<20))
		_,
			_ = c.Read(make([]byte, 1))
	})
	port := portOf(t, f.Sync)

	for name, c := range map[string]struct {
		announced []string
		code      fleet.Code
	}{
		"by its sync port": {[]string{f.Sync}, ""},
		"by one of several": {[]string{"quic://127.0.0.1:1", other.Sync, "tcp4://127.0.0.1:" + port},
			""},
		"nothing announced":          {nil, fleet.CodeUnavailable},
		"another device's sync port": {[]string{other.Sync}, fleet.CodeWrongDevice},
		"the device, but on another host": {[]string{"tcp://192.0.2.1:" + port, "tcp://evil.example:" + port},
			fleet.CodeUnavailable},
		"a relay and QUIC": {[]string{"relay://127.0.0.1:" + port, "quic://127.0.0.1:" + port},
			fleet.CodeUnavailable},
		"something that speaks another protocol": {[]string{noProtocol}, fleet.CodeUnavailable},
		"something that says nothing":            {[]string{silent}, fleet.CodeUnavailable},
		"nothing listens":                        {[]string{"tcp://127.0.0.1:1"}, fleet.CodeUnavailable},
		"what a hostile discovery server answers": {[]string{"tcp://<nil>:22000", "tcp://127.0.0.1.example:5", "::",
			"tcp://127.0.0.1:99999999", "tcp://[::1"}, fleet.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			target := f.target()
			target.Introduced, target.SyncAddresses = fleet.ByServer, c.announced
			before := len(f.requests())
			client := newClient(t, target, Limits{Handshake: 300 * time.Millisecond})
			_, err := client.Status(t.Context())
			if c.code == "" {
				if err != nil || client.knownPin() != f.Pin {
					t.Fatalf("got %v and pin %q", err, client.knownPin())
				}
				return
			}
			wantCode(t, err, c.code)
			if got := f.requests()[before:]; len(got) > 0 {
				t.Fatalf("sent %v before the device was proven", got)
			}
		})
	}
}

func TestADiscoveredAddressIsCheckedByTheIPItLeadsTo(t *testing.T) {
	f := newFake(t, fakeOptions{})
	refuse := func(_, address string, _ syscall.RawConn) error {
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "not " + address, Hint: "no"}
	}
	target := f.target()
	target.Pin = f.Pin
	target.Address = net.JoinHostPort("localhost", portOf(t, f.Address))
	if _, err := New(target, Options{Discovered: refuse}).Status(t.Context()); err != nil {
		t.Fatalf("an explicit address: %v", err)
	}
	target.Introduced = fleet.ByServer
	before := f.dialled()
	_, err := New(target, Options{Discovered: refuse}).Status(t.Context())
	if e := wantCode(t, err, fleet.CodeUnavailable); !contains(e.Message, "not ") || f.dialled() != before {
		t.Fatalf("got %v after %d connections", err, f.dialled()-before)
	}
}

// A daemon that was ending, or whose forwarded port was still open, was said to show another certificate, and a person
// was asked to trust it.
func TestAPeerThatClosesEachConnectionIsUnreachable(t *testing.T) {
	f := newFake(t, fakeOptions{})
	for name, closing := range map[string]func(net.Conn){
		"at once": func(net.Conn) {},
		"after the greeting": func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
		},
	} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := acceptAll(t, l, closing)
		for _, introduced := range []fleet.Introduction{fleet.ByPerson, fleet.ByServer, fleet.ByAnybody} {
			t.Run(fmt.Sprint(name, introduced), func(t *testing.T) {
				target := f.target()
				target.Address, target.Pin, target.Introduced = address, f.Pin, introduced
				if e := wantCode(t, statusError(t, target), fleet.CodeUnavailable); !contains(e.Message, "closes each connection") {
					t.Errorf("got %q", e.Message)
				}
			})
		}
	}
}

// A proxy without TLS that closes each connection after TLS was tried was said to be ending, and nobody was told of
// allowPlain. A device with a pinned certificate is not to be reached that way.
func TestAPeerThatClosesEachConnectionMayNeedAllowPlain(t *testing.T) {
	address := closingAddress(t)
	for _, test := range []struct {
		pinned, allowed bool
		introduced      fleet.Introduction
		named           bool
	}{
		{introduced: fleet.ByPerson, named: true},
		{introduced: fleet.ByPerson, pinned: true},
		{introduced: fleet.ByPerson, allowed: true},
		{introduced: fleet.ByAnybody},
	} {
		target := Target{Address: address, AllowPlain: test.allowed, Introduced: test.introduced}
		err := closesAtOnce(target, test.pinned, io.EOF)
		if e := wantCode(t, err, fleet.CodeUnavailable); contains(e.Hint, "allowPlain") != test.named {
			t.Errorf("%+v: the hint is %q", test, e.Hint)
		}
	}
}

// closingAddress is an address where each connection is closed at once.
func closingAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return acceptAll(t, l, func(net.Conn) {})
}

func TestPlainHTTP(t *testing.T) {
	f := newFake(t, fakeOptions{plain: true})

	t.Run("is taken on loopback, after TLS was tried", func(t *testing.T) {
		c := newClient(t, f.target(), Limits{})
		if _, err := c.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.knownPin() != "" {
			t.Fatalf("a pin from plain HTTP: %q", c.knownPin())
		}
		if f.dialled() != 3 {
			t.Fatalf("%d connections, want two attempts of TLS and a plain one", f.dialled())
		}
	})
	t.Run("is not taken while a certificate is about to get the key", func(t *testing.T) {
		for what, address := range map[string]string{"plain": f.Address, "closing": closingAddress(t)} {
			target := f.target()
			target.Address, target.AllowPlain = address, true
			c := newClient(t, target, Limits{})
			if err := c.claim(&conn{shown: fleet.Certificate{Fingerprint: "sha256:00"}}); err != nil {
				t.Fatal(err)
			}
			before := len(f.requests())
			_, err := c.Version(t.Context())
			if got := f.requests()[before:]; err == nil || len(got) > 0 {
				t.Errorf("%s: got %v, and sent %v", what, err, got)
			}
		}
	})
	t.Run("is not taken by a device that has shown a certificate", func(t *testing.T) {
		target := f.target()
		target.Pin, target.AllowPlain = "sha256:00", true
		before := len(f.requests())
		wantCode(t, statusError(t, target), fleet.CodeWrongPin)
		if got := f.requests()[before:]; len(got) > 0 {
			t.Fatalf("sent %v", got)
		}
	})
	t.Run("proves the device anew on every connection", func(t *testing.T) {
		c := newClient(t, f.target(), Limits{})
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := len(f.requests())
		if err := c.Write(t.Context(), "PUT", "/rest/config", nil); fleet.CodeOf(err) != "" {
			t.Fatal(err)
		}
		want := []string{"GET /rest/noauth/health", "GET /rest/system/status+key", "PUT /rest/config+key"}
		if got := f.requests()[before:]; !slices.Equal(got, want) {
			t.Fatalf("sent %v, want %v", got, want)
		}
	})
	t.Run("elsewhere", func(t *testing.T) {
		address := outsideAddress(t)
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: http.HandlerFunc(f.serve)}
		go func() { _ = server.Serve(l) }()
		t.Cleanup(func() { _ = server.Close() })
		target := f.target()
		target.Address = l.Addr().String()
		before := len(f.requests())
		e := wantCode(t, statusError(t, target), fleet.CodeUnavailable)
		if got := f.requests()[before:]; len(got) > 0 || !contains(e.Hint, "allowPlain") {
			t.Fatalf("sent %v; hint %q", got, e.Hint)
		}
		target.AllowPlain = true
		if err := statusError(t, target); err != nil {
			t.Fatalf("with allowPlain: %v", err)
		}
	})
}

func TestADaemonThatTookALateHandshakeForPlainHTTPIsAskedAgain(t *testing.T) {
	f := newFake(t, fakeOptions{})
	var first atomic.Bool
	address := acceptAll(t, listen(t), func(c net.Conn) {
		if first.CompareAndSwap(false, true) {
			_, _ = io.WriteString(c, "HTTP/1.0 400 Bad Request\r\n\r\n")
			return
		}
		up, err := net.Dial("tcp", f.Address)
		if err != nil {
			return
		}
		defer up.Close()
		go func() { _, _ = io.Copy(up, c); _ = up.Close() }()
		_, _ = io.Copy(c, up)
	})
	target := f.target()
	target.Address, target.Pin = address, f.Pin
	if err := statusError(t, target); err != nil {
		t.Fatal(err)
	}
}

func TestOnLoopbackTheHostHeaderIsAnIP(t *testing.T) {
	f := newFake(t, fakeOptions{})
	target := f.target()
	target.Address = net.JoinHostPort("localhost", portOf(t, f.Address))
	if err := statusError(t, target); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, host := range f.hosts {
		if host != f.Address {
			t.Fatalf("Host %q, want %q", host, f.Address)
		}
	}
}

func TestTheCertificateIsAskedForInTheHandshakeOnlyOnceThenResumed(t *testing.T) {
	f := newFake(t, fakeOptions{})
	c := newClient(t, f.target(), Limits{})
	for range 2 {
		if err := c.Write(t.Context(), "PUT", "/rest/config", nil); err != nil {
			t.Fatal(err)
		}
	}
	cn, err := c.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer cn.close()
	if state := cn.stream.(*tls.Conn).ConnectionState(); !state.DidResume || cn.shown.Fingerprint != f.Pin ||
		!cn.identified {
		t.Fatalf("resumed %t, fingerprint %s, identified %t", state.DidResume, cn.shown.Fingerprint, cn.identified)
	}
}

func statusError(t *testing.T, target Target) error {
	t.Helper()
	_, err := newClient(t, target, Limits{}).Status(t.Context())
	return err
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// outsideAddress is an address of this machine that is not loopback.
func outsideAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Fatal("this test needs a network interface beside loopback, with an address")
	return ""
}

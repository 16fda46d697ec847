package listen

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"muster/internal/adapter/tunnel"
)

// elsewhere gives connections another address, as all of a test come from this machine.
type elsewhere struct {
	net.Listener
	at       net.Addr
	accepted chan struct{}
}

type connFrom struct {
	net.Conn
	at net.Addr
}

func (c connFrom) RemoteAddr() net.Addr { return c.at }

// SetReadDeadline has a silent client stay until its handshake ends.
func (connFrom) SetReadDeadline(time.Time) error { return nil }

func (l elsewhere) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.accepted <- struct{}{}
	return connFrom{conn, l.at}, nil
}

// Silent connections of one machine took every place, and no agent came in.
func TestOneAddressHasFewUnfinishedHandshakes(t *testing.T) {
	t.Parallel()
	own := issueNow(t)
	shown, err := tls.X509KeyPair([]byte(own.cert), []byte(own.key))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	from := elsewhere{plain, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1000}, make(chan struct{}, 100)}
	config := &tls.Config{Certificates: []tls.Certificate{shown}, MinVersion: tls.VersionTLS13}
	splitter := newSplitter(tls.NewListener(from, config), &gate{})
	t.Cleanup(func() { _ = splitter.Close() })
	go func() { _, _ = splitter.Accept() }()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		<-from.accepted
		return conn
	}
	for range 16 {
		dial()
	}
	began := time.Now()
	one := dial()
	_ = one.SetReadDeadline(began.Add(headerTimeout)) // before a handshake that began ends by itself
	if _, err := one.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("one more handshake of the address is waited for: %v", err)
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error) //nolint:errorlint // as the net package gives it
	return ok && timeout.Timeout()
}

// A client that said nothing had ten seconds.
func TestAClientThatSaysNothingIsClosedBeforeTheHandshakeEnds(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(*Options) {})
	p.serve()
	half, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = half.Close() })
	halfway := make(chan struct{})
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{tunnel.ALPN}, MinVersion: tls.VersionTLS13,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			close(halfway)
			<-t.Context().Done()
			return nil, net.ErrClosed
		}}
	go func() { _ = tls.Client(half, config).HandshakeContext(t.Context()) }()
	<-halfway
	silent, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	closed := make(chan error, 1)
	go func() {
		_, err := silent.Read(make([]byte, 1))
		closed <- err
	}()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("it is still open")
	}
	if n := len(p.gate.handshakes); n != 1 {
		t.Errorf("%d handshakes of agents are under way, want the one that began before", n)
	}
}

func TestHandshakesEnd(t *testing.T) {
	h := newHandshakes()
	one, other := networkOf("[2001:db8::1]:1000"), networkOf("192.0.2.1:1000")
	var ends []func()
	for range handshakesPerAddress {
		end, ok := h.begin(one)
		if !ok {
			t.Fatal("refused too early")
		}
		ends = append(ends, end)
	}
	if _, ok := h.begin(networkOf("[2001:db8::2]:1")); ok {
		t.Error("an IPv6 network has more")
	}
	if _, ok := h.begin(other); !ok {
		t.Error("another address has none")
	}
	for _, end := range ends {
		end()
	}
	if _, ok := h.begin(one); !ok || len(h.of) != 2 {
		t.Errorf("places are not given back: %v", h.of)
	}
}

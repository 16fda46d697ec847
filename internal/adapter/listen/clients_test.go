package listen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

type reservedKey struct{}

func reserved(ctx context.Context) context.Context {
	return context.WithValue(ctx, reservedKey{}, true)
}

// serveFew serves clients with two regular connections and one of the reserve.
func serveFew(t *testing.T, handler http.HandlerFunc) (address string) {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: closeWhenCrowded(handler), ConnContext: withConn, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(boundClients(plain, Options{Clients: 2, Reserve: 1, Reserved: reserved})) }()
	t.Cleanup(func() { _ = server.Close() })
	return plain.Addr().String()
}

// hold opens a connection and waits until it was answered; it stays open.
func hold(t *testing.T, address string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// Event streams held every descriptor, and the stop switch could not be reached.
func TestRequestsAreAnsweredWhileStreamsHoldEveryConnection(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	address := serveFew(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short" {
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-release
	})
	for range 2 {
		hold(t, address)
	}
	client := &http.Client{Timeout: 30 * time.Second}
	for range 5 {
		response, err := client.Get("http://" + address + "/short")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if !response.Close {
			t.Error("a connection of the reserve is kept for further requests")
		}
	}
}

// Request heads that one machine sent slowly held every connection, and /healthz was not answered.
func TestSlowHeadsOfOneAddressLeaveRoomForOthers(t *testing.T) {
	const clients = 40
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := boundClients(plain, Options{Clients: clients, Reserve: 1, Reserved: reserved})
	server := &http.Server{Handler: closeWhenCrowded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})),
		ConnContext: withConn, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	for range 2 * clients {
		slow, err := net.Dial("tcp", plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = slow.Close() })
		_, _ = fmt.Fprint(slow, "GET / HTTP/1.1\r\nHost: lo") // the server may have closed it
	}
	elsewhere := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: 30 * time.Second}
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DialContext: elsewhere.DialContext}}
	// What is beyond the share has to hurry, so places become free.
	for kept := false; !kept; {
		response, err := client.Get("http://" + plain.Addr().String() + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		kept = !response.Close
	}
}

// A burst of requests from one address was answered by closed connections.
func TestABurstFromOneAddressIsAnswered(t *testing.T) {
	const clients = 16
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: closeWhenCrowded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
				t.Error("the connection ended while its request was answered")
			case <-time.After(hurriedHead + time.Second):
			}
		})),
		ConnContext: withConn, ReadHeaderTimeout: time.Minute,
	}
	waiting := make([]net.Conn, clients)
	for i := range waiting { // nobody accepts yet, so all are silent
		if waiting[i], err = net.Dial("tcp", plain.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer waiting[i].Close()
	}
	go func() {
		_ = server.Serve(boundClients(plain, Options{Clients: clients, Reserve: 1, Reserved: reserved}))
	}()
	t.Cleanup(func() { _ = server.Close() })
	for _, conn := range waiting {
		if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range waiting {
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
}

func TestTheReserveCarriesNoStream(t *testing.T) {
	marked := make(chan bool, 3)
	address := serveFew(t, func(w http.ResponseWriter, r *http.Request) {
		marked <- r.Context().Value(reservedKey{}) != nil
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for range 3 {
		hold(t, address)
	}
	for n, want := range []bool{false, false, true} {
		if got := <-marked; got != want {
			t.Errorf("connection %d is without streams: %v, want %v", n+1, got, want)
		}
	}
}

func TestAClosedListenerAcceptsNothing(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := boundClients(plain, Options{Clients: 1})
	accepted := make(chan error, 2)
	go func() {
		for range 2 {
			_, err := l.Accept()
			accepted <- err
		}
	}()
	for range 2 {
		conn, err := net.Dial("tcp", plain.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// A deadline that the server sets does not lengthen the life of a connection of the reserve.
func TestAConnectionOfTheReserveEnds(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	given := 0
	c := &clientConn{Conn: ours, place: func() { given++ }, end: time.Now()}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	var timeout net.Error
	if _, err := io.ReadFull(c, make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("got %v, want a time-out", err)
	}
	_ = c.Close()
	_ = c.Close()
	if given != 1 {
		t.Errorf("the place was given back %d times", given)
	}
}

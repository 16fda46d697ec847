package syncthing

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"
)

// handshakes are what the next connections of a client agree on.
func handshakes(t *testing.T, c *Client, n int) (states []tls.ConnectionState) {
	t.Helper()
	for range n {
		cn, err := c.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		call := &call{method: http.MethodGet, path: statusPath, maxBytes: DefaultLimits.SmallBytes}
		if _, err := c.exchange(t.Context(), cn, call); err != nil { // the ticket comes with the answer
			t.Fatal(err)
		}
		states = append(states, cn.stream.(*tls.Conn).ConnectionState())
		cn.close()
	}
	return states
}

func TestAResumedSessionDoesWithoutThePostQuantumExchange(t *testing.T) {
	f := newFake(t, fakeOptions{})
	states := handshakes(t, newClient(t, f.target(), Limits{}), 3)
	if s := states[0]; s.DidResume || s.CurveID != tls.X25519MLKEM768 {
		t.Errorf("the first connection resumed a session: %t; its exchange is %v", s.DidResume, s.CurveID)
	}
	for _, s := range states[1:] {
		if !s.DidResume || s.CurveID != tls.CurveP256 {
			t.Errorf("a later connection resumed a session: %t; its exchange is %v", s.DidResume, s.CurveID)
		}
	}
	if dials := f.dialled(); dials != 3 {
		t.Errorf("%d connections for three handshakes", dials)
	}
}

// A daemon that was started anew knows no session: whoever answers gets a full handshake, and no request before it.
func TestASessionThatIsNotResumedIsBegunAnew(t *testing.T) {
	f := newFake(t, fakeOptions{})
	c := newClient(t, f.target(), Limits{})
	handshakes(t, c, 1)
	f.tls.SetSessionTicketKeys([][32]byte{{1}})
	before := len(f.requests())
	s := handshakes(t, c, 1)[0]
	if s.DidResume || s.CurveID != tls.X25519MLKEM768 {
		t.Errorf("resumed a session: %t; the exchange is %v", s.DidResume, s.CurveID)
	}
	if got := len(f.requests()) - before; got != 1 {
		t.Errorf("%d requests, want the one of the full handshake", got)
	}
	if s := handshakes(t, c, 1)[0]; !s.DidResume || s.CurveID != tls.CurveP256 {
		t.Errorf("then resumed a session: %t; the exchange is %v", s.DidResume, s.CurveID)
	}
}

// A daemon was started anew twice at short intervals. Between the two attempts of one connection another connection
// had begun a session, which was over as well: the second attempt failed, and a person's apply with it as an internal
// error.
func TestASecondSessionThatIsOverDoesNotFailTheConnection(t *testing.T) {
	f := newFake(t, fakeOptions{})
	c := newClient(t, f.target(), Limits{})
	handshakes(t, c, 1)
	host, _, err := net.SplitHostPort(f.Address)
	if err != nil {
		t.Fatal(err)
	}
	over, _ := c.sessions.Get(host)
	f.tls.SetSessionTicketKeys([][32]byte{{1}})
	dial := c.dialer
	c.dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		c.sessions.Put(host, over)
		return dial(ctx, network, address)
	}
	if s := handshakes(t, c, 1)[0]; s.DidResume || s.CurveID != tls.X25519MLKEM768 {
		t.Errorf("resumed a session: %t; the exchange is %v", s.DidResume, s.CurveID)
	}
}

func TestADaemonWithoutTheClassicExchangeIsReached(t *testing.T) {
	f := newFake(t, fakeOptions{curves: []tls.CurveID{tls.X25519}})
	for i, s := range handshakes(t, newClient(t, f.target(), Limits{}), 3) {
		if s.CurveID != tls.X25519 {
			t.Errorf("the exchange of connection %d is %v", i, s.CurveID)
		}
	}
	if dials := f.dialled(); dials != 4 {
		t.Errorf("%d connections, want one more than three: it is tried once", dials)
	}
}

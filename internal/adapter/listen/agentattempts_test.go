package listen

import (
	"fmt"
	"net"
	"testing"
	"time"
)

func newTestGate() *gate { return newGate(Options{Clients: 4000}, &certificate{}) }

// tries has so many networks begin a handshake each, again and again. None proves a device.
func tries(g *gate, networks, each int) (begun int) {
	for range each {
		for n := range networks {
			if a, err := g.begin(networkOf(fmt.Sprintf("198.18.%d.%d:1000", n/256, n%256))); err == nil {
				a.count()
				begun++
			}
		}
	}
	return begun
}

// A thousand connections a second from many addresses cost the server half a core: each address stayed within what it
// may begin.
func TestStrangersOfManyAddressesAreBoundedTogether(t *testing.T) {
	t.Parallel()
	g := newTestGate()
	office := networkOf("192.0.2.1:1000")
	known, err := g.begin(office)
	if err != nil {
		t.Fatal(err)
	}
	known.count()
	known.proved()
	if begun := tries(g, 500, 20); begun < strangerBurst || begun > 2*strangerBurst {
		t.Errorf("%d handshakes of 10,000 attempts began, want %d and few more", begun, strangerBurst)
	}
	if _, err := g.begin(networkOf("192.0.2.2:1000")); err == nil {
		t.Error("one more stranger may begin")
	}
	if _, err := g.begin(office); err != nil {
		t.Errorf("an address of a registered device: %v", err)
	}
}

// The agents of a site come back at the same time after the server restarted, when no address is known yet.
func TestRegisteredDevicesTakeNothingFromStrangers(t *testing.T) {
	t.Parallel()
	g := newTestGate()
	var under []attempt
	for n := range 4 * strangerBurst {
		a, err := g.begin(networkOf(fmt.Sprintf("198.18.%d.1:1000", n%100)))
		if err != nil {
			t.Fatal(err)
		}
		under = append(under, a)
	}
	for _, a := range under {
		a.count()
		a.proved()
	}
	if begun := tries(g, 500, 1); begun < strangerBurst {
		t.Errorf("%d strangers may begin after that, want %d", begun, strangerBurst)
	}
}

func TestTheKnownAddressesAreBounded(t *testing.T) {
	t.Parallel()
	s := newStrangers()
	for n := range mostProven + 100 {
		s.prove(networkOf(fmt.Sprintf("10.%d.%d.%d:1", n>>16, n>>8&255, n&255)))
	}
	if len(s.proven) != mostProven {
		t.Errorf("%d addresses are kept, want %d", len(s.proven), mostProven)
	}
	newest := networkOf("192.0.2.1:1")
	if s.prove(newest); s.include(newest) || len(s.proven) != mostProven {
		t.Error("the newest one is not known")
	}
}

// An address that began too much still had each of its first messages read and answered.
func TestAPortForAgentsRefusesBeforeTheFirstMessage(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(o *Options) { o.OnlyAgents, o.TLSCert, o.TLSKey = true, "", "" })
	go func() { _ = p.AcceptAgents() }()
	for range attemptBurst {
		p.gate.attempts.charge(networkOf("127.0.0.1:1"))
	}
	began := time.Now()
	conn, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(began.Add(helloTimeout)) // before a silent one is closed
	if _, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("a connection that says nothing is waited for: %v", err)
	}
}

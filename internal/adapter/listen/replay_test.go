package listen

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"muster/internal/adapter/tunnel"
)

// recordingConn keeps what is written.
type recordingConn struct {
	net.Conn
	written bytes.Buffer
}

func (c *recordingConn) Write(p []byte) (int, error) {
	c.written.Write(p)
	return c.Conn.Write(p)
}

// What an agent sent once, to the last byte, proves nothing a second time.
func TestARecordedHandshakeIsNoDevice(t *testing.T) {
	t.Parallel()
	p := listenForAgents(t, func(o *Options) { o.OnlyAgents, o.TLSCert, o.TLSKey = true, "", "" })
	go func() { _ = p.AcceptAgents() }()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", p.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		return conn
	}
	recorded := &recordingConn{Conn: dial()}
	agent := tls.Client(recorded, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{tunnel.ALPN},
		Certificates: []tls.Certificate{p.client}, MinVersion: tls.VersionTLS13})
	if _, err := agent.Write([]byte("the agent's first words")); err != nil {
		t.Fatal(err)
	}
	<-p.agents
	again := dial()
	if _, err := again.Write(recorded.written.Bytes()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, again); err != nil && isTimeout(err) {
		t.Error("the connection stays open")
	}
	if len(p.agents) != 0 {
		t.Error("it is served as the device")
	}
}

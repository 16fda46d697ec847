package agent

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// lossyConn is one end of a connection whose network is gone: what is written is lost, and nobody is told.
type lossyConn struct {
	net.Conn
	gone *atomic.Bool
}

func (c lossyConn) Write(p []byte) (int, error) {
	if c.gone.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// The server was gone, or the laptop was in another network, and the agent waited on a connection that looked alive.
func TestTheAgentFindsADeadConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		here, there := net.Pipe()
		ended := make(chan error)
		go func() {
			ended <- serve(lossyConn{here, &gone}, http.NotFoundHandler(), func(rule string) {
				t.Errorf("the manager is blamed for %s", rule)
			}, slog.New(slog.DiscardHandler))
		}()
		manager, err := (&http2.Transport{}).NewClientConn(lossyConn{there, &gone}) //nolint:staticcheck // as the hub does
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute) // of the bubble's clock: while the network is there the connection stays
		if err := manager.Ping(t.Context()); err != nil {
			t.Fatalf("a healthy connection: %v", err)
		}
		gone.Store(true)
		began := time.Now()
		if err := <-ended; !errors.Is(err, errLost) {
			t.Errorf("got %v, want that the connection was lost", err)
		}
		if took, most := time.Since(began), pingEvery+pingEvery/6+pingTimeout; took > most {
			t.Errorf("a dead connection was found after %v, want at most %v", took, most)
		}
		_ = there.Close()
	})
}

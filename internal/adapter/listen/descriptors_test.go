package listen

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
)

// fullListener has no descriptor for its first connections.
type fullListener struct {
	net.Listener
	full int
}

func (l *fullListener) Accept() (net.Conn, error) {
	if l.full--; l.full >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return nil, net.ErrClosed
}

// A process that has no descriptors left for a while goes on serving agents when it has some again.
func TestTheSocketOfAgentsOutlivesALackOfDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &fullListener{full: 3}
		if err := (&Socket{Listener: l}).AcceptAgents(); !errors.Is(err, net.ErrClosed) || l.full != -1 {
			t.Errorf("got %v after %d accepts more", err, l.full)
		}
	})
}

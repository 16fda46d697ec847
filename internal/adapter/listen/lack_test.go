package listen

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// failing is a listener of which each Accept fails.
type failing struct {
	net.Listener
	err error
}

func (f *failing) Accept() (net.Conn, error) { return nil, f.err }
func (f *failing) Addr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// The API and agents waited for descriptors, and no log said so.
func TestALackOfDescriptorsIsLoggedOnceAMinute(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(0, 0)
	lack := &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	below := &failing{err: lack}
	l := &lackListener{
		Listener: below,
		log:      slog.New(slog.NewTextHandler(&log, nil)),
		now:      func() time.Time { return now },
	}
	told := func() int { return strings.Count(log.String(), "no file descriptor left") }
	for range 50 {
		if _, err := l.Accept(); !errors.Is(err, syscall.EMFILE) {
			t.Fatal(err)
		}
	}
	if told() != 1 || !strings.Contains(log.String(), "ulimit") {
		t.Errorf("got %s", log.String())
	}
	now = now.Add(lackEvery)
	_, _ = l.Accept()
	below.err = net.ErrClosed
	now = now.Add(lackEvery)
	_, _ = l.Accept()
	if told() != 2 {
		t.Errorf("got %s", log.String())
	}
}

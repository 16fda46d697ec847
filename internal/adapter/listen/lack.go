package listen

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"muster/internal/logkey"
)

// lackEvery is how often it is logged that descriptors lack.
const lackEvery = time.Minute

// lackListener logs that connections wait because this process or the system has no file descriptor left. Those who
// accept wait then in silence, up to a second each time.
type lackListener struct {
	net.Listener
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	logged time.Time // time at which it was logged last; guarded by mu
}

func (l *lackListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if isLack(err) {
		l.tell(err)
	}
	return conn, err
}

func isLack(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

func (l *lackListener) tell(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.log == nil || !l.logged.IsZero() && now.Sub(l.logged) < lackEvery {
		return
	}
	l.logged = now
	l.log.Warn("connections wait: there is no file descriptor left", logkey.Address, l.Addr().String(), logkey.Err(err),
		logkey.Next, "Raise the limit of open files (`ulimit -n`, LimitNOFILE), and restart the server.")
}

package stsim

import (
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// pipeSize is how many bytes one side may be ahead of the other, about a socket's buffer.
const pipeSize = 64 << 10

// pipe is a connection without sockets. Unlike net.Pipe it buffers, as the kernel does: both sides may write first.
func pipe(server netip.AddrPort) (net.Conn, net.Conn) {
	client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1)
	up, down := newStream(), newStream()
	return &pipeEnd{in: down, out: up, local: client, remote: server},
		&pipeEnd{in: up, out: down, local: server, remote: client}
}

// stream is one direction.
type stream struct {
	mu      sync.Mutex // guards data and the two flags
	data    []byte
	written bool // no more will be written
	gone    bool // the other end will not read
	changed chan struct{}
}

func newStream() *stream { return &stream{changed: make(chan struct{})} }

// signal wakes everybody who waits. The caller holds mu.
func (s *stream) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

type pipeEnd struct {
	in, out       *stream
	local, remote netip.AddrPort
	read, write   deadline
	once          sync.Once
}

func (e *pipeEnd) Read(b []byte) (int, error) {
	for {
		if e.read.passed() {
			return 0, os.ErrDeadlineExceeded
		}
		n, wait, err := e.in.take(b)
		if wait == nil {
			return n, err
		}
		select {
		case <-wait:
		case <-e.read.after():
		}
	}
}

func (s *stream) take(b []byte) (int, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
		return 0, nil, net.ErrClosed
	case len(s.data) > 0:
		n := copy(b, s.data)
		s.data = s.data[n:]
		if len(s.data) == 0 {
			s.data = nil
		}
		s.signal()
		return n, nil, nil
	case s.written:
		return 0, nil, io.EOF
	case len(b) == 0:
		return 0, nil, nil
	}
	return 0, s.changed, nil
}

func (e *pipeEnd) Write(b []byte) (int, error) {
	total := 0
	for {
		if e.write.passed() {
			return total, os.ErrDeadlineExceeded
		}
		n, wait, err := e.out.give(b)
		total, b = total+n, b[n:]
		if err != nil || len(b) == 0 {
			return total, err
		}
		select {
		case <-wait:
		case <-e.write.after():
		}
	}
}

func (s *stream) give(b []byte) (int, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.written {
		return 0, nil, io.ErrClosedPipe
	}
	n := min(len(b), pipeSize-len(s.data))
	if n > 0 {
		s.data = append(s.data, b[:n]...)
		s.signal()
	}
	return n, s.changed, nil
}

func (e *pipeEnd) Close() error {
	e.once.Do(func() {
		e.out.mu.Lock()
		e.out.written = true
		e.out.signal()
		e.out.mu.Unlock()
		e.in.mu.Lock()
		e.in.gone, e.in.data = true, nil
		e.in.signal()
		e.in.mu.Unlock()
		e.read.set(time.Time{})
		e.write.set(time.Time{})
	})
	return nil
}

func (e *pipeEnd) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(e.local) }
func (e *pipeEnd) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(e.remote) }

func (e *pipeEnd) SetDeadline(t time.Time) error {
	e.read.set(t)
	e.write.set(t)
	return nil
}

func (e *pipeEnd) SetReadDeadline(t time.Time) error {
	e.read.set(t)
	return nil
}

func (e *pipeEnd) SetWriteDeadline(t time.Time) error {
	e.write.set(t)
	return nil
}

// deadline is a point in time that can be moved while a call waits for it.
type deadline struct {
	mu      sync.Mutex // guards everything below
	at      time.Time
	timer   *time.Timer
	reached chan struct{} // closed when the time is reached or the deadline was moved
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.reached != nil {
		close(d.reached)
		d.reached = nil
	}
	d.at = t
}

func (d *deadline) passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.at.IsZero() && !time.Now().Before(d.at)
}

// after is closed when passed may have changed.
func (d *deadline) after() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reached == nil {
		d.reached = make(chan struct{})
	}
	if d.timer == nil && !d.at.IsZero() {
		reached := d.reached
		d.timer = time.AfterFunc(time.Until(d.at), func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.reached == reached {
				close(reached)
				d.reached, d.timer = nil, nil
			}
		})
	}
	return d.reached
}

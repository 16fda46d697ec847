package stsim

import (
	"context"
	"net"
	"net/http"
	"sync"

	"muster/internal/core/stconfig"
)

// readings are the configurations that GET /rest/config answered. One counts as read when its reader goes on: with the
// next request on that connection, or by closing it.
type readings struct {
	mu     sync.Mutex // guards the rest
	number int64      // of the last answer
	under  map[net.Conn]reading
	last   reading // that counts
}

type reading struct {
	number int64
	doc    stconfig.Value
}

type connKey struct{}

// follow has a server say when a reader goes on.
func (r *readings) follow(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateActive || state == http.StateClosed {
			r.goesOn(c)
		}
	}
}

func (r *readings) answered(request *http.Request, doc stconfig.Value) {
	c, known := request.Context().Value(connKey{}).(net.Conn)
	if !known {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.under == nil {
		r.under = map[net.Conn]reading{}
	}
	r.number++
	r.under[c] = reading{r.number, doc}
}

func (r *readings) goesOn(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if read, ok := r.under[c]; ok && read.number > r.last.number {
		r.last = read
	}
	delete(r.under, c)
}

// IsRead reports whether the configuration is the one that was last read.
func (d *Daemon) IsRead() bool {
	d.readings.mu.Lock()
	read := d.readings.last.doc
	d.readings.mu.Unlock()
	return read.Equal(d.Config())
}

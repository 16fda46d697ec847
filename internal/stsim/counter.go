package stsim

import (
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
)

// Counters count what a daemon was asked since its creation or ResetCounters.
type Counters struct {
	Accepted  int            // TCP connections
	Open      int            // of them, open now
	Silent    int            // connections that sent nothing while they held up the accept loop
	Forbidden int            // answers 401 and 403
	Requests  int            // all requests
	Writes    int            // of them, all but GET, HEAD and OPTIONS
	ByRoute   map[string]int // "GET /rest/config" and so on; the path as it was asked, without its query
}

type counters struct {
	accepted, open, silent, forbidden, requests, writes atomic.Int64

	mu      sync.Mutex // guards byRoute
	byRoute map[string]int
}

func (c *counters) request(r *http.Request) {
	c.requests.Add(1)
	if isWrite(r) {
		c.writes.Add(1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byRoute == nil {
		c.byRoute = map[string]int{}
	}
	c.byRoute[r.Method+" "+r.URL.Path]++
}

func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// Counters are the numbers now.
func (d *Daemon) Counters() Counters {
	c := &d.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	byRoute := map[string]int{}
	maps.Copy(byRoute, c.byRoute)
	return Counters{
		Accepted: int(c.accepted.Load()), Open: int(c.open.Load()), Silent: int(c.silent.Load()),
		Forbidden: int(c.forbidden.Load()), Requests: int(c.requests.Load()), Writes: int(c.writes.Load()), ByRoute: byRoute,
	}
}

// ResetCounters sets all to zero but Open.
func (d *Daemon) ResetCounters() {
	c := &d.counters
	for _, n := range []*atomic.Int64{&c.accepted, &c.silent, &c.forbidden, &c.requests, &c.writes} {
		n.Store(0)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byRoute = nil
}

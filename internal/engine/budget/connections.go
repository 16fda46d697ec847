package budget

import (
	"context"

	"muster/internal/fleet"
)

// Connections limits the connections to daemons. Each connection needs a place; callers that wait for one get it in
// the order in which they came.
type Connections struct {
	kept, seconds    places
	visits, openings byHealth
}

// places holds one token for each connection that is open.
type places chan struct{}

// byHealth reserves half of the places for daemons that answered the last request. A daemon that does not answer holds
// its place for long.
type byHealth struct{ answering, silent places }

// NewConnections makes as many places as the budget has for daemons.
func (d Descriptors) NewConnections() *Connections {
	halves := func(n int) byHealth {
		return byHealth{make(places, max(n-n/2, 1)), make(places, max(n/2, 1))}
	}
	return &Connections{
		kept: make(places, d.Kept), seconds: make(places, max(d.Seconds, 1)),
		visits: halves(d.Visits), openings: halves(d.Openings),
	}
}

// Keep takes a place for a connection that stays open. ok is false when all places are taken.
func (c *Connections) Keep() (release func(), ok bool) {
	select {
	case c.kept <- struct{}{}:
		return c.kept.release, true
	default:
		return nil, false
	}
}

// Visit waits for a place for a short connection to a daemon that has no other one.
func (c *Connections) Visit(ctx context.Context, answering bool) (release func(), err error) {
	return c.visits.of(answering).wait(ctx)
}

// Second waits for a place for a connection to a daemon that is also followed.
func (c *Connections) Second(ctx context.Context) (release func(), err error) {
	return c.seconds.wait(ctx)
}

// Open waits until one more connection may be established. The caller holds the place only while it establishes the
// connection.
func (c *Connections) Open(ctx context.Context, answering bool) (release func(), err error) {
	return c.openings.of(answering).wait(ctx)
}

func (b byHealth) of(answering bool) places {
	if answering {
		return b.answering
	}
	return b.silent
}

func (p places) wait(ctx context.Context) (release func(), err error) {
	select {
	case p <- struct{}{}:
		return p.release, nil
	case <-ctx.Done():
		return nil, &fleet.Error{
			Code: fleet.CodeUnavailable, During: "connect to the daemon", Err: context.Cause(ctx),
			Message: "no connection was free in time: the limit of open files is used up",
			Hint:    "Raise it with `ulimit -n` or LimitNOFILE.",
		}
	}
}

func (p places) release() { <-p }

package budget

import (
	"context"

	"muster/internal/fleet"
)

// Connections counts the connections to daemons. What waits for a place gets it in turn.
type Connections struct {
	kept, seconds    places
	visits, openings byHealth
}

// places holds a token for each connection.
type places chan struct{}

// byHealth keeps half of the places for daemons that answered the last time: those that do not answer hold theirs for
// long.
type byHealth struct{ answering, silent places }

// NewConnections makes the places that the budget has for daemons.
func (d Descriptors) NewConnections() *Connections {
	halves := func(n int) byHealth {
		return byHealth{make(places, max(n-n/2, 1)), make(places, max(n/2, 1))}
	}
	return &Connections{
		kept: make(places, d.Kept), seconds: make(places, max(d.Seconds, 1)),
		visits: halves(d.Visits), openings: halves(d.Openings),
	}
}

// Keep gives a place for a connection that stays open. It is false where all are taken.
func (c *Connections) Keep() (release func(), ok bool) {
	select {
	case c.kept <- struct{}{}:
		return c.kept.release, true
	default:
		return nil, false
	}
}

// Visit waits for a place for the only connection to a daemon, for a moment.
func (c *Connections) Visit(ctx context.Context, answering bool) (release func(), err error) {
	return c.visits.of(answering).wait(ctx)
}

// Second waits for a place for a connection beside the watcher's.
func (c *Connections) Second(ctx context.Context) (release func(), err error) {
	return c.seconds.wait(ctx)
}

// Open waits until one more connection may be opened. It is for the time that opening takes.
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

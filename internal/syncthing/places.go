package syncthing

import (
	"context"

	"muster/internal/fleet"
)

// Places bounds the connections to all daemons together. Each release is called once.
type Places interface {
	// Keep gives a place for a connection that stays open while its daemon is followed. False: all are taken.
	Keep() (release func(), ok bool)
	// Visit waits for a place for a connection that is the only one to its daemon, for a moment.
	Visit(ctx context.Context, answering bool) (release func(), err error)
	// Second waits for a place for a connection beside the kept one.
	Second(ctx context.Context) (release func(), err error)
	// Open waits until one more connection may be opened. It is released when that is done or has failed.
	Open(ctx context.Context, answering bool) (release func(), err error)
}

// unbounded has a place for everything.
type unbounded struct{}

func (unbounded) Keep() (func(), bool)                        { return func() {}, true }
func (unbounded) Visit(context.Context, bool) (func(), error) { return func() {}, nil }
func (unbounded) Second(context.Context) (func(), error)      { return func() {}, nil }
func (unbounded) Open(context.Context, bool) (func(), error)  { return func() {}, nil }

// place is what the kept connection has in the budget.
type place struct {
	release func() // nil without a place
	lasting bool   // from Places.Keep, and not from Visit
}

// giveUp releases the place, if there is one.
func (p *place) giveUp() {
	if p.release != nil {
		p.release()
	}
	*p = place{}
}

// Keep has the client keep its connection from call to call until CloseIdle. It is false where the budget has no place
// for that: then Visit does the same for a moment. Without either each call has a connection of its own.
func (c *Client) Keep() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if !c.place.lasting {
		release, ok := c.places.Keep()
		if !ok {
			return false
		}
		c.place.giveUp()
		c.place = place{release, true}
	}
	c.keeping = true
	return true
}

// Visit waits until the client may keep its connection for a moment. CloseIdle ends that, and is called soon.
func (c *Client) Visit(ctx context.Context) error {
	if c.visitsStill() {
		return nil
	}
	release, err := c.places.Visit(ctx, c.answering.Load())
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		release()
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon is contacted in another way now"}
	}
	c.place.giveUp()
	c.place, c.keeping = place{release, false}, true
	return nil
}

// visitsStill goes on with the place that there is. To wait for another one while it is held could take for ever.
func (c *Client) visitsStill() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keeping = c.place.release != nil && !c.closed
	return c.keeping
}

func (c *Client) keeps() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keeping
}

// CloseIdle ends Keep and Visit: the kept connection is closed, now or when the call that uses it is done.
func (c *Client) CloseIdle() {
	c.mu.Lock()
	c.keeping = false
	c.mu.Unlock()
	select {
	case cn := <-c.kept:
		c.giveBack(cn)
	default:
	}
}

// Close is CloseIdle for good. Calls in flight are ended by their context.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.CloseIdle()
}

// giveBack ends a use of the kept connection.
func (c *Client) giveBack(cn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || !c.keeping {
		if cn != nil {
			cn.close()
			cn = nil
		}
		c.place.giveUp()
	}
	c.kept <- cn
}

// openInTurn opens a connection when the budget has a place for that.
func (c *Client) openInTurn(ctx context.Context) (*conn, error) {
	opened, err := c.places.Open(ctx, c.answering.Load())
	if err != nil {
		return nil, err
	}
	defer opened()
	cn, err := c.open(ctx)
	if err != nil && ctx.Err() == nil {
		c.answering.Store(false)
	}
	return cn, err
}

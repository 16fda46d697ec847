package syncthing

import (
	"context"

	"muster/internal/fleet"
)

// Places limits the connections to all daemons together. Each release function must be called exactly once.
type Places interface {
	// Keep takes a place for a connection that stays open while its daemon is followed. ok is false when all are
	// taken.
	Keep() (release func(), ok bool)
	// Visit waits for a place for a short connection to a daemon that has no other one.
	Visit(ctx context.Context, answering bool) (release func(), err error)
	// Second waits for a place for a connection beside the kept one.
	Second(ctx context.Context) (release func(), err error)
	// Open waits until one more connection may be opened. The caller releases the place when the connection is open or
	// has failed.
	Open(ctx context.Context, answering bool) (release func(), err error)
}

// unbounded is a Places without limits.
type unbounded struct{}

func (unbounded) Keep() (func(), bool)                        { return func() {}, true }
func (unbounded) Visit(context.Context, bool) (func(), error) { return func() {}, nil }
func (unbounded) Second(context.Context) (func(), error)      { return func() {}, nil }
func (unbounded) Open(context.Context, bool) (func(), error)  { return func() {}, nil }

// place is the place of the kept connection in the budget.
type place struct {
	release func() // nil when there is no place
	lasting bool   // from Places.Keep; false: from Places.Visit
}

// giveUp releases the place, if there is one.
func (p *place) giveUp() {
	if p.release != nil {
		p.release()
	}
	*p = place{}
}

// Keep makes the client keep its connection between calls, until CloseIdle. It returns false when the budget has no
// place for that; Visit may then be used for a short time. Without either the client opens a connection for each call.
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

// Visit waits until the client may keep its connection for a short time. The caller must soon call CloseIdle.
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

// visitsStill reports whether the client already has a place from Visit, and then keeps that. Waiting for a second
// place while it holds one could block for ever.
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

// CloseIdle ends Keep and Visit. It closes the kept connection now, or when the call that uses it has ended.
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

// Close is CloseIdle, and the client keeps no connection afterwards. Running calls end with their context.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.CloseIdle()
}

// giveBack makes the kept connection available to the next call.
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

// openInTurn opens a connection when the budget has a place for it.
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

package app

import (
	"context"
	"sync"

	"muster/internal/fleet"
	"muster/internal/store"
)

// ceiling is the store with the mode that the server was started with on top: the strictest wins.
type ceiling struct {
	*store.Store
	mode fleet.Mode

	mu    sync.Mutex // guards what follows
	below *fleet.Registry
	made  *fleet.Registry // from below; the same one again while below is the same, as readers tell generations by it
}

// Registry is the store's, with at most the ceiling's mode.
func (c *ceiling) Registry(ctx context.Context) (*fleet.Registry, error) {
	registry, err := c.Store.Registry(ctx)
	if err != nil || c.mode == fleet.ModeOn {
		return registry, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.below != registry {
		copied := *registry
		copied.Mode = fleet.Strictest(registry.Mode, c.mode)
		c.below, c.made = registry, &copied
	}
	return c.made, nil
}

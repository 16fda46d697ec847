package app

import (
	"context"
	"sync"

	"muster/internal/adapter/store"
	"muster/internal/fleet"
)

// modeLimit is a store whose registry has at most the mode that the server was started with: the stricter mode
// applies.
type modeLimit struct {
	*store.Store
	mode fleet.Mode

	mu    sync.Mutex // guards the fields below
	below *fleet.Registry
	// made from below; reused while below is the same pointer, because readers compare pointers
	made *fleet.Registry
}

// Registry returns the store's registry with the limit applied.
func (c *modeLimit) Registry(ctx context.Context) (*fleet.Registry, error) {
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

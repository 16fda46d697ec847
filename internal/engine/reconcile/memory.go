package reconcile

import "context"

// Memory shares out the server's memory among plans and templates. If work needs more than there is, Take returns an
// error, the work must end with it, and Do calls the work again.
type Memory interface {
	Do(ctx context.Context, work func(context.Context) error) error
	// TryDo is Do for callers that have other work: it returns fleet.ErrNoMemory instead of waiting for memory.
	TryDo(ctx context.Context, work func(context.Context) error) error
	Take(ctx context.Context, bytes int64) error
	// LiftLimit removes the limit for the rest of the work in ctx. The work is not called again after that, because what
	// it does from now on must not be repeated.
	LiftLimit(ctx context.Context)
}

// unboundedMemory grants memory to everybody at once.
type unboundedMemory struct{}

func (unboundedMemory) Do(ctx context.Context, work func(context.Context) error) error {
	return work(ctx)
}
func (unboundedMemory) TryDo(ctx context.Context, work func(context.Context) error) error {
	return work(ctx)
}
func (unboundedMemory) Take(context.Context, int64) error { return nil }
func (unboundedMemory) LiftLimit(context.Context)         {}

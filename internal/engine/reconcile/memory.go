package reconcile

import "context"

// Memory shares out the memory that plans and templates may take of the server. Work that needs more than there is
// ends with an error of Take, and is called again.
type Memory interface {
	Do(ctx context.Context, work func(context.Context) error) error
	// TryDo is Do for callers that have other work: instead of waiting for memory it ends with fleet.ErrNoMemory.
	TryDo(ctx context.Context, work func(context.Context) error) error
	Take(ctx context.Context, bytes int64) error
	// LiftLimit removes the limit for the rest of the work of this context, which from now on must not be repeated.
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

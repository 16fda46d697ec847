package reconcile

import "context"

// Memory shares out the memory that plans and templates may take of the server. Work that needs more than there is
// ends with an error of Take, and is called again.
type Memory interface {
	Do(ctx context.Context, work func(context.Context) error) error
	// TryDo is Do for callers that have other work: instead of waiting for memory it ends with fleet.ErrNoMemory.
	TryDo(ctx context.Context, work func(context.Context) error) error
	Take(ctx context.Context, bytes int64) error
	// Settle lets the work of this context run to its end: from now on it does what cannot be done twice.
	Settle(ctx context.Context)
}

// unboundedMemory gives memory to everybody at once.
type unboundedMemory struct{}

func (unboundedMemory) Do(ctx context.Context, work func(context.Context) error) error {
	return work(ctx)
}
func (unboundedMemory) TryDo(ctx context.Context, work func(context.Context) error) error {
	return work(ctx)
}
func (unboundedMemory) Take(context.Context, int64) error { return nil }
func (unboundedMemory) Settle(context.Context)            {}

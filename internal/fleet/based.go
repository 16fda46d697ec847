package fleet

import (
	"context"
	"errors"
)

// ErrAnotherGeneration is the cause of the error that a change is based on a generation that is over.
var ErrAnotherGeneration = errors.New("another generation is in force")

type basedKey struct{}

// WithBase says which generation a change under the context was judged in: it is made only while that one is in force.
func WithBase(ctx context.Context, generation int64) context.Context {
	return context.WithValue(ctx, basedKey{}, generation)
}

// BaseIn is that generation; judged is false where the change may be made in any.
func BaseIn(ctx context.Context) (generation int64, judged bool) {
	generation, judged = ctx.Value(basedKey{}).(int64)
	return generation, judged
}

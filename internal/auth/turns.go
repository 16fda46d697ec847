package auth

import (
	"context"
	"sync"

	"muster/internal/fleet"
)

// turns lets one attempt of an account at a time have passwords hashed: one user cannot keep the others waiting. The
// limits of the throttle bound how many wait for their turn.
type turns struct {
	mu sync.Mutex
	of map[string]*turn // guarded by mu; of accounts with an attempt under way
}

type turn struct {
	place    chan struct{} // holds a token while an attempt has it
	attempts int           // that have it or wait for it; guarded by mu of turns
}

func newTurns() *turns { return &turns{of: map[string]*turn{}} }

// enter waits until no other attempt of the account is under way. Call leave when this one is over.
func (t *turns) enter(ctx context.Context, account string) (leave func(), err error) {
	own := t.join(account)
	ctx, cancel := context.WithTimeoutCause(ctx, hashWait, &fleet.Error{Code: fleet.CodeTooMany,
		Message: "other log-ins of this user are under way", Hint: "Wait a few seconds, then try again."})
	defer cancel()
	select {
	case own.place <- struct{}{}:
		return func() {
			<-own.place
			t.part(account, own)
		}, nil
	case <-ctx.Done():
		t.part(account, own)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) join(account string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.of[account]
	if own == nil {
		own = &turn{place: make(chan struct{}, 1)}
		t.of[account] = own
	}
	own.attempts++
	return own
}

func (t *turns) part(account string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.attempts--; own.attempts == 0 {
		delete(t.of, account)
	}
}

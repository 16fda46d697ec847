package auth

import (
	"context"
	"sync"

	"muster/internal/fleet"
)

// accountQueues lets only one log-in at a time to each account compute a password hash, so that many attempts on one
// account do not keep other users waiting. The throttle limits how many attempts wait for their turn.
type accountQueues struct {
	mu sync.Mutex
	of map[string]*accountQueue // by account, while it has attempts; guarded by mu
}

type accountQueue struct {
	place    chan struct{} // holds a token while an attempt has its turn
	attempts int           // attempts that have their turn or wait for it; guarded by accountQueues.mu
}

func newAccountQueues() *accountQueues { return &accountQueues{of: map[string]*accountQueue{}} }

// enter waits until no other attempt to log in to the account is under way. The caller calls leave when its own
// attempt is over.
func (t *accountQueues) enter(ctx context.Context, account string) (leave func(), err error) {
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

func (t *accountQueues) join(account string) *accountQueue {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.of[account]
	if own == nil {
		own = &accountQueue{place: make(chan struct{}, 1)}
		t.of[account] = own
	}
	own.attempts++
	return own
}

func (t *accountQueues) part(account string, own *accountQueue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.attempts--; own.attempts == 0 {
		delete(t.of, account)
	}
}

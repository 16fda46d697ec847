package auth

import (
	"context"
	"sync"

	"muster/internal/fleet"
)

// accountQueues lets only one attempt to log in to an account have its password hashed at a time, so that one user
// cannot keep others waiting. The throttle's limits bound how many attempts wait for their turn.
type accountQueues struct {
	mu sync.Mutex
	of map[string]*accountQueue // guarded by mu; has the accounts for which an attempt is under way
}

type accountQueue struct {
	place    chan struct{} // holds a token while an attempt has its turn
	attempts int           // attempts that have their turn or wait for it; guarded by accountQueues.mu
}

func newAccountQueues() *accountQueues { return &accountQueues{of: map[string]*accountQueue{}} }

// enter waits until no other attempt of the account is under way. The caller calls leave when its own is over.
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

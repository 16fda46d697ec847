package auth

import (
	"context"
	"maps"
	"net"
	"net/http"
	"time"

	"muster/internal/fleet"
)

const (
	// useEvery is how often the uses of tokens are stored.
	useEvery = time.Minute
	// lastUseTime is the time limit of the last such write, when the server stops.
	lastUseTime = 2 * time.Second
)

// used records that a token was used for a request.
func (t *Tokens) used(name string, r *http.Request) {
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		from = r.RemoteAddr
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.uses[name] = fleet.TokenUse{At: time.Now().UTC().Truncate(time.Millisecond), From: from}
}

// Run stores when and from where tokens were used, once per useEvery, until ctx ends. Uses that could not be stored
// are stored with the next ones.
func (t *Tokens) Run(ctx context.Context) error {
	tick := time.NewTicker(useEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.keepUses(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastUseTime)
			defer cancel()
			t.keepUses(last)
			return ctx.Err()
		}
	}
}

func (t *Tokens) keepUses(ctx context.Context) {
	t.mu.Lock()
	uses := maps.Clone(t.uses)
	t.mu.Unlock()
	if len(uses) == 0 || t.store.TokensUsed(ctx, uses) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.uses, func(name string, use fleet.TokenUse) bool { return uses[name] == use })
}

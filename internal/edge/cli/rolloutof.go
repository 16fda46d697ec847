package cli

import (
	"context"
	"fmt"

	"muster/client"
)

// doneIn says in which generation a change is, and how it goes out where a rollout brings it to devices.
func doneIn(ctx context.Context, server *client.Client, generation int64) string {
	text := fmt.Sprintf("Done, in generation %d.", generation)
	rollout, err := rolloutOfGeneration(ctx, server, generation)
	if err != nil || rollout == 0 {
		return text // The change is made; nothing is said of rollouts that cannot be listed.
	}
	return text + fmt.Sprintf(" `muster rollout show %d` shows how it goes out.", rollout)
}

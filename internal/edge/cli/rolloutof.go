package cli

import (
	"context"
	"fmt"

	"muster/client"
)

// doneIn says in which generation a change is, and how it goes out where a rollout brings it to devices.
func doneIn(ctx context.Context, server *client.Client, generation int64) string {
	text := fmt.Sprintf("Done, in generation %d.", generation)
	all, err := server.Rollouts(ctx, client.List{})
	if err != nil {
		return text // The change is made; nothing is said of rollouts that cannot be listed.
	}
	for _, r := range all {
		if r.Generation == generation {
			return text + fmt.Sprintf(" `muster rollout show %d` shows how it goes out.", r.ID)
		}
	}
	return text
}

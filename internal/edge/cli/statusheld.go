package cli

import (
	"context"
	"fmt"
	"slices"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// shownGroups is how many groups of held changes `muster status` shows.
const shownGroups = 10

// heldGroups returns the groups of equal held changes that change one of these devices, whatever the device's state.
// Where they cannot be read, it prints a warning and returns none: the rest of the status is shown all the same.
func heldGroups(ctx context.Context, env *environment, server *client.Client,
	states []api.ListedState) ([]api.HeldGroup, error) {
	if len(states) == 0 {
		return []api.HeldGroup{}, nil
	}
	groups, err := server.Consents(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		fmt.Fprintf(env.Err, "Warning: the held changes could not be read: %s\n", printable(fleet.Reason(err)))
		return []api.HeldGroup{}, nil
	}
	listed := map[string]bool{}
	for _, s := range states {
		listed[s.DeviceID] = true
	}
	shown := []api.HeldGroup{}
	for _, g := range groups {
		if slices.ContainsFunc(g.Changes, func(c api.HeldChange) bool { return listed[c.DeviceID] }) {
			shown = append(shown, g)
		}
	}
	return shown, nil
}

// heldInFleet prints each group of held changes: whom it changes, and whom and what it names.
func (p *painter) heldInFleet(groups []api.HeldGroup) {
	if len(groups) == 0 {
		return
	}
	p.line(plain, "Held until a person answers:")
	for _, g := range groups[:min(len(groups), shownGroups)] {
		p.held(g)
	}
	if more := len(groups) - shownGroups; more > 0 {
		p.line(plain, "And "+counted(more, "more group")+" of held changes.")
	}
	p.line(plain, "`muster consent list` has the commands that answer.")
}

package cli

import (
	"context"
	"fmt"
	"slices"

	"muster/api"
	"muster/client"
)

// shownGroups is how many groups of held changes `muster status` shows.
const shownGroups = 10

// heldGroups returns the groups of equal held changes that change one of these devices, whatever state the device is
// in. If the server does not tell them, heldGroups prints a warning: the rest of the status is shown all the same.
func heldGroups(ctx context.Context, env *environment, server *client.Client,
	states []api.ListedState) []api.HeldGroup {
	held := []api.HeldGroup{} // A program gets [] and not null.
	if len(states) == 0 {
		return held
	}
	isListed := map[string]bool{}
	for _, s := range states {
		isListed[s.DeviceID] = true
	}
	groups, err := server.Consents(ctx)
	if err != nil {
		fmt.Fprintf(env.Err, "Warning: the held changes are not shown: %s\n", printable(err.Error()))
	}
	for _, g := range groups {
		if slices.ContainsFunc(g.Changes, func(c api.HeldChange) bool { return isListed[c.DeviceID] }) {
			held = append(held, g)
		}
	}
	return held
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

package cli

import (
	"context"
	"slices"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// shownGroups is how many groups of held changes `muster status` shows.
const shownGroups = 10

// heldGroups returns the groups of equal held changes that change one of these devices.
func heldGroups(ctx context.Context, server *client.Client, states []api.ListedState) ([]api.HeldGroup, error) {
	isHeld := map[string]bool{}
	for _, s := range states {
		isHeld[s.DeviceID] = s.Configuration == string(fleet.ConfigHeld)
	}
	if !slices.ContainsFunc(states, func(s api.ListedState) bool { return isHeld[s.DeviceID] }) {
		return nil, nil
	}
	groups, err := server.Consents(ctx)
	return slices.DeleteFunc(groups, func(g api.HeldGroup) bool {
		return !slices.ContainsFunc(g.Changes, func(c api.HeldChange) bool { return isHeld[c.DeviceID] })
	}), err
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

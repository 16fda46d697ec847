package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// settle follows what was applied in a generation until its rollout is over, or until nothing is left for the devices
// that is sent by itself. A device that waits for a person, or that cannot be written to now, ends with the code for
// what waits.
func settle(ctx context.Context, env *environment, server *client.Client, generation int64, devices []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- follow(ctx, server, changed) }()
	bar := env.newProgress()
	defer bar.end()
	for {
		rollout, err := rolloutOfGeneration(ctx, server, generation)
		if err != nil {
			return err
		}
		if rollout != 0 {
			bar.end()
			last, err := followRollout(ctx, env, server, rollout)
			if err != nil {
				return err
			}
			fmt.Fprintf(env.Out, "Rollout %d is %s.\n", last.ID, last.Status)
			return outcomeOf(last)
		}
		now, err := standingIn(ctx, server, generation, devices)
		if err != nil {
			return err
		}
		bar.at(int64(now.settled), int64(len(devices)), fmt.Sprintf("%d of %s settled", now.settled,
			counted(len(devices), "device")))
		if now.settled == len(devices) {
			return waits(now.waiting > 0)
		}
		select {
		case <-changed:
		case err := <-ended:
			return err
		}
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
		}
	}
}

// rolloutOfGeneration is the ID of the rollout that brings devices to a generation, alone or with later ones; 0 without
// one.
func rolloutOfGeneration(ctx context.Context, server *client.Client, generation int64) (int64, error) {
	if generation == 0 { // what is applied is no change of templates and tags
		return 0, nil
	}
	all, err := server.Rollouts(ctx, client.List{})
	if err != nil {
		return 0, err
	}
	slices.Reverse(all) // the oldest first
	at := slices.IndexFunc(all, func(r api.Rollout) bool { return r.Before < generation && generation <= r.Generation })
	if at < 0 {
		return 0, nil
	}
	return all[at].ID, nil
}

// settledCount is how many devices are settled, and how many of those wait for something.
type settledCount struct{ settled, waiting int }

// standingIn counts up to the first device that is not settled.
func standingIn(ctx context.Context, server *client.Client, generation int64, devices []string) (now settledCount,
	err error) {
	for _, id := range devices {
		settled, waiting, err := isSettled(ctx, server, generation, id)
		if err != nil || !settled {
			return now, err
		}
		now.settled++
		if waiting {
			now.waiting++
		}
	}
	return now, nil
}

// isSettled tells whether nothing more is sent to a device by itself, and whether something waits there.
func isSettled(ctx context.Context, server *client.Client, generation int64, id string) (settled, waiting bool,
	err error) {
	state, err := server.DeviceState(ctx, id)
	if fleet.CodeOf(err) == fleet.CodeNotFound { // registered no more
		return true, false, nil
	}
	if err != nil {
		return false, false, err
	}
	if state.Connection != string(fleet.Online) {
		return true, true, nil
	}
	stops, err := stopsOfDevice(ctx, server, id)
	if err != nil || len(stops) > 0 {
		return err == nil, true, err
	}
	made, err := server.DevicePlan(ctx, id)
	switch code := fleet.CodeOf(err); {
	case code == fleet.CodeNotFound || code == fleet.CodeInvalid: // never read, or a template fails
		return true, true, nil
	case err != nil:
		return false, false, err
	}
	if made.Generation < generation || slices.ContainsFunc(made.Changes, goesByItself) {
		return false, false, nil
	}
	switch fleet.Configuration(state.Configuration) {
	case fleet.ConfigApplying, fleet.ConfigPending:
		return false, false, nil
	case fleet.ConfigInSync, fleet.ConfigUnmanaged:
		return true, false, nil
	}
	return true, true, nil
}

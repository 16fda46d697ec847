package cli

import (
	"context"
	"fmt"
	"slices"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// waitApplied follows the rollout of a generation until it is over. Without a rollout it follows the devices until
// nothing more is sent to them by itself. It ends with the exit code of what waits if a device waits for a person or
// cannot be written to.
func waitApplied(ctx context.Context, env *environment, server *client.Client, generation int64,
	devices []string) error {
	bar := env.newProgress()
	defer bar.end()
	var rollout int64
	var now finishedCount
	err := afterEvents(ctx, env, server, func() (done bool, err error) {
		if rollout, err = rolloutOfGeneration(ctx, server, generation); err != nil || rollout != 0 {
			return true, err
		}
		if now, err = countFinished(ctx, server, generation, devices); err != nil {
			return false, err
		}
		bar.at(int64(now.finished), int64(len(devices)), fmt.Sprintf("%s of %s finished", fleet.NumberText(now.finished),
			counted(len(devices), "device")))
		return now.finished == len(devices), nil
	})
	if err != nil {
		return err
	}
	if rollout == 0 {
		return waits(now.waiting > 0)
	}
	bar.end()
	last, err := followRollout(ctx, env, server, rollout)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "Rollout %d is %s.\n", last.ID, last.Status)
	return outcomeOf(last)
}

// rolloutOfGeneration is the ID of the rollout that brings devices to a generation, alone or with later ones; 0 without
// one.
func rolloutOfGeneration(ctx context.Context, server *client.Client, generation int64) (int64, error) {
	if generation == 0 { // the plan of one device was applied
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

// finishedCount is how many devices are finished, and how many of those wait for something.
type finishedCount struct{ finished, waiting int }

// countFinished counts up to the first device that is not finished.
func countFinished(ctx context.Context, server *client.Client, generation int64, devices []string) (now finishedCount,
	err error) {
	for _, id := range devices {
		finished, waiting, err := isFinished(ctx, server, generation, id)
		if err != nil || !finished {
			return now, err
		}
		now.finished++
		if waiting {
			now.waiting++
		}
	}
	return now, nil
}

// isFinished reports whether Muster sends nothing more to a device by itself, and whether something waits there.
func isFinished(ctx context.Context, server *client.Client, generation int64, id string) (finished, waiting bool,
	err error) {
	state, err := server.DeviceState(ctx, id)
	if fleet.CodeOf(err) == fleet.CodeNotFound { // the device was deleted meanwhile
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
	case code == fleet.CodeNotFound || code == fleet.CodeInvalid: // the device was never read, or a template fails
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

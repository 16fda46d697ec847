package app

import (
	"context"
	"fmt"

	"muster/internal/engine/metrics"
	"muster/internal/engine/prover"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// newProver makes the prover of copies.
func (a *App) newProver() *prover.Prover {
	return prover.New(prover.Options{Daemons: asked{a}, Snapshot: a.mirror.Snapshot, Devices: a.devicesWith,
		Kept: a.store, Log: a.log.With(logkey.Component, "copies"), Registry: a.registry,
		Policies: a.copyPolicies,
		Told:     func(id fleet.DeviceID) { a.deviceChanged(id, fleet.FoldersChanged) },
		Read:     a.changes.copiesProven})
}

// copyPolicies returns the policies of copies; nil: something else than Muster changed the settings, and nobody knows
// which there are.
func (a *App) copyPolicies() []fleet.CopyPolicy {
	state := a.policy.Of(fleet.SettingCopyPolicies)
	if state.Source == fleet.SettingByGuard {
		return nil
	}
	return append([]fleet.CopyPolicy{}, state.CopyPolicies()...)
}

// devicesWith returns the devices of the whole fleet that have a folder, in the order in which they are shown.
func (a *App) devicesWith(ctx context.Context, folder string) ([]fleet.DeviceID, error) {
	registry, err := a.store.Registry(ctx)
	if err != nil {
		return nil, err
	}
	var ids []fleet.DeviceID
	for _, device := range a.view.DevicesWith(registry, folder) {
		ids = append(ids, device.ID)
	}
	return ids, nil
}

func (a *App) copiesInNumbers() []metrics.FolderCopies {
	var all []metrics.FolderCopies
	for _, figure := range a.prover.Figures() {
		all = append(all, metrics.FolderCopies{Folder: figure.Folder, Copies: figure.Copies, Unproven: figure.Open})
	}
	return all
}

// checkCopyPolicies refuses a policy that names a folder which no device is known to have: it would never be short, and
// a slip of the pen would look like a copy.
func (a *App) checkCopyPolicies(value string) error {
	policies, err := fleet.ParseCopyPolicies(value)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, snapshot := range a.mirror.Snapshots() {
		for _, folder := range snapshot.Folders {
			known[folder.Folder] = true
		}
	}
	for _, policy := range policies {
		if policy.Folder != "" && !known[policy.Folder] {
			return &fleet.Error{Code: fleet.CodeInvalid,
				Message: fmt.Sprintf("copyPolicies: no device is known to have the folder %q", policy.Folder),
				Hint:    "`muster folder list` has the IDs of all folders. Set the policy once a device has the folder."}
		}
	}
	return nil
}

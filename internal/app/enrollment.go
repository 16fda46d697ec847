package app

import (
	"context"
	"fmt"

	"muster/internal/adapter/discovery"
	"muster/internal/adapter/tunnel"
	"muster/internal/engine/enrollment"
	"muster/internal/fleet"
)

// newEnrollments makes the part that admits unregistered devices. Its key is in the database, so every server of the
// same database accepts the challenges of the others.
func (a *App) newEnrollments(ctx context.Context) (*enrollment.Enrollments, error) {
	key, err := a.store.OwnKey(ctx, "enrolment challenges")
	if err != nil {
		return nil, fmt.Errorf("read the key of enrolment challenges: %w", err)
	}
	return enrollment.New(enrollment.Options{
		Store: a.store, Changes: a.edits, Log: a.log, ChallengeKey: key, RefuseIP: discovery.RefuseIP,
		Policy: a.enrollmentPolicy,
	}), nil
}

// enrollmentPolicy answers what enrol keys may do.
func (a *App) enrollmentPolicy() fleet.EnrollmentPolicy {
	return fleet.EnrollmentPolicy{
		Off:  !a.policy.Of(fleet.SettingEnrollByKey).On(),
		Life: a.policy.Of(fleet.SettingEnrollKeyLife).Duration(),
		Uses: a.policy.Of(fleet.SettingEnrollKeyUses).Number(),
		Tags: a.policy.Of(fleet.SettingEnrollKeyTags).Tags(),
	}
}

// heedAgent stores what the connected agent of an accepted device reports.
func (a *App) heedAgent(ctx context.Context, id fleet.DeviceID) error {
	is, connected := a.hub.Info(id)
	registry, err := a.store.Registry(ctx) // The registry is read from memory.
	if err != nil || !connected || is.Status.State != tunnel.Accepted {
		return err
	}
	device := registry.Devices[id]
	if device == nil || device.Altered {
		return nil
	}
	word := fleet.AgentWord{Pin: is.Hello.Pin, Observe: is.Hello.Observe}
	err = enrollment.RecordAgent(ctx, a.store, device, word)
	if err != nil || a.mirror.Held(id) {
		return err // A Session may be changing the API key or port, and stores it itself.
	}
	return enrollment.LearnAccess(ctx, a.store, device, word, a.mirror.Snapshot(id))
}

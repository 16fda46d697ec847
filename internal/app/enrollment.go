package app

import (
	"context"
	"fmt"

	"muster/internal/discovery"
	"muster/internal/enrollment"
	"muster/internal/fleet"
	"muster/internal/tunnel"
)

// newEnrollments admits devices that are not registered. Every server of the same database recognises the challenges of
// the others.
func (a *App) newEnrollments(ctx context.Context) (*enrollment.Enrollments, error) {
	key, err := a.store.OwnKey(ctx, "enrolment challenges")
	if err != nil {
		return nil, fmt.Errorf("read the key of enrolment challenges: %w", err)
	}
	return enrollment.New(enrollment.Options{
		Store: a.store, Log: a.log, ChallengeKey: key, RefuseIP: discovery.RefuseIP,
	}), nil
}

// heedAgent keeps what the connected agent of an accepted device tells.
func (a *App) heedAgent(ctx context.Context, id fleet.DeviceID) error {
	is, connected := a.hub.Info(id)
	registry, err := a.store.Registry(ctx) // from memory
	if err != nil || !connected || is.Status.State != tunnel.Accepted {
		return err
	}
	device := registry.Devices[id]
	if device == nil || device.Altered {
		return nil
	}
	word := fleet.AgentWord{Pin: is.Hello.Pin, Observe: is.Hello.Observe}
	err = enrollment.Heed(ctx, a.store, device, word)
	if err != nil || a.mirror.Held(id) {
		return err // a Session may be changing the access: it keeps that itself
	}
	return enrollment.LearnAccess(ctx, a.store, device, word, a.mirror.Snapshot(id))
}

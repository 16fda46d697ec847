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

// heedAgent keeps what the connected agent of an accepted device tells: the pin of its daemon, and whether the daemon
// may only be observed. The API key of a device that came by its agent is kept after the pin, so that it never goes
// to a certificate that is trusted on first use.
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
	if device.Settings.WithWord(word) != device.Settings {
		if err := a.store.HeedAgent(fleet.WithActor(ctx, "agent"), id, word); err != nil {
			return err
		}
	}
	if word.Pin == "" || word.Observe || a.mirror.Held(id) {
		return nil // a Session may be changing the access: it keeps that itself
	}
	return a.learnAccess(ctx, device, a.mirror.Snapshot(id))
}

// learnAccess gives the record of a device the API key and port that its daemon has, as far as they were read through
// its agent: the device's own key proved them. The port of a device with an address stays: what stands in front of
// the daemon may have another one.
func (a *App) learnAccess(ctx context.Context, device *fleet.Registered, s *fleet.Snapshot) error {
	if s == nil || s.FoundBy != fleet.FoundByAgent || s.Connection != fleet.Online || s.Access.Key.IsZero() {
		return nil
	}
	access := device.Access()
	access.Key = s.Access.Key
	if device.APIAddress == "" && s.Access.Port > 0 && (s.Status == nil || !s.Status.AddressFixed) {
		access.Port = s.Access.Port
	}
	if access == device.Access() {
		return nil
	}
	return a.store.LearnAccess(fleet.WithActor(ctx, "agent"), device.ID, device.Access(), access)
}

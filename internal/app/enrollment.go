package app

import (
	"context"
	"fmt"
	"io"

	"muster/internal/discovery"
	"muster/internal/enrollment"
	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
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
	if word.Pin == "" || word.Observe || !device.APIKey.IsZero() {
		return nil
	}
	return a.learnAccess(ctx, device)
}

// learnAccess gives the record of a device that came by its agent the API key and port of its daemon's configuration.
func (a *App) learnAccess(ctx context.Context, device *fleet.Registered) error {
	id := device.ID
	_, document, err := a.store.NewestDocument(ctx, id)
	if fleet.CodeOf(err) == fleet.CodeNotFound { // it is learnt when the first one is kept
		return nil
	}
	if err != nil {
		return err
	}
	text, err := io.ReadAll(document.Open())
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	config, err := stconfig.Parse(text)
	if err != nil {
		return err
	}
	access := device.Access()
	access.Key = fleet.NewSecret(config.Get("gui").Get("apiKey").Str())
	if port := plan.APIPort(config.Get("gui").Get("address").Str()); port > 0 {
		access.Port = port
	}
	return a.store.ReplaceAccess(ctx, id, device.Access(), access)
}

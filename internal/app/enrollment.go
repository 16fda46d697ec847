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

// learnAccess gives the record of a device that came by its agent the API key and port of its daemon's configuration.
func (a *App) learnAccess(ctx context.Context, id fleet.DeviceID) error {
	registry, err := a.store.Registry(ctx)
	if err != nil {
		return err
	}
	device := registry.Devices[id]
	if device == nil || device.Altered || !device.APIKey.IsZero() {
		return nil
	}
	_, document, err := a.store.NewestDocument(ctx, id)
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

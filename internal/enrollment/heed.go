package enrollment

import (
	"context"

	"muster/internal/fleet"
)

// Records keeps what the agents of registered devices tell.
type Records interface {
	HeedAgent(ctx context.Context, id fleet.DeviceID, word fleet.AgentWord) error
	// LearnAccess replaces one access by another in the record of a device.
	LearnAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access) error
}

// Heed keeps what the connected agent of a registered device tells: the pin of its daemon, and whether the daemon may
// only be observed.
func Heed(ctx context.Context, to Records, device *fleet.Registered, word fleet.AgentWord) error {
	if device.Settings.WithWord(word) == device.Settings {
		return nil
	}
	return to.HeedAgent(fleet.WithActor(ctx, "agent"), device.ID, word)
}

// LearnAccess gives the record of a device the API key and port that its daemon has, as far as they were read through
// its agent: the device's own key proved them. It comes after the pin is kept, so that the key never goes to a
// certificate that is trusted on first use. The port of a device with an address stays: what stands in front of the
// daemon may have another one.
func LearnAccess(ctx context.Context, to Records, device *fleet.Registered, word fleet.AgentWord,
	s *fleet.Snapshot) error {
	if word.Pin == "" || word.Observe || s == nil || s.FoundBy != fleet.FoundByAgent || s.Connection != fleet.Online ||
		s.Access.Key.IsZero() {
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
	return to.LearnAccess(fleet.WithActor(ctx, "agent"), device.ID, device.Access(), access)
}

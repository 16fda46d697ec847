package enrollment

import (
	"context"

	"muster/internal/fleet"
)

// Records stores what the agents of registered devices tell.
type Records interface {
	RecordAgent(ctx context.Context, id fleet.DeviceID, word fleet.AgentWord) error
	// LearnAccess replaces the access (port and API key) before by after in the record of a device.
	LearnAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access) error
}

// RecordAgent stores what the connected agent of a registered device tells: the certificate to pin, and whether the
// daemon may only be observed.
func RecordAgent(ctx context.Context, to Records, device *fleet.Registered, word fleet.AgentWord) error {
	if device.Settings.WithWord(word) == device.Settings {
		return nil
	}
	return to.RecordAgent(fleet.WithActor(ctx, "agent"), device.ID, word)
}

// LearnAccess stores the API key and port of a daemon, as far as they were read through the device's agent: the
// device's own key proved them. It is called after the pin is stored, so that the API key never goes to a certificate
// that is trusted on first use. The port of a device with an address stays, because something in front of the daemon
// may have another port.
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

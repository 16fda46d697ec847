package mirror

import (
	"context"
	"crypto/sha256"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// search is a resolver whose device has no agent now. It notes when discovery is asked.
type search struct {
	last func() *fleet.Snapshot

	mu    sync.Mutex
	asked []time.Time
}

func (s *search) Resolve(_ context.Context, device fleet.Device, _ bool) (Found, error) {
	if awaitsAgent(device, s.last(), time.Now()) {
		return Found{}, errAgentAwaited
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, time.Now())
	return Found{}, fleet.NotFoundf("discovery does not find the device")
}

// After a restart the public discovery servers were asked for every device whose agent had not connected again yet.
func TestADeviceThatCameByItsAgentIsNotLookedForWhileTheAgentMayReturn(t *testing.T) {
	for name, c := range map[string]struct {
		foundBy, address string
		waits            bool
	}{
		"by its agent":                 {fleet.FoundByAgent, "", true},
		"by discovery":                 {"global", "", false},
		"never":                        {"", "", false},
		"by its agent, and an address": {fleet.FoundByAgent, "192.0.2.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				id := fleet.DeviceIDOf(sha256.Sum256([]byte(name)))
				s := &search{}
				m := New(Options{Resolver: s, Seed: map[fleet.DeviceID]Snapshot{
					id: {Device: id, FoundBy: c.foundBy, LastSeen: time.Now()}}})
				s.last = func() *fleet.Snapshot { return m.Snapshot(id) }
				m.Put(fleet.Registered{Device: fleet.Device{ID: id, APIAddress: c.address, APIPort: 8384}}, false)
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				_ = m.Run(ctx)
				if len(s.asked) == 0 {
					t.Fatal("discovery was never asked")
				}
				first := s.asked[0].Sub(began)
				if c.waits && (first < agentReturns || first > agentReturns+time.Minute) || !c.waits && first > time.Second {
					t.Errorf("discovery was asked after %v", first)
				}
			})
		})
	}
}

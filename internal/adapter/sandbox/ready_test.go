package sandbox

import (
	"testing"

	"muster/internal/fleet"
)

// Workers that do not start were noticed by the first template that needed one.
func TestAPoolWhoseWorkersDoNotStartIsNotReady(t *testing.T) {
	broken := running(t, Options{Command: []string{"/no/such/program"}})
	if err := broken.Ready(t.Context()); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}

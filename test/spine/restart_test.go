package spine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// Every change of the gui section restarts the daemon's API, and several in a row put it into its supervisor's
// back-off, for up to 18 s. Muster caused that: the device is online all the time, and the state says what is going
// on.
func TestADaemonWhoseAPIRestartsBecauseOfUsIsNotUnreachable(t *testing.T) {
	t.Parallel()
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{TLS: true})
	enroll(t, s, d, "office")
	s.WaitConnection(d.ID, fleet.Online)
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	var restarts, other []string // guarded by watching
	watching.Go(func() {
		for ctx.Err() == nil {
			state, err := s.Client.DeviceState(ctx, string(d.ID))
			switch {
			case err != nil:
			case state.Connection != string(fleet.Online):
				other = append(other, fmt.Sprintf("%s: %s", state.Connection, state.Reason))
			case strings.Contains(state.Reason, "restarting"):
				restarts = append(restarts, state.Reason)
			}
			timer := time.NewTimer(5 * time.Millisecond)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			timer.Stop()
		}
	})
	op, key, label := "merge", "gui", "theme"
	id := s.Template(op, key, `{"theme": "dark"}`, "office")
	for _, theme := range []string{"black", "light", "dark", "black", "light", "dark", "black"} {
		text := fmt.Sprintf(`{"theme": %q}`, theme)
		body := api.PutTemplate{Label: &label, Op: &op, Key: &key, Template: &text}
		if _, err := s.Client.PutTemplate(t.Context(), id, body); err != nil {
			t.Fatal(err)
		}
		wait.Until(t, func() string {
			plan, err := s.Client.DevicePlan(t.Context(), string(d.ID))
			if err != nil {
				return err.Error()
			}
			if len(plan.Changes) > 0 {
				return "still to be changed: " + plan.Changes[0].Key
			}
			return ""
		})
	}
	s.WaitState(d.ID, "in sync and followed", func(state api.DeviceState) bool {
		return state.Configuration == string(fleet.ConfigInSync) && !strings.Contains(state.Reason, "restarting")
	})
	stop()
	watching.Wait()
	if len(other) > 0 {
		t.Errorf("the device was shown %d times as away, first %s", len(other), other[0])
	}
	if len(restarts) == 0 {
		t.Error("no state said that the API was restarting")
	}
}

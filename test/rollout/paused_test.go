package rollout_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// Watching is paused in the middle of a rollout: it waits, says why, and goes on afterwards.
func TestARolloutWaitsWhileWatchingIsPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{Soak: time.Hour})
	w.template("options", `{"maxFolderConcurrency": 3}`)
	r := w.reaches(1)
	first := r.Members[0].DeviceID
	for _, pause := range []struct {
		what string
		set  func(mode string) error
	}{
		{"the fleet", func(mode string) error { return w.Client.PutMode(t.Context(), mode) }},
		{"a tag", func(mode string) error { return w.Client.PutTagMode(t.Context(), "all", mode) }},
		{"the device", func(mode string) error {
			_, err := w.Client.PutDeviceSettings(t.Context(), first, api.PutDeviceSettings{Mode: &mode})
			return err
		}},
	} {
		t.Run(pause.what, func(t *testing.T) {
			w.until(t, r.ID, func(r api.RolloutDetail) bool { return r.Members[0].State == string(fleet.MemberGood) })
			if err := pause.set(string(fleet.ModePaused)); err != nil {
				t.Fatal(err)
			}
			w.until(t, r.ID, func(r api.RolloutDetail) bool {
				return strings.Contains(r.Next, "it is not watched (mode paused)") && r.Members[0].State == string(fleet.MemberHeld)
			})
			if err := pause.set(string(fleet.ModeOn)); err != nil {
				t.Fatal(err)
			}
			w.until(t, r.ID, func(r api.RolloutDetail) bool { return r.Members[0].State == string(fleet.MemberGood) })
		})
	}
	absent := func(m api.RolloutMember) bool { return m.State == string(fleet.MemberAbsent) }
	if r = w.rollout(r.ID); r.Wave != 1 || slices.ContainsFunc(r.Members, absent) {
		t.Errorf("got wave %d, %+v", r.Wave, r.Members)
	}
}

// until waits for something about a rollout that must go on running.
func (w *world) until(t *testing.T, id int64, is func(api.RolloutDetail) bool) {
	t.Helper()
	wait.Until(t, func() string {
		r := w.rollout(id)
		if r.Status != string(fleet.RolloutRunning) {
			t.Fatalf("the rollout is %s: %s", r.Status, r.Reason)
		}
		if is(r) {
			return ""
		}
		return fmt.Sprintf("got %+v, first %+v", r.Rollout, r.Members[0])
	})
}

package rollout_test

import (
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// `muster apply DEVICE --remove KEY` removes the folder from this daemon. Another folder of the daemon waits on, and so
// does the folder of another device.
func TestAnApplyRemovesWhatItNamesFromTheCommandLine(t *testing.T) {
	t.Parallel()
	const devices = 2
	w := newWorld(t, devices, server.Options{})
	names := []string{"houserules", "menu"}
	var templates []int64
	for _, name := range names {
		templates = append(templates, w.Template("merge", "folders."+name, handbook, "all"))
		w.untilHave(name, devices)
	}
	w.inSync(w.farm.Daemons()...)
	for _, made := range templates {
		if err := w.Client.DeleteTemplate(t.Context(), made); err != nil {
			t.Fatal(err)
		}
	}
	first, second := w.farm.Daemon(0), w.farm.Daemon(1)
	var digest string
	wait.Until(t, func() string {
		for _, d := range w.farm.Daemons() {
			plan, err := w.Client.DevicePlan(t.Context(), string(d.ID()))
			if err != nil || len(plan.Changes) != len(names) {
				return d.Name() + " does not ask for both folders yet"
			}
			if d == first {
				digest = plan.Digest
			}
		}
		return ""
	})
	out, code := w.command("apply", first.Name(), "--digest", digest, "--remove", "folders.houserules")
	if code != 0 && code != 3 {
		t.Fatalf("ended with %d: %s", code, out)
	}
	w.untilHave("houserules", devices-1)
	if has(first, "houserules") {
		t.Error("the folder was removed from the other daemon")
	}
	if got := count(w.farm.Daemons(), "menu"); got != devices {
		t.Errorf("%d daemons have the other folder, want %d", got, devices)
	}
	for _, d := range []fleet.DeviceID{first.ID(), second.ID()} {
		w.WaitConfiguration(d, fleet.ConfigHeld)
	}
	if out, _ := w.command("consent", "list"); !strings.Contains(out, "menu") || !strings.Contains(out, "houserules") {
		t.Errorf("not both folders wait on: %s", out)
	}
}

package rollout_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// What waits is in the text of `muster waiting` and in the JSON of `muster consent list`, with every device. `muster
// consent DIGEST --keep` leaves the folder on the daemons, and nothing waits any more.
func TestWhatWaitsIsKeptFromTheCommandLine(t *testing.T) {
	t.Parallel()
	const devices = 2
	w := newWorld(t, devices, server.Options{})
	made := w.Template("merge", "folders.houserules", handbook, "all")
	w.untilHave("houserules", devices)
	w.inSync(w.farm.Daemons()...)
	if err := w.Client.DeleteTemplate(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, func() string {
		if g := w.groups(1)[0]; g.DeviceCount < devices {
			return "not all ask yet"
		}
		return ""
	})
	var listed []api.HeldGroup
	text := w.says("", "consent", "list", "-o", "json")
	if err := json.Unmarshal([]byte(text), &listed); err != nil || len(listed) != 1 {
		t.Fatalf("got %s, %v, want one group", text, err)
	}
	g := listed[0]
	if g.Key != "folders.houserules" || len(g.Changes) != devices {
		t.Errorf("got %+v, want the folder of %d devices", g, devices)
	}
	// Exit code 3 of `muster waiting` says that something waits for a person.
	waiting, _ := w.command("waiting")
	for _, d := range w.farm.Daemons() {
		is := func(c api.HeldChange) bool { return c.DeviceID == string(d.ID()) }
		if !slices.ContainsFunc(g.Changes, is) || !strings.Contains(waiting, d.Name()) {
			t.Errorf("%s is not in %s, or not in %s", d.Name(), text, waiting)
		}
	}
	for _, want := range []string{"houserules", "muster consent " + g.Digest[:8]} {
		if !strings.Contains(waiting, want) {
			t.Errorf("muster waiting lacks %q: %s", want, waiting)
		}
	}
	w.says("", "consent", g.Digest, "--keep", "--yes")
	w.groups(0)
	for _, d := range w.farm.Daemons() {
		w.WaitConfiguration(d.ID(), fleet.ConfigUnmanaged)
	}
	if got := count(w.farm.Daemons(), "houserules"); got != devices {
		t.Errorf("%d daemons have the folder, want %d", got, devices)
	}
	for _, c := range w.given() {
		if c.Key != "folders.houserules" || c.State != "used" {
			t.Errorf("got %s, want used answers for the folder", fmt.Sprintf("%+v", c))
		}
	}
}

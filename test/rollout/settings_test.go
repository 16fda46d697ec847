package rollout_test

import (
	"slices"
	"strconv"
	"testing"

	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
)

// noFlags has the server start without the flag --soak.
const noFlags = -1

func (w *world) set(name fleet.SettingName, value string) {
	w.t.Helper()
	if set, err := w.Client.PutSetting(w.t.Context(), string(name), value); err != nil || set.Value != value {
		w.t.Fatalf("%s is %+v, %v", name, set, err)
	}
}

// An administrator changes thresholds and times of a server that runs. Nothing is restarted.
func TestASettingHoldsForTheNextDecision(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{Soak: noFlags})
	w.set(fleet.SettingSoak, "1h")
	id := w.template("options", `{"maxFolderConcurrency": 3}`)
	r := w.reaches(1)
	if r.Approval != nil || len(w.written()) > 1 {
		t.Errorf("got %+v, %d daemons were written to", r.Rollout, len(w.written()))
	}
	w.set(fleet.SettingSoak, "10ms") // The wave that is being watched is watched by the new time.
	w.comesTo(fleet.RolloutSucceeded)

	w.set(fleet.SettingApproval, "4")
	w.edit(id, "options", `{"maxFolderConcurrency": 4}`)
	r = w.comesTo(fleet.RolloutWaiting)
	if r.Approval == nil {
		t.Errorf("got %+v", r.Rollout)
	}
	// What waits goes on waiting. The next change does not.
	if _, err := w.Client.ResetSetting(t.Context(), string(fleet.SettingApproval)); err != nil {
		t.Fatal(err)
	}
	if again := w.newest(); again.ID != r.ID || again.Status != string(fleet.RolloutWaiting) {
		t.Errorf("got %+v", again.Rollout)
	}
	w.edit(id, "options", `{"maxFolderConcurrency": 5}`)
	w.comesTo(fleet.RolloutSucceeded)
	everyOne(t, w.farm.Daemons(), "configured",
		func(d *stsim.Daemon) bool { return option(d, "maxFolderConcurrency") == "5" })

	// After a restart the settings are as they were set.
	w.restart()
	if s, err := w.Client.Setting(t.Context(), "soak"); err != nil || s.Value != "10ms" || s.Source != "database" {
		t.Errorf("got %+v, %v", s, err)
	}
}

// A stolen token must not remove what was configured before it came: a smaller number keeps those of the last week.
func TestASmallerNumberOfRevisionsDeletesNoneOfTheLastWeek(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, server.Options{Soak: noFlags})
	d := w.farm.Daemon(0)
	for n := range 12 {
		w.personEdits(d, "options.maxFolderConcurrency", mustParse(t, strconv.Itoa(n+1)))
	}
	many := len(w.revisions(d))
	w.set(fleet.SettingKeepRevisions, "10")
	w.personEdits(d, "options.maxFolderConcurrency", mustParse(t, "99")) // Each new revision removes those that are due.
	if got := len(w.revisions(d)); many < 12 || got != many+1 {
		t.Errorf("%d are kept, there were %d", got, many)
	}
}

// A flag overrides what is set, and the setting says so.
func TestAFlagOverridesASetting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, server.Options{Soak: soak})
	s, err := w.Client.PutSetting(t.Context(), "soak", "1h")
	if err != nil || s.Value != "1s" || s.Source != "flag" || s.Warning == "" || s.Stored == nil || *s.Stored != "1h" {
		t.Errorf("got %+v, %v", s, err)
	}
	all, err := w.Client.Settings(t.Context())
	if err != nil || len(all) != len(fleet.Settings()) {
		t.Errorf("got %d, %v", len(all), err)
	}
	names := []string{}
	for _, s := range all {
		names = append(names, s.Group)
	}
	names = slices.Compact(names)
	if len(names) != len(slices.Compact(slices.Sorted(slices.Values(names)))) {
		t.Errorf("the groups are not together: %q", names)
	}
}

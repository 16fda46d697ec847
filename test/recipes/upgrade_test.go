package recipes

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/stsim"
	"muster/test/wait"
)

// What a recipe does stays done when the daemons are upgraded in place. Nothing is sent because of that, but for a
// value that the upgrade changed and a template asks for. Without the templates each daemon has what it would have
// had: what people edited, and what the upgrade made of the rest.
func TestRecipesWithAnUpgradeInBetween(t *testing.T) {
	t.Parallel()
	fleet, recipes := readPage(t)
	for _, r := range recipes {
		t.Run(r.title, func(t *testing.T) {
			farm := startFarm(t, stsim.V1, len(fleet)) // one for each that runs, and the twin
			twin := farm.Daemon(len(fleet) - 1)
			w := newWorld(t, fleet, func(t *testing.T, labels []string) []*living { return livingIn(t, farm, labels) })
			migration := w.migration(t, twin)
			w.run(t, r, func() { w.upgrade(t, r, farm, migration) })
		})
	}
}

// migration is what the upgrade changes on a daemon that Muster does not know.
func (w *world) migration(t *testing.T, twin *stsim.Daemon) []string {
	t.Helper()
	l := newLiving(t, "twin", twin.ID(), twin.APIKey(), twin.URL())
	l.prepare(t, w.names)
	if err := twin.Upgrade(stsim.V2); err != nil {
		t.Fatal(err)
	}
	changes := differences(l.start, l.call(t, "GET", "/rest/config", nil))
	if len(changes) == 0 {
		t.Fatal("the upgrade changes nothing")
	}
	return changes
}

// upgrade replaces the daemons' program in place.
func (w *world) upgrade(t *testing.T, r recipe, farm *stsim.Farm, migration []string) {
	t.Helper()
	for i, l := range w.alive {
		l.taken()
		if err := farm.Daemon(i).Upgrade(stsim.V2); err != nil {
			t.Fatal(err)
		}
		l.cut()
		l.migrated = migration
		seen := ""
		wait.ForState(t, func() string { return l.label + " is seen with configuration version " + seen }, func() bool {
			text, err := w.muster.Client.DeviceConfig(t.Context(), string(l.id))
			if err != nil {
				return false
			}
			observed, err := stconfig.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			seen = observed.Get("version").Str()
			return seen == l.call(t, "GET", "/rest/config", nil).Get("version").Str()
		})
	}
	w.awaitIdle(t, r)
	for _, result := range r.results {
		w.check(t, r, result)
	}
	// The upgrade divides it by three; the unrelated template of the second round asks for it.
	want := []write{{"PATCH", "/rest/config/options", `{"reconnectionIntervalS":61}`}}
	for _, l := range w.alive {
		if got := l.taken(); !slices.Equal(got, want) {
			t.Errorf("after the upgrade %s was sent %v, want %v", l.label, got, want)
		}
	}
}

var deviceID = regexp.MustCompile(`[A-Z2-7]{7}(-[A-Z2-7]{7}){7}`)

// differences of two configurations, each once, whichever device an entry is of.
func differences(from, to stconfig.Value) []string {
	var all []string
	for _, change := range stconfig.Diff(from, to) {
		all = append(all, deviceID.ReplaceAllString(fmt.Sprint(change.Key, ": ", shown(change.From), " -> ",
			shown(change.To)), "<device>"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func shown(v stconfig.Value) string {
	if !v.Exists() {
		return "absent"
	}
	return string(v.JSON())
}

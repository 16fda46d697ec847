package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// differ has the devices differ from their templates.
func (w *roomy) differ(plans map[fleet.DeviceID][]plan.Change) {
	w.fakes.states, w.fakes.plans = map[fleet.DeviceID]fleet.State{}, map[fleet.DeviceID]plan.Plan{}
	for id, changes := range plans {
		w.fakes.states[id] = fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigPending}
		w.fakes.plans[id] = plan.Plan{Changes: changes}
	}
}

func (w *roomy) differences(query string) (got api.Differences) {
	w.t.Helper()
	body := w.want(http.StatusOK, call{method: http.MethodGet, path: Prefix + "/differences" + query})
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		w.t.Fatal(err)
	}
	return got
}

func linesOf(all []api.Difference) (out []string) {
	for _, one := range all {
		out = append(out, one.Key+" "+string(one.To)+" "+strings.Join(one.Devices, "+"))
	}
	return out
}

func TestEqualChangesOfManyDevicesAreOneDifference(t *testing.T) {
	w := newRoomy(t)
	same := func() plan.Change { return changeOf(t, "options.a", plan.Free, stconfig.Text("x")) }
	w.differ(map[fleet.DeviceID][]plan.Change{
		idA: {same(), changeOf(t, "options.b", plan.Held, stconfig.Text("y"))},
		idB: {same(), changeOf(t, "options.b", plan.Held, stconfig.Text("z"))},
	})
	got := w.differences("")
	a, b := string(idA), string(idB)
	names := []string{a, b}
	if w.world.get(Prefix+"/devices/"+a) == "" {
		t.Fatal("no device")
	}
	if first := got.Differences[0]; len(first.Devices) != 2 || first.Key != "options.a" ||
		!slices.Contains(names, first.Devices[0]) {
		t.Errorf("the change of both is %+v", first)
	}
	if len(got.Differences) != 3 || got.Compared != 2 || got.Left != 0 || got.Truncated {
		t.Errorf("got %d compared, %q", got.Compared, linesOf(got.Differences))
	}
	for _, query := range []string{"?tag=in", "?q=mine", "?state=pending&tag=in"} {
		if got := w.differences(query); got.Compared != 1 || !slices.Equal(linesOf(got.Differences),
			[]string{`options.a "x" ` + a, `options.b "y" ` + a}) {
			t.Errorf("%s: got %q", query, linesOf(got.Differences))
		}
	}
	if got := w.differences("?state=held"); got.Compared != 0 || len(got.Differences) != 0 {
		t.Errorf("of another state: got %q", linesOf(got.Differences))
	}
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/differences?state=nonsense"})
}

func TestDifferencesOfAScopedViewerAreThoseOfItsDevices(t *testing.T) {
	w := newRoomy(t)
	w.differ(map[fleet.DeviceID][]plan.Change{
		idA: {changeOf(t, "options.a", plan.Free, stconfig.Text("x"))},
		idB: {changeOf(t, "options.b", plan.Free, stconfig.Text(hidden))},
	})
	var got api.Differences
	if err := json.Unmarshal([]byte(w.seen("/differences")), &got); err != nil || got.Compared != 1 ||
		!slices.Equal(linesOf(got.Differences), []string{`options.a "x" ` + string(idA)}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestADeviceThatHasNoPlanFailsAloneAmongDifferences(t *testing.T) {
	w := newRoomy(t)
	w.differ(map[fleet.DeviceID][]plan.Change{idA: {changeOf(t, "options.a", plan.Free, stconfig.Text("x"))}})
	w.fakes.states[idB] = fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigFailed}
	w.fakes.planErr = fleet.Invalidf("", "template 3 fails")
	got := w.differences("")
	if len(got.Differences) != 1 || len(got.Failed) != 1 || got.Failed[0].DeviceID != string(idB) ||
		got.Failed[0].Error != "template 3 fails" {
		t.Errorf("got %+v", got)
	}
	w.fakes.states[idB] = fleet.State{Connection: fleet.Unreachable, Configuration: fleet.ConfigUnknown}
	w.lookAt(noSnapshot)
	if got := w.differences(""); got.Unknown != 1 || len(got.Failed) != 0 {
		t.Errorf("got %+v", got)
	}
}

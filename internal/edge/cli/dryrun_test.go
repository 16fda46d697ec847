package cli

import (
	"testing"

	"muster/api"
)

// A dry run of a change that the server refuses ended with 0.
func TestADryRunOfARefusedChangeEndsWithThree(t *testing.T) {
	file := write(t, t.TempDir(), "fails.star", failingTemplate)
	failsNow := failingPlan("fails")
	failsNow.Devices[0].FailsNow = true
	put := []string{"template", "put", file}
	for name, c := range map[string]struct {
		args []string
		plan api.WhatIfPlan
		want int
	}{
		"no plan":                {put, failingPlan("fails"), exitRefused},
		"no plan, as JSON":       {append(put, "-o", "json"), failingPlan("fails"), exitRefused},
		"no plan, allowed":       {append(put, "--allow-failing"), failingPlan("fails"), exitDone},
		"no plan before, either": {put, failsNow, exitDone},
		"a broken assertion":     {put, api.WhatIfPlan{Broken: []api.BrokenAssertion{{Name: "a"}}}, exitRefused},
		"nothing would be wrong": {put, api.WhatIfPlan{}, exitDone},
	} {
		args := append(append([]string{}, c.args...), "--dry-run", "--token", "x", "--server", planning(t, c.plan))
		if code, out, errs := run(t, args...); code != c.want {
			t.Errorf("%s: got %d, want %d\n%s%s", name, code, c.want, out, errs)
		}
	}
}

package plan_test

import (
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
)

// A list in which a member has no ID, or two have the same, is one change as a whole: what is in it escapes the rules,
// so it is refused. No template can ask for it; a revision could.
func TestAListWhoseMembersCannotBeToldApartIsRefused(t *testing.T) {
	for name, member := range map[string]string{
		"nameless": `{"id": "", "path": "/x"}`, "double": `{"id": "photos-x4kd", "path": "/x"}`,
		"no object": `"photos-x4kd"`,
	} {
		t.Run(name, func(t *testing.T) {
			observed := stconfig.Sample()
			added, err := stconfig.Parse([]byte(member))
			if err != nil {
				t.Fatal(err)
			}
			members := []stconfig.Value{added}
			for folder := range observed.Get("folders").Values() {
				members = append(members, folder)
			}
			p, err := plan.Make(plan.Input{Device: stconfig.SampleID, Observed: observed,
				Desired: observed.With("folders", stconfig.List(members...)), Consent: func(plan.Change) bool { return true }})
			if err != nil || len(p.Changes) != 1 || p.Changes[0].Class != plan.Refused {
				t.Errorf("%v, %v", p.Changes, err)
			}
		})
	}
}

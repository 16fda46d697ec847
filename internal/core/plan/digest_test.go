package plan_test

import (
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
)

// Any change of templates and tags in the fleet made each plan another one: where others save often, a person's apply
// was refused each time.
func TestAPlanIsTheSameWhateverElseTheFleetChanges(t *testing.T) {
	made := func(generation int64, rate string) plan.Plan {
		doc := stconfig.Sample()
		p, err := plan.Make(plan.Input{Device: stconfig.SampleID, Generation: generation, Observed: doc,
			Desired: stconfig.Replace(doc, keyOf(t, "options.maxSendKbps"), stconfig.Literal(rate)),
			Why:     func(stconfig.Key) plan.Why { return plan.Why{Templates: []int64{1}} }})
		if err != nil || len(p.Changes) != 1 {
			t.Fatalf("%d changes, %v", len(p.Changes), err)
		}
		return p
	}
	if made(7, "100").Digest != made(8, "100").Digest {
		t.Error("the same change of a later generation is another plan")
	}
	if made(7, "100").Digest == made(7, "200").Digest {
		t.Error("another change is the same plan")
	}
}

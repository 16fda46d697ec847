package plan_test

import (
	"fmt"
	"testing"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// BenchmarkDesired folds twenty templates over one device's configuration, with their fragments at hand; the yardstick
// is decoding that configuration.
func BenchmarkDesired(b *testing.B) {
	doc := stconfig.Sample()
	var templates []fleet.Template
	fragments := map[int64]stconfig.Value{}
	for i := range 20 {
		t := fleet.Template{ID: int64(i + 1), Op: fleet.OpMerge, Key: "options"}
		fragments[t.ID] = stconfig.Obj(stconfig.Member{Name: "maxSendKbps", Value: stconfig.Literal(fmt.Sprint(i))})
		if i%4 == 0 {
			t.Key = "folders"
			fragments[t.ID] = stconfig.List(stconfig.Obj(
				stconfig.Member{Name: "id", Value: stconfig.Text(fmt.Sprint("f", i))},
				stconfig.Member{Name: "path", Value: stconfig.Text(fmt.Sprint("/srv/", i))}))
		}
		templates = append(templates, t)
	}
	text := doc.JSON()
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := stconfig.Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	fold := func() desired.Result {
		r, err := desired.Fold(desired.Input{Device: stconfig.SampleID, Observed: doc, Templates: templates,
			Evaluate: func(t fleet.Template, _ stconfig.Value) (desired.Fragment, error) {
				return desired.Fragment{Value: fragments[t.ID]}, nil
			}})
		if err != nil {
			b.Fatal(err)
		}
		return r
	}
	b.Run("fold", func(b *testing.B) {
		for b.Loop() {
			fold()
		}
	})
	b.Run("plan", func(b *testing.B) {
		r := fold()
		for b.Loop() {
			if _, err := plan.Make(plan.Input{Device: stconfig.SampleID, Observed: r.Observed(), Digest: "at hand",
				Desired: r.Desired,
				Why:     func(key stconfig.Key) plan.Why { return plan.Why(r.Why(key)) }}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

package reconcile_test

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

// A program was run up to three times, each time for as long as one run may take: it was refused after 3 s.
func TestAllRunsOfAnEvaluationTakeTwoSeconds(t *testing.T) {
	const fails, slow = "def template(): fail('no')", "def template(config): return config['options']['maxRecvKbps']"
	for name, test := range map[string]struct {
		text  string
		takes time.Duration
	}{
		"fails after 1.5 s": {fails, 1500 * time.Millisecond},
		"gives a value":     {slow, 1400 * time.Millisecond},
	} {
		in(t, func(t *testing.T) {
			b := newBench(t, tmpl(1, fleet.OpSet, "options.maxRecvKbps", "5"))
			b.start()
			defer b.stop()
			b.evals.takes = map[string]time.Duration{test.text: test.takes}
			began := time.Now()
			ev, err := b.engine.Evaluate(t.Context(), tmpl(2, fleet.OpSet, "ignores.docs", test.text), b.id)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("%s: took %v", name, took)
			}
			if fleet.CodeOf(err) != fleet.CodeInvalid {
				t.Errorf("%s: got %+v, %v", name, ev, err)
			}
		})
	}
}

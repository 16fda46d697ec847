package plan_test

import (
	"testing"

	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Whether a program's result stays the same over its own result is asked only of those that look at the configuration,
// and only where they change something.
func TestOnlyReadersOfTheConfigurationAreEvaluatedTwice(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       int
	}{
		{"HJSON", "123", 1},
		{"a program that looks at nothing", "def template():\n    return 100 + 23\n", 1},
		{"a program that looks at its device", "def template(device):\n    return len(device.os)\n", 1},
		{"a program that takes config and does not look", "def template(config):\n    return 123\n", 1},
		{"a reader that changes nothing", "def template(config):\n    return config.options.maxSendKbps\n", 1},
		{"a reader that changes something", "def template(config):\n    return 123 if config.options.natEnabled else 5\n",
			2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			evaluated := 0
			_, err := desired.Fold(desired.Input{
				Device: stconfig.SampleID, Observed: stconfig.Sample(),
				Templates: []fleet.Template{{ID: 1, Op: fleet.OpSet, Key: "options.maxSendKbps", Text: tc.text}},
				Evaluate: func(made fleet.Template, config stconfig.Value) (desired.Fragment, error) {
					evaluated++
					return run(made, config)
				},
			})
			if err != nil || evaluated != tc.want {
				t.Errorf("evaluated %d times, want %d (%v)", evaluated, tc.want, err)
			}
		})
	}
}

package reconcile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

const canary = "canary-in-a-cause"

// withCanary are errors whose cause must stay in the log.
func withCanary() map[string]error {
	cause := errors.New(canary)
	errs := map[string]error{"no fleet error": cause}
	for _, code := range []fleet.Code{fleet.CodeInvalid, fleet.CodeTooLarge, fleet.CodeMalformed, fleet.CodeUnbelievable,
		fleet.CodeUnavailable, fleet.CodeRejected, fleet.CodeInternal} {
		errs[string(code)] = &fleet.Error{Code: code, During: "test", Message: "what a person may read", Err: cause}
		errs[string(code)+" without message"] = &fleet.Error{Code: code, Err: cause}
	}
	return errs
}

// The state of a device whose template failed quoted the cause of the error.
func TestACauseIsInNoStateAndNoIntent(t *testing.T) {
	for name, err := range withCanary() {
		for place, fail := range map[string]func(*bench){
			"evaluate": func(b *bench) { b.evals.fails(err) },
			"write":    func(b *bench) { b.daemon.before = func(*daemon, string) error { return err } },
		} {
			t.Run(name+", "+place, func(t *testing.T) {
				in(t, func(t *testing.T) {
					b := newBench(t, noNAT)
					fail(b)
					b.start()
					defer b.stop()
					<-time.After(5 * time.Second)
					text := fmt.Sprintf("%+v %+v", b.state(), b.store.intents)
					evaluation, err := b.engine.Evaluate(t.Context(), tmpl(0, fleet.OpSet, "options.natEnabled", "true"), b.id)
					if err == nil {
						text += fmt.Sprintf("%+v", evaluation)
					}
					text += fleet.Reason(err)
					registry, _ := b.store.Registry(t.Context())
					err = b.engine.WhatIf(t.Context(), registry, registry, func(e plan.Effect) { text += fleet.Reason(e.Err) })
					if text += fleet.Reason(err); strings.Contains(text, canary) {
						t.Errorf("the cause is in %s", text)
					}
				})
			})
		}
	}
}

package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// knownSecrets are secrets by their names.
type knownSecrets struct {
	unusedSecrets
	names []string
}

type unusedSecrets = interface {
	PutSecret(ctx context.Context, put fleet.PutSecret) (secret fleet.StoredSecret, created bool, err error)
	DeleteSecret(ctx context.Context, name string) error
}

func (k knownSecrets) Secrets(context.Context) (out []fleet.StoredSecret, err error) {
	for _, name := range k.names {
		out = append(out, fleet.StoredSecret{Name: name})
	}
	return out, nil
}

// A plan said of a mistyped secret that there was no such secret, and nothing of the one that was meant.
func TestAPlanNamesTheSecretThatIsMeant(t *testing.T) {
	w := newWorld(t)
	w.with(func(o *setup) { o.Secrets = knownSecrets{names: []string{"gui", "vault-pw"}} })
	w.fakes.effects = func(_, _ *fleet.Registry) ([]plan.Effect, error) { return nil, nil }
	w.fakes.warnings = func(fleet.Template) []string { return nil }
	for text, want := range map[string][]string{
		`"${secret:vault-pwd}"`:              {`template "t": there is no secret "vault-pwd" (did you mean "vault-pw"?)`},
		`secret("wifi-of-the-office")`:       {`template "t": there is no secret "wifi-of-the-office"`},
		`secret(name = 'gui')`:               {},
		"# ${secret:old}\n\"${secret:gui}\"": {},
	} {
		body, err := json.Marshal(map[string]any{"templates": map[string]any{"new": []any{map[string]string{
			"label": "t", "op": "set", "key": "gui.password", "template": text}}}})
		if err != nil {
			t.Fatal(err)
		}
		var got api.WhatIfPlan
		if err := json.Unmarshal([]byte(w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/plan",
			body: string(body)})), &got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Warnings, want) {
			t.Errorf("%s: got %q, want %q", text, got.Warnings, want)
		}
	}
}

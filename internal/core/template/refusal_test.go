package template

import (
	"strings"
	"testing"
)

// A stored template went on to its devices before; a newer Muster evaluates it as before, and refuses to save it.
func TestAStoredTextIsEvaluatedAlthoughItMayNotBeSavedAgain(t *testing.T) {
	cases := map[string]struct{ text, value, refusal string }{
		"Jinja in a program": {
			"def template(device):\n  return {\"label\": \"{{ device.label }}\"}",
			`{"label":"{{ device.label }}"}`, "placeholder of another template language",
		},
		"Jinja in an expression": {
			`["{{ x }}"]`, `["{{ x }}"]`, "placeholder of another template language",
		},
		"Jinja in HJSON": {
			"{ label: {{ x }} }", "", "",
		},
		"Jinja in a text of HJSON": {
			"{ label: \"{{ x }}\" }", `{"label":"{{ x }}"}`, "placeholder of another template language",
		},
		"YAML with one entry": {
			"devices:\n  - deviceID: AAA\n", `{"devices":"- deviceID: AAA"}`, "this is YAML",
		},
		"an anchor of YAML": {
			"{ a: &b\n }", `{"a":"&b"}`, "this is YAML",
		},
		"a text without either": {
			`{ label: "x" }`, `{"label":"x"}`, "",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := Compile(c.text)
			if c.value == "" {
				if err == nil {
					t.Fatalf("%q can be read", c.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			made, err := p.Evaluate(Input{}, Limits{})
			if err != nil || string(made.Value.JSON()) != c.value {
				t.Errorf("got %s, %v, want %s", made.Value.JSON(), err, c.value)
			}
			_, err = CompileNew(c.text)
			if c.refusal == "" {
				if err != nil || p.Refusal() != nil {
					t.Errorf("got %v, %v, want no refusal", err, p.Refusal())
				}
			} else if err == nil || !strings.Contains(err.Error(), c.refusal) {
				t.Errorf("got %v, want %q", err, c.refusal)
			}
		})
	}
}

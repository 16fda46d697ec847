package stsim

import (
	"encoding/json"
	"testing"

	"muster/internal/core/stconfig"
)

func TestIndentedAsTheDaemonDoes(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `"a"`, `null`, `1`, `{"a":{},"b":[],"c":[1,[2,{"d":"\u0001 \" é"}]],"e":{"f":true,"g":null}}`,
	} {
		v, err := stconfig.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := indented(v); err != nil || string(got) != string(want) {
			t.Errorf("got %s, want %s (%v)", got, want, err)
		}
	}
}

package template

import (
	"slices"
	"testing"
)

func TestVarsNamedFindsHowProgramsReadThem(t *testing.T) {
	names := []string{"get", "down", "up_load", "x1", "other"}
	for text, want := range map[string][]string{
		`device.vars.up_load`:                               {"up_load"},
		`d.vars["down"] + d.vars['x1']`:                     {"down", "x1"},
		`device.vars.get("down", device.vars.get('down'))`:  {"down"},
		`device.vars.get ( "x1" )`:                          {"x1"},
		`device.vars.get`:                                   {"get"},
		`{"options": {"other": 1}} # no vars`:               nil,
		`device.vars.unknown + somevars.down + device.down`: nil,
	} {
		if got := VarsNamed(text, names); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

package rollout

import (
	"fmt"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestForeseeTellsWhenTheBlastLimitWouldHold(t *testing.T) {
	now := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}
	for n := range 20 {
		now.Devices[deviceN(n)] = &fleet.Registered{Tags: []fleet.Tag{fleet.Tag(fmt.Sprint("site", n%4))}}
	}
	around := fleet.TaggedTemplate{Template: fleet.Template{ID: 1, Op: fleet.OpSet, Text: "devices", Reads: fleet.Inputs{Known: true, Devices: true}}, Tags: []fleet.Tag{"site1"}}
	now.Templates = []fleet.TaggedTemplate{around}
	sites := func(tags ...fleet.Tag) fleet.Edit {
		return fleet.Edit{New: []fleet.TaggedTemplate{{Template: fleet.Template{Op: fleet.OpSet, Key: "options.natEnabled", Text: "false"}, Tags: tags}}}
	}
	for name, one := range map[string]struct {
		limit string
		edit  fleet.Edit
		want  string
	}{
		"no limit":               {"", sites("site0", "site1", "site2", "site3"), ""},
		"as many as allowed":     {"5", sites("site0"), ""},
		"too many":               {"5", sites("site0", "site1"), "10 devices, more than the limit of 5"},
		"a share":                {"40%", sites("site0", "site1"), "10 devices, more than the limit of 40%"},
		"nobody":                 {"1", sites("nobody"), ""},
		"a program looks around": {"3", fleet.Edit{Tag: []fleet.Tagging{{Tag: "x", Device: deviceN(0)}}}, "5 devices, more than the limit of 3"},
	} {
		t.Run(name, func(t *testing.T) {
			limit, err := ParseLimit(one.limit)
			if err != nil {
				t.Fatal(err)
			}
			then, _, err := now.Edited(one.edit)
			if err != nil {
				t.Fatal(err)
			}
			r := New(Options{Fleet: quietFleet{}, Evaluator: &counting{}, BlastLimit: limit})
			got := r.Foresee(t.Context(), now, then)
			if (got == "") != (one.want == "") || !strings.Contains(got, one.want) {
				t.Errorf("got %q, want %q", got, one.want)
			}
		})
	}
}

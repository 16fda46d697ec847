package desired_test

import (
	"fmt"
	"testing"

	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

var known = fleet.Inputs{Known: true}

// ordered are templates about places that depend on each other, and about others.
var ordered = []fleet.Template{
	{Op: fleet.OpSet, Key: "options.maxSendKbps", Text: "5", Reads: known},
	{Op: fleet.OpSet, Key: "Options.MaxSendKbps", Text: "7", Reads: known},
	{Op: fleet.OpMerge, Key: "options", Text: `{"maxSendKbps": 9}`, Reads: known},
	{Op: fleet.OpSet, Key: "options.natEnabled", Text: "false", Reads: known},
	{Op: fleet.OpAppend, Key: "options.listenAddresses", Text: `["tcp://:1"]`, Reads: known},
	{Op: fleet.OpSet, Key: "gui.theme", Text: `"black"`, Reads: known},
	{Op: fleet.OpMerge, Key: "", Text: `{"gui": {"theme": "light"}}`, Reads: known},
	{Op: fleet.OpMerge, Key: "defaults.folder", Text: `{"rescanIntervalS": 77}`, Reads: known},
	{Op: fleet.OpSet, Key: "folders.made", Text: `{"path": "/made"}`, Reads: known},
	{Op: fleet.OpMerge, Key: "folders.*", Text: `{"rescanIntervalS": 88}`, Reads: known},
	{Op: fleet.OpSet, Key: "folders.made.label", Text: `"one"`, Reads: known},
	{Op: fleet.OpMerge, Key: "*", Text: `{}`, Reads: known},
	{Op: fleet.OpSet, Key: "options.maxRecvKbps", Text: "3", Reads: fleet.Inputs{Known: true, Config: true}},
	{Op: fleet.OpSet, Key: "options.maxRecvKbps", Text: "4"},
}

func TestIndependentTemplatesMakeTheSameInEitherOrder(t *testing.T) {
	fold := func(templates ...fleet.Template) string {
		for i := range templates {
			templates[i].Priority = int64(i)
		}
		r, err := desired.Fold(desired.Input{
			Device: stconfig.SampleID, Observed: stconfig.Sample(), Templates: templates,
			Evaluate: func(t fleet.Template, _ stconfig.Value) (desired.Fragment, error) {
				v, err := stconfig.Parse([]byte(t.Text))
				return desired.Fragment{Value: v}, err
			},
		})
		if err != nil {
			return "failed"
		}
		return stconfig.Digest(r.Desired)
	}
	independent := map[string]bool{}
	for i, a := range ordered {
		for j, b := range ordered {
			if a.ID, b.ID = int64(i+1), int64(j+1); i == j || !desired.AreIndependent(a, b) {
				continue
			}
			independent[fmt.Sprint(i, " ", j)] = true
			if fold(a, b) != fold(b, a) {
				t.Errorf("%s and %s differ by their order", a.Key, b.Key)
			}
		}
	}
	for pair, want := range map[string]bool{
		"0 3": true, "3 0": true, "0 4": true, "0 5": true, "3 8": true, "5 9": true, // about other places
		"0 1": false, "0 2": false, "2 0": false, "5 6": false, "0 11": false, // about the same one
		"7 8": false, "8 9": false, "8 10": false, // a folder, its defaults and its members
		"0 12": false, "12 5": false, "0 13": false, // a program reads the rest, or may read it
	} {
		if independent[pair] != want {
			t.Errorf("pair %s: independent %v, want %v", pair, independent[pair], want)
		}
	}
}

package desired_test

import (
	"slices"
	"testing"

	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

func TestTheLastWordIsSaid(t *testing.T) {
	one := func(id, priority int64, op fleet.Op, key, text string) fleet.Template {
		return fleet.Template{ID: id, Priority: priority, Op: op, Key: key, Text: text}
	}
	const base = `{"path": "/p", "label": "one"}`
	for name, test := range map[string]struct {
		templates []fleet.Template
		want      []string
	}{
		"another value at the same key": {
			[]fleet.Template{one(1, 10, fleet.OpSet, "options.maxSendKbps", "5"),
				one(3, 20, fleet.OpSet, "options.maxSendKbps", "7")},
			[]string{"options.maxSendKbps: template 3 (priority 20) has the last word over template 1 (priority 10)"}},
		"the larger ID wins": {
			[]fleet.Template{one(1, 0, fleet.OpSet, "options.maxSendKbps", "5"),
				one(2, 0, fleet.OpMerge, "options", `{"maxSendKbps": 7}`)},
			[]string{"options.maxSendKbps: template 2 (priority 0) has the last word over template 1 (priority 0)"}},
		"the overruled one asks for what is there": {
			[]fleet.Template{one(1, 0, fleet.OpSet, "options.natEnabled", "true"),
				one(2, 0, fleet.OpSet, "options.natEnabled", "false")},
			[]string{"options.natEnabled: template 2 (priority 0) has the last word over template 1 (priority 0)"}},
		"the same value": {
			[]fleet.Template{one(1, 0, fleet.OpSet, "options.maxSendKbps", "5"),
				one(2, 0, fleet.OpMerge, "", `{"options": {"maxSendKbps": 5}}`)}, nil},
		"other keys": {
			[]fleet.Template{one(1, 0, fleet.OpMerge, "options", `{"maxSendKbps": 5}`),
				one(2, 0, fleet.OpMerge, "options", `{"maxRecvKbps": 5}`)}, nil},
		"what the first one does not name": {
			[]fleet.Template{one(1, 0, fleet.OpSet, "folders.p", base),
				one(2, 0, fleet.OpMerge, "folders.p", `{"rescanIntervalS": 60}`)}, nil},
		"what the first one names": {
			[]fleet.Template{one(1, 0, fleet.OpSet, "folders.p", base),
				one(2, 0, fleet.OpMerge, "folders.*", `{"label": "two"}`)},
			[]string{"folders.p.label: template 2 (priority 0) has the last word over template 1 (priority 0)"}},
		"a list to which a later one adds": {
			[]fleet.Template{one(1, 0, fleet.OpMerge, "folders", `[{"id": "p", "path": "/p"}]`),
				one(2, 0, fleet.OpAppend, "folders", `[{"id": "q", "path": "/q"}]`)}, nil},
		"what the first one could not do yet": {
			[]fleet.Template{one(1, 0, fleet.OpSet, "folders.p.label", `"x"`), one(2, 0, fleet.OpSet, "folders.p", base)}, nil},
		"a removal": {
			[]fleet.Template{one(1, 0, fleet.OpSet, "folders.p", base), one(2, 5, fleet.OpRemove, "folders.p", `true`)},
			[]string{"folders.p: template 2 (priority 5) has the last word over template 1 (priority 0)"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := desired.Fold(desired.Input{
				Device: stconfig.SampleID, Observed: stconfig.Sample(), Templates: test.templates,
				Evaluate: func(t fleet.Template, _ stconfig.Value) (desired.Fragment, error) {
					v, err := stconfig.Parse([]byte(t.Text))
					return desired.Fragment{Value: v}, err
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range r.Conflicts {
				got = append(got, c.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q\nwant %q", got, test.want)
			}
		})
	}
}

// A field that Muster does not know and the daemon has is one of a newer version, and no mistake.
func TestAFieldThatTheDaemonHasIsNotDoubted(t *testing.T) {
	doc := stconfig.Sample()
	doc = doc.With("options", doc.Get("options").With("brandNew", stconfig.Boolean(false)))
	mistakes := func(key string) int {
		r, err := desired.Fold(desired.Input{
			Device: stconfig.SampleID, Observed: doc, Templates: []fleet.Template{{ID: 1, Op: fleet.OpSet, Key: key}},
			Evaluate: func(fleet.Template, stconfig.Value) (desired.Fragment, error) {
				return desired.Fragment{Value: stconfig.Boolean(true)}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Mistakes)
	}
	if known, slip := mistakes("options.brandNew"), mistakes("options.brandNewe"); known != 0 || slip != 1 {
		t.Errorf("got %d and %d mistakes, want 0 and 1", known, slip)
	}
}

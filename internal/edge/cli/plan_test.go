package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func TestPlanFilesAreJSONOrHJSON(t *testing.T) {
	const want = `{"templates":{"new":[{"op":"set","key":"options.natEnabled","template":"false","tags":["laptops"]}],"changed":[{"id":3,"priority":20}],"deleted":[4]}}`
	for name, text := range map[string]string{
		"JSON": want,
		"HJSON": `
			# no NAT for laptops
			templates: {
				new: [{op: "set", key: "options.natEnabled", template: "false", tags: ["laptops"]}]
				changed: [{id: 3, priority: 20}]
				deleted: [4]
			}`,
	} {
		t.Run(name, func(t *testing.T) {
			body, err := parseWhatIf([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(body); err != nil || string(got) != want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	for name, text := range map[string]string{
		"unknown field":      `{"templates":{"newer":[]}}`,
		"duplicate":          `{"tags":{},"tags":{}}`,
		"duplicate in HJSON": "tags: {}\ntags: {}",
		"no object":          `[]`,
		"wrong type":         `{"templates":{"deleted":["x"]}}`,
		"no end":             `{templates: {`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseWhatIf([]byte(text)); fleet.CodeOf(err) != fleet.CodeInvalid {
				t.Errorf("got %v, want invalid", err)
			}
		})
	}
}

var sample = api.WhatIfPlan{
	Generation: 4, NewTemplates: []int64{9},
	Touched: api.Touched{Devices: 2, Folders: 1, Keys: 4, Held: 1, Failed: 1},
	Devices: []api.DeviceEffect{
		{DeviceID: "AAAAAAA-B", Label: "desk", Changes: []api.PlannedChange{
			{Key: "options.natEnabled", From: raw("true"), To: raw("false"), Templates: []int64{9}, Class: "free"}}},
		{DeviceID: "BBBBBBB-C", Label: "evil\x1b[31m", Error: "template 9: line 1"},
		{DeviceID: "CCCCCCC-D", Label: "lap", Changes: []api.PlannedChange{
			{Key: "options.natEnabled", From: raw("true"), To: raw("false"), Templates: []int64{9}, Class: "free"}}},
		{DeviceID: "DDDDDDD-E", Changes: []api.PlannedChange{
			{Key: "folders.old", From: raw(`{"id":"old"}`), To: raw("null"), Class: "held",
				Reason: "the folder would be taken from the device"},
			{Key: "folders.new", From: raw("null"),
				To:        raw(`{"id":"new","label":"a label that is so long that it does not fit beside","path":"/x"}`),
				Templates: []int64{1, 9}, Class: "free"},
			{Key: "options.listenAddresses", From: raw(`["default"]`), To: raw("null"), Class: "skipped",
				Reason: "unknown there"}},
			Dropped: []api.PlannedChange{{Key: "options.maxSendKbps"}}},
	},
}

const sampleText = `2 devices would change: 1 folder, 4 keys.
1 change would wait for consent.
No plan could be made for 1 device.

2 devices: desk (AAAAAAA), lap (CCCCCCC)
  ~ options.natEnabled: true -> false
      (template 9)

evil�[31m (BBBBBBB)
  ! template 9: line 1

DDDDDDD
  - folders.old
      held: the folder would be taken from the device
  + folders.new
      {
        "id": "new",
        "label": "a label that is so long that it does not fit beside",
        "path": "/x"
      }
      (template 1, 9)
  · options.listenAddresses
      skipped: unknown there
    no longer planned: options.maxSendKbps
`

func TestPlanIsPrintedForAPerson(t *testing.T) {
	var out bytes.Buffer
	if err := printWhatIf(&painter{w: &out}, sample); err != nil || out.String() != sampleText {
		t.Errorf("got %v\n%s", err, out.String())
	}
	out.Reset()
	held := sample
	held.Waves = []int{1, 3, 26}
	held.Approval = "this change touches 2 devices, more than the approval threshold of 1 (--approval-threshold)"
	if err := printWhatIf(&painter{w: &out}, held); err != nil ||
		!strings.Contains(out.String(), "It would be a rollout in 3 waves: 1 device, then 3 devices, then 26 devices.\n"+
			"It would wait for an admin's approval: "+held.Approval+".\n") {
		t.Errorf("got %v\n%s", err, out.String())
	}
	out.Reset()
	if err := printWhatIf(&painter{w: &out}, api.WhatIfPlan{}); err != nil ||
		out.String() != "No configuration changes.\n" {
		t.Errorf("got %v\n%s", err, out.String())
	}
	out.Reset()
	if err := printWhatIf(&painter{w: &out, colour: true}, sample); err != nil ||
		!strings.Contains(out.String(), "\x1b[33m  ~ options.natEnabled") {
		t.Errorf("got no colours: %v\n%s", err, out.String())
	}
	t.Setenv("NO_COLOR", "")
	if coloured("auto", &out) || !coloured("always", &out) || coloured("never", os.Stdout) {
		t.Error("colours where they do not belong")
	}
}

// TestALargePlanIsFoldedIntoSentences covers a plan of hundreds of keys, in which nobody found what they looked for.
func TestALargePlanIsFoldedIntoSentences(t *testing.T) {
	large := sample
	large.Devices = nil
	for range mostUnfolded + 1 {
		large.Devices = append(large.Devices, sample.Devices[0])
	}
	large.Summary = api.Summary{Removals: 1, Removal: "1 change takes something away.", MoreChanges: 3, MoreDevices: 2,
		MoreWithoutPlan: 1_010,
		Sentences: []api.Sentence{
			{Text: "Old\x1b is removed from nas", Kind: "removed", Devices: 1, Changes: 1, Labels: []string{"nas"}},
			{Text: "options.natEnabled becomes false on 7,005 devices", Kind: "changed", Devices: 7005, Changes: 7005,
				Labels: []string{"a", "b", "c", "d", "e"}}}}
	const sentences = `  - Old� is removed from nas
  ~ options.natEnabled becomes false on 7,005 devices
      a, b, c, d, e and 7,000 more
  and 3 more changes on 2 devices: -v shows each key.
  and 1,010 more devices without a plan
1 change takes something away.
`
	const key = "  ~ options.natEnabled: true -> false\n"
	for _, tc := range []struct {
		name         string
		plan         api.WhatIfPlan
		all          bool
		keys, folded bool
	}{
		{name: "large", plan: large, folded: true},
		{name: "large with -v", plan: large, all: true, keys: true},
		{name: "small", plan: func() api.WhatIfPlan { p := large; p.Devices = p.Devices[:1]; return p }(), keys: true},
	} {
		var out bytes.Buffer
		if err := printWhatIf(&painter{w: &out, all: tc.all}, tc.plan); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if !strings.Contains(got, sentences) || strings.Contains(got, key) != tc.keys ||
			strings.Contains(got, "-v shows the keys and values of each device.") != tc.folded {
			t.Errorf("%s: got\n%s", tc.name, got)
		}
	}
	var markdown strings.Builder
	markdownSentences(&markdown, large.Summary)
	if got := markdown.String(); !strings.Contains(got,
		"- options.natEnabled becomes false on 7,005 devices (a, b, c, d, e and 7,000 more)\n") ||
		!strings.Contains(got, "- and 3 more changes on 2 devices\n- and 1,010 more devices without "+
			"a plan\n\n1 change takes") {
		t.Errorf("got\n%s", got)
	}
}

func TestALongLabelIsCut(t *testing.T) {
	if got := nameOf("AAAAAAA-B", strings.Repeat("ü", 41)); got != strings.Repeat("ü",
		39)+"… (AAAAAAA)" {
		t.Errorf("got %q", got)
	}
	if got := nameOf("AAAAAAA-B", strings.Repeat("ü", 40)); got != strings.Repeat("ü",
		40)+" (AAAAAAA)" {
		t.Errorf("got %q", got)
	}
}

func TestPlanAsksTheServer(t *testing.T) {
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := new(bytes.Buffer)
		if _, err := body.ReadFrom(r.Body); err != nil {
			t.Error(err)
		}
		if sent = r.Method + " " + r.URL.Path + " " + body.String(); strings.Contains(sent, `"deleted":[5]`) {
			w.Header().Set("Content-Type", api.ProblemType)
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(api.Problem{Status: 422, Detail: "there is no template 5",
				Hint: "Name templates by their id."})
			return
		}
		_ = json.NewEncoder(w).Encode(sample)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "plan.hjson")
	run := func(text string, more ...string) (code int, out, err string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		args := append([]string{"plan", "--server", server.URL, "--token", "x"}, more...)
		code = Run(t.Context(), args, Streams{In: strings.NewReader(text), Out: &stdout, Err: &stderr}, "test")
		return code, stdout.String(), stderr.String()
	}
	for _, from := range []string{file, "-"} {
		code, out, err := run("templates: {deleted: [4]}", "-f", from)
		if code != exitDiffers || out != sampleText || sent != `POST /api/v1/plan {"templates":{"deleted":[4]}}` {
			t.Errorf("got %d %s %s, sent %s", code, out, err, sent)
		}
	}
	if code, _, err := run("templates: {deleted: [5]}", "-f", file); !refuses(code) ||
		!strings.Contains(err, "there is no template 5") || !strings.Contains(err, "Name templates by their id.") {
		t.Errorf("got %d %s", code, err)
	}
	if code, _, err := run("templates: {removed: [5]}", "-f", file); !refuses(code) ||
		!strings.Contains(err, "removed") {
		t.Errorf("got %d %s", code, err)
	}
	if code, out, _ := run("{}", "-f", file, "--json"); code != exitDiffers || !json.Valid([]byte(out)) {
		t.Errorf("got %d %s", code, out)
	}
	if code, _, err := run("{}", "-f", filepath.Join(t.TempDir(), "none")); !refuses(code) ||
		!strings.Contains(err, "not readable") {
		t.Errorf("got %d %s", code, err)
	}
}

// TestANewFolderIsShownWithoutTheDaemonsDefaults covers a plan that printed all forty fields of a new folder.
func TestANewFolderIsShownWithoutTheDaemonsDefaults(t *testing.T) {
	folder := stconfig.Sample().Get("defaults").Get("folder").With("id", stconfig.Text("team")).
		With("path", stconfig.Text("~/team"))
	c := api.PlannedChange{Key: "folders.team", From: raw("null"), To: folder.JSON(), Class: "free"}
	var short, all bytes.Buffer
	(&painter{w: &short}).change(c)
	(&painter{w: &all, all: true}).change(c)
	want := "  + folders.team {\"id\":\"team\",\"path\":\"~/team\"}\n      and 37 defaults of the daemon (-v shows all)\n"
	if got := short.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := all.String(); !strings.Contains(got, "rescanIntervalS") || strings.Contains(got, "-v") {
		t.Errorf("with -v: got\n%s", got)
	}
}

// "Nothing would change. Put the tag on 1 device? It changes 0 devices." said it twice.
func TestAQuestionDoesNotCountDevicesWhereNoneChanges(t *testing.T) {
	server := answering(t, map[string]any{"GET /api/v1/devices": []api.Device{{DeviceID: idNAS, Label: "nas"}},
		"POST /api/v1/plan": api.WhatIfPlan{}, "GET /api/v1/tags/music/devices": []api.Device{}})
	_, out, errs := run(t, "device", "tag", "music", "nas", "--token", "x", "--server", server.URL)
	if !strings.Contains(out, "No configuration changes.\n") || !strings.Contains(out, "Put the tag") ||
		strings.Contains(out, "0 devices") {
		t.Errorf("got %s%s", out, errs)
	}
}

package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
)

// planning serves a plan, or the problem of a refused one.
func planning(t *testing.T, answer any) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body := any([]string{})
		if strings.HasSuffix(r.URL.Path, "/plan") {
			if body = answer; isProblem(answer) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusUnprocessableEntity)
			}
		}
		if err := json.NewEncoder(w).Encode(body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func isProblem(answer any) bool { _, is := answer.(api.Problem); return is }

func failingPlan(label string) api.WhatIfPlan {
	why := `template 4 "` + label + `", line 2, column 23: device.vars has no field nothing`
	return api.WhatIfPlan{NewTemplates: []int64{4}, Touched: api.Touched{Failed: 1},
		Summary: api.Summary{Sentences: []api.Sentence{{Kind: "failed", Text: "No plan can be made for nas: " + why,
			Devices: 1}}},
		Devices: []api.DeviceEffect{{DeviceID: idNAS, Label: "nas", Error: why}}}
}

const failingTemplate = "# label: fails\n# key:  options.maxSendKbps\n# tags: office\n# ---\n" +
	"def template(device):\n    return device.vars.nothing\n"

// The lines were those of the text, which begins after the header.
func TestTheLinesOfAPlanAreThoseOfTheFile(t *testing.T) {
	file := write(t, t.TempDir(), "fails.star", failingTemplate)
	put := []string{"template", "put", file, "--dry-run", "--token", "x", "--server", planning(t, failingPlan("fails"))}
	_, out, errs := run(t, put...)
	if !strings.Contains(out, `template 4 "fails", line 6 of `+file+`, column 23`) || strings.Contains(out, "line 2") {
		t.Errorf("got\n%s%s", out, errs)
	}
	if _, out, errs = run(t, append(put, "-o", "json")...); !strings.Contains(out, `\"fails\", line 2, column 23`) {
		t.Errorf("JSON: got\n%s%s", out, errs)
	}
}

func TestTheLinesOfAPlanOfFilesAreThoseOfTheFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, templatesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, fleetFileName, "{}\n")
	write(t, dir, templatesDir+"/a.star", failingTemplate)
	address := planning(t, api.FleetPlan{WhatIfPlan: failingPlan("fails"), Differs: true})
	for _, output := range []string{"text", "markdown"} {
		_, out, errs := run(t, "plan", "-f", dir, "-o", output, "--token", "x", "--server", address)
		if !strings.Contains(out, "line 6 of templates/a.star, column 23") || strings.Contains(out, "line 2,") {
			t.Errorf("%s: got\n%s%s", output, out, errs)
		}
	}
}

// Names of fields of the request, such as templates.new.0.template, were shown to people.
func TestARefusedChangeNamesTheTemplateAndItsFile(t *testing.T) {
	problem := func(field string, line, column int, message string) api.Problem {
		return api.Problem{Status: http.StatusUnprocessableEntity, Detail: message,
			Errors: []api.ProblemDetail{{Field: field, Line: line, Column: column, Message: message}}}
	}
	dir := t.TempDir()
	file := write(t, dir, "fails.star", failingTemplate)
	plan := write(t, dir, "plan.json", `{"templates":{"new":[{"label":"one"},{"label":"two"}],"changed":[{"id":7}]}}`)
	why := `no plan could be made any more for 1 of the devices: nas: template 4 "fails", line 2, column 23: no`
	for _, c := range []struct {
		file    string
		problem api.Problem
		want    string
	}{
		{file, problem("templates.new.0.template", 0, 0, "a number"), "muster: a number (" + file + ")\n"},
		{file, problem("templates.new.0.template", 2, 5, "no"), "muster: no (" + file + " line 6, column 5)\n"},
		{file, problem("templates.new.0.key", 1, 9, "no"), "muster: no (" + file + " line 2, column 17)\n"},
		{file, problem("devices", 0, 0, why), "line 6 of " + file + ", column 23: no"},
		{plan, problem("templates.new.1.template", 0, 0, "a number"), "muster: a number (template \"two\")\n"},
		{plan, problem("templates.new.1.key", 1, 9, "no"), "muster: no (template \"two\", key line 1, column 9)\n"},
		{plan, problem("templates.changed.0.template", 0, 0, "no"), "muster: no (template 7)\n"},
	} {
		args := []string{"template", "put", c.file, "--dry-run"}
		if c.file == plan {
			args = []string{"plan", "-f", plan}
		}
		_, _, errs := run(t, append(args, "--token", "x", "--server", planning(t, c.problem))...)
		if !strings.Contains(errs, c.want) || strings.Contains(errs, "templates.") {
			t.Errorf("%+v: got\n%s\nwant\n%s", c.problem.Errors, errs, c.want)
		}
	}
}

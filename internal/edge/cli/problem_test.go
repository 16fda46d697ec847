package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"muster/api"
)

// A program that asked for JSON got a text for people when something went wrong.
func TestErrorsAreJSONWhereJSONIsAskedFor(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", api.ProblemType)
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"type": "urn:muster:problem:not_found", "title": "Not Found", "status": 404,
			"detail": "there is no order 7", "hint": "GET /api/v1/orders lists all.",
			"see": {"subject": "orders"}}`))
	}))
	defer server.Close()
	for _, test := range []struct {
		args         string
		code         int
		kind         string
		status       int
		detail, hint string
	}{
		{"order show 7 --output=json", exitRefused, "not_found", 404, "there is no order 7",
			"`muster order list` lists all."},
		{"order show x -o json", exitUsage, "malformed", 400, "x", "Try `muster order show --help`."},
		{"order show -ojson", exitUsage, "malformed", 400, "<id>", "Try `muster order show --help`."},
		{"device list -o json --disk-below 101", exitUsage, "invalid", 422, "no percentage", ""},
		{"device list -o json --server http://127.0.0.1:1", exitUnreachable, "unavailable", 503, "no server answers",
			"--server or MUSTER_SERVER"},
		{"device tag -o json site nas --message " + strings.Repeat("x", 201), exitUsage, "invalid", 422, "200", ""},
		{"device list -o json --tag=", exitUsage, "invalid", 422, "--tag is blank", "muster device list --help"},
	} {
		args := strings.Fields(test.args)
		if !strings.Contains(test.args, "--server") {
			args = append(args, "--server", server.URL)
		}
		code, out, errs := run(t, append(args, "--token", "x")...)
		var got api.Problem
		reader := json.NewDecoder(strings.NewReader(errs))
		reader.DisallowUnknownFields()
		if err := reader.Decode(&got); err != nil || reader.More() || code != test.code || out != "" {
			t.Errorf("%s: got %d, %v and\n%s%s", test.args, code, err, out, errs)
		}
		if got.Type != "urn:muster:problem:"+test.kind || got.Status != test.status || got.Title == "" ||
			!strings.Contains(got.Detail, test.detail) || !strings.Contains(got.Hint, test.hint) {
			t.Errorf("%s: got %+v", test.args, got)
		}
	}
}

// The question of a command that asks was printed before the error, so that standard error was no JSON.
func TestAQuestionThatNobodyAnswersIsPartOfTheProblem(t *testing.T) {
	address, _ := serving(t, map[string]any{"tokens": []api.Token{{Name: "script"}}})
	code, _, errs := run(t, "token", "delete", "script", "-o", "json", "--server", address, "--token", "x")
	var got api.Problem
	if err := json.Unmarshal([]byte(errs), &got); err != nil || code != exitRefused || got.Status != http.StatusConflict ||
		!strings.Contains(got.Detail, "script") || !strings.Contains(got.Hint, "--yes") {
		t.Errorf("got %d, %v and %s", code, err, errs)
	}
}

func TestTheOrderOfAListMayBeginWithAHyphen(t *testing.T) {
	for typed, want := range map[string]string{
		"device list --sort -since -o name":  "device list --sort=-since -o name",
		"device list --sort since":           "device list --sort since",
		"device list --sort -o name":         "device list --sort -o name",
		"device list --sort --limit 3":       "device list --sort --limit 3",
		"device list --sort":                 "device list --sort",
		"device list --sort=-since":          "device list --sort=-since",
		"device get -- --sort -since":        "device get -- --sort -since",
		"device list --sort -since --sort x": "device list --sort=-since --sort x",
	} {
		if got := joinedSorts(strings.Fields(typed)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: got %v", typed, got)
		}
	}
}

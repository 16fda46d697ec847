package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/api"
)

// Errors named fields of the API, such as (query.stale), which nobody can type.
func TestErrorsNameTheFlagsOfTheCommand(t *testing.T) {
	var problem api.Problem
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", api.ProblemType)
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(problem)
	}))
	t.Cleanup(server.Close)
	for _, test := range []struct {
		command, want string
		field         string
		location      string
		message       string
	}{
		{"device list --stale x", "no time (--stale)", "", "query.stale", "no time"},
		{"order list", "no number (--limit)", "", "query.limit", "no number"},
		{"device get nas", "no such thing (part)", "", "query.part", "no such thing"},
		{"device edit nas --port 1", "--port is a port number", "apiPort", "", "apiPort is a port number"},
		{"device edit nas --address x:1", "a host name, without port (that is --port)", "apiAddress", "",
			"--address is a host name, without port (that is apiPort)"},
		{"template form put limits Slow send=x", "no rate (send)", "form.send", "", "no rate"},
		{"folder share Team --tag a --path x", "no path (--path)", "form.paths.linux", "", "no path"},
		{"device get nas", "Check the device's address and port.", "", "", "Check the device's apiAddress and apiPort."},
		{"device get nas", "muster template set gui.apiKey", "", "",
			"say muster template set gui.apiKey, not the API key as apiKey"},
		{"device get nas", "not the API key", "", "", "not the apiKey"},
	} {
		problem = api.Problem{Status: http.StatusUnprocessableEntity, Detail: test.message,
			Errors: []api.ProblemDetail{{Field: test.field, Location: test.location, Message: test.message}}}
		args := append(strings.Fields(test.command), "--server", server.URL, "--token", "x")
		if code, _, errs := run(t, args...); code == exitDone || !strings.Contains(errs, test.want) {
			t.Errorf("%s: got %d and %s, want %s", test.command, code, errs, test.want)
		}
		if _, _, errs := run(t, append(args, "-o", "json")...); !strings.Contains(errs, problem.Detail) {
			t.Errorf("%s -o json: got %s, want %s", test.command, errs, problem.Detail)
		}
	}
}

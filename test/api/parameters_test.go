package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// A misspelt parameter was left out, and the answer was of everything. The operations of the interface contract say
// nothing of parameters, and take any.
func TestUnknownParametersAreRefusedBeyondTheContract(t *testing.T) {
	t.Parallel()
	d := simulated.Start(t, stsim.Options{Count: 1, Seed: 7, Folders: 1}).Daemons()[0]
	s := server.Start(t, server.Options{})
	s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), "office")
	device := "/devices/" + string(d.ID())
	wait.For(t, "the daemon was reached", func() bool {
		status, _ := ask(t, s, device+"/status")
		return status == http.StatusOK
	})
	for path, want := range map[string]string{
		"/inventory?tags=office":         "did you mean tag?",
		"/inventory?diskbelow=10":        "did you mean diskBelow?",
		"/overview/folders?stat=idle":    "did you mean state?",
		device + "/why?kee=options":      "did you mean key?",
		"/consents?everything=1":         `no parameter "everything"`,
		"/devices?anything=x":            "",
		"/devices?tga=office":            "",
		device + "?anything=x":           "",
		device + "/status?verbose=1":     "",
		device + "/tags?x":               "",
		"/templates?anything=x":          "",
		"/tags?anything=x":               "",
		"/tags/office/devices?a=1&b=2":   "",
		"/tags/office/templates?a=1&b=2": "",
		"/folders?anything=x":            "",
	} {
		status, problem := ask(t, s, path)
		switch {
		case want == "" && status != http.StatusOK:
			t.Errorf("%s: got %d %s, want 200: the contract has no parameters", path, status, problem.Detail)
		case want != "" && (status != http.StatusUnprocessableEntity || !strings.Contains(problem.Detail, want) ||
			problem.Hint == ""):
			t.Errorf("%s: got %d %+v, want 422 with %q", path, status, problem, want)
		}
	}
}

// ask reads a path as any program does, without the client.
func ask(t *testing.T, s *server.Server, path string) (status int, problem api.Problem) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.Token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		if err := json.Unmarshal(text, &problem); err != nil {
			t.Fatalf("%s: %v\n%s", path, err, text)
		}
	}
	return answer.StatusCode, problem
}

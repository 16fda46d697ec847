package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
)

// "muster rollout list shows how it goes out" was said where nothing went out.
func TestARolloutIsNamedWhereThereIsOne(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode([]api.Rollout{{ID: 3, Before: 5, Generation: 7}})
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "x")
	if err != nil {
		t.Fatal(err)
	}
	for generation, want := range map[int64]string{
		7: "Done, in generation 7. `muster rollout show 3` shows how it goes out.",
		6: "Done, in generation 6. `muster rollout show 3` shows how it goes out.", 8: "Done, in generation 8."} {
		if got := doneIn(t.Context(), c, generation); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The lines of a template were one line, with a replacement character for each end.
func TestTheTextOfATemplateIsShownInLines(t *testing.T) {
	var out bytes.Buffer
	printDifference(&out, api.RolloutDetail{Templates: []api.RolloutTemplate{{ID: 1, Label: "team",
		After: &api.TemplateText{Op: "set", Key: "folders.x", Template: "{\n  label: Größe\n}\n"}}}})
	if got := out.String(); strings.Contains(got, "\uFFFD") || !strings.Contains(got, "\n  +     label: Größe\n") {
		t.Errorf("got %q", got)
	}
}

package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// What a person wrote is the title of the generation and in the audit, whatever operation makes the change.
func TestWhatAPersonWroteIsTheTitleOfTheChange(t *testing.T) {
	w := newWorld(t)
	w.template(`{"label":"Team folder","op":"set","key":"options.a","template":"1"}`)
	const text = `Umzug nach "Köln" <b>100%</b>`
	header := http.Header{api.MessageHeader: {url.PathEscape(text)}}
	w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/changes", header: header,
		body: `{"templates":{"changed":[{"id":1,"priority":2}]}}`})
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/templates/1"})
	changes, err := w.store.GenerationChanges(t.Context(), 0)
	if err != nil || len(changes) != 3 {
		t.Fatalf("got %+v, %v", changes, err)
	}
	for i, want := range []string{"Team folder: created", text, "Team folder: deleted"} {
		if got := changes[i].Cause; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	entries, err := w.store.Audit(t.Context(), fleet.AuditQuery{What: "fleet.change"})
	if err != nil || len(entries) != 1 || entries[0].Detail != "generation 2: "+text {
		t.Errorf("got %+v, %v, want one entry with the text", entries, err)
	}
}

func TestAMessageThatIsNoLineChangesNothing(t *testing.T) {
	w := newWorld(t)
	for name, values := range map[string][]string{
		"two lines":     {"a%0Ab"},
		"too long":      {strings.Repeat("a", fleet.MaxMessage+1)},
		"not encoded":   {"100%"},
		"no UTF-8":      {"%FF"},
		"two of them":   {"a", "b"},
		"a turned line": {url.PathEscape("a\u202eb")},
	} {
		w.want(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: Prefix + "/templates",
			header: http.Header{api.MessageHeader: values}, body: `{"op":"set","key":"options.a","template":"1"}`})
		changes, err := w.store.GenerationChanges(t.Context(), 0)
		if err != nil || len(changes) > 0 {
			t.Errorf("%s: got %+v, %v", name, changes, err)
		}
	}
}

// The title of a new address or key was nowhere: a device's record is in no generation.
func TestTheTitleOfAChangedRecordIsInTheAudit(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.want(http.StatusOK, call{method: http.MethodPut, path: Prefix + "/devices/" + string(idA), body: `{"label":"two"}`,
		header: http.Header{api.MessageHeader: {"Umzug%20nach%20K%C3%B6ln"}}})
	entries, err := w.store.Audit(t.Context(), fleet.AuditQuery{What: "fleet.change"})
	if err != nil || len(entries) != 1 || entries[0].Subject != string(idA) || entries[0].Detail != "Umzug nach Köln" {
		t.Errorf("got %+v, %v", entries, err)
	}
}

// Somebody without a token wrote free text into the audit, beside a failed log-in.
func TestACallerWithoutARoleLeavesNoTextInTheAudit(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	for _, text := range []string{"all%20is%20well", "a%0Ab"} {
		w.problem(http.StatusUnauthorized, call{method: http.MethodPost, path: Prefix + "/login", token: "-",
			body: `{"userid":"anna","password":"wrong password"}`, header: http.Header{api.MessageHeader: {text}}})
	}
	entries, err := w.store.Audit(t.Context(), fleet.AuditQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, e := range entries {
		if e.What == "login.fail" {
			failed++
		}
		if strings.Contains(e.Detail, "well") {
			t.Errorf("got %+v", e)
		}
	}
	if failed == 0 {
		t.Error("no failed log-in is in the audit: this test shows nothing")
	}
}

package guard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/guard"
	"muster/test/server"
	"muster/test/wait"
)

// TestAnAuthorCannotTryGuessesOfASecret covers an author who writes a text where the daemon has a secret: evaluate,
// the what-if, the plan and the state were others when the guess was right.
func TestAnAuthorCannotTryGuessesOfASecret(t *testing.T) {
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	l := newLane(t, s, "office", target{id: d.ID, key: d.APIKey, host: d.Address, port: d.Port})
	l.daemon.must(t, http.MethodPatch, "/rest/config/gui", `{"user": "nora", "password": "correct horse"}`)
	wait.Until(t, func() string {
		if document, err := s.Client.DeviceConfig(t.Context(), string(d.ID)); err != nil || !hasUser(t, document) {
			return fmt.Sprint("the user is not mirrored: ", err)
		}
		return ""
	})
	author := as(t, s, fleet.RoleAuthor)
	for key, truth := range map[string]string{
		"gui.apiKey":   d.APIKey,
		"gui.password": "correct horse",
		"folders." + guard.Folder + ".devices." + string(guard.Peer) + ".encryptionPassword": "old",
	} {
		wrong, right := seenByAuthor(t, author, d.ID, key, "another text"), seenByAuthor(t, author, d.ID, key, truth)
		if wrong != right {
			t.Errorf("%s: a wrong guess shows\n%s\nand the right one\n%s", key, wrong, right)
		}
	}
}

func hasUser(t *testing.T, document []byte) bool {
	t.Helper()
	var doc struct{ GUI struct{ User string } }
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.GUI.User != ""
}

// seenByAuthor is all that an author can ask about a text at a key.
func seenByAuthor(t *testing.T, author *server.Server, id fleet.DeviceID, key, guess string) string {
	t.Helper()
	op, text := "set", fmt.Sprintf("%q", guess)
	evaluated, err := author.Client.EvaluateNewTemplate(t.Context(),
		api.EvaluateTemplate{Op: &op, Key: &key, Template: &text}, string(id))
	if err != nil {
		t.Fatal(err)
	}
	evaluated.DurationMs, evaluated.Steps = 0, 0
	foreseen, err := author.Client.WhatIf(t.Context(), api.WhatIf{Templates: &api.WhatIfTemplates{
		New: []api.WhatIfNew{{Op: &op, Key: &key, Template: &text, Tags: []string{"office"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	foreseen.Generation, foreseen.NewTemplates = 0, nil
	forget := func(changes []api.PlannedChange) {
		for i := range changes {
			changes[i].Templates, changes[i].Reason = nil, withoutNumbers(changes[i].Reason)
		}
	}
	for _, device := range foreseen.Devices {
		forget(device.Changes)
	}
	template := author.Template(op, key, text, "office")
	state := author.WaitState(id, "held or in sync", func(state api.DeviceState) bool {
		return state.Configuration == string(fleet.ConfigHeld) || state.Configuration == string(fleet.ConfigInSync)
	})
	made, err := author.Client.DevicePlan(t.Context(), string(id))
	if err != nil {
		t.Fatal(err)
	}
	forget(made.Changes)
	stored, err := author.Client.EvaluateTemplate(t.Context(), template, string(id))
	if err != nil {
		t.Fatal(err)
	}
	for i := range stored.Warnings {
		stored.Warnings[i] = withoutNumbers(stored.Warnings[i])
	}
	if err := author.Client.DeleteTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	author.WaitConfiguration(id, fleet.ConfigUnmanaged)
	all, err := json.MarshalIndent([]any{evaluated, foreseen, state.Configuration, withoutNumbers(state.Reason),
		made.Changes,
		stored.Changes, stored.Warnings}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// withoutNumbers is a text without the IDs of templates, which differ.
func withoutNumbers(text string) string { return numbers.ReplaceAllString(text, "template N") }

var numbers = regexp.MustCompile(`template \d+`)

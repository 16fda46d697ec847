package guard_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	muster "muster/client"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// TestEvaluateWarnsOfAFolderWhereOneWas covers a folder in one that was taken away: a symbolic link that another
// device sent may be left there. The plan held it, and evaluate did not warn.
func TestEvaluateWarnsOfAFolderWhereOneWas(t *testing.T) {
	s := server.Start(t, server.Options{})
	rootAtHome(t, s)
	d := daemon.Start(t, daemon.Options{})
	target := target{id: d.ID, key: d.APIKey, host: d.Address, port: d.Port}
	target.must(t, http.MethodPut, "/rest/config/folders", `[{"id": "old", "path": "~/old"}]`)
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	waitRead(t, s, d.ID)
	target.must(t, http.MethodDelete, "/rest/config/folders/old", "")
	waitFolders(t, s, d.ID, "")
	warnings := warningsOf(t, as(t, s, fleet.RoleAuthor), d.ID, "merge", "folders.new", `{"path": "~/old/inner"}`)
	if !strings.Contains(warnings, "lies where a folder was earlier") {
		t.Errorf("the warnings are %q", warnings)
	}
}

// TestEvaluateWarnsOfASharedFolderThatAdminsMade covers a folder that an admin's template made and an author's now
// names: the plan held a new share, and evaluate did not warn.
func TestEvaluateWarnsOfASharedFolderThatAdminsMade(t *testing.T) {
	s := server.Start(t, server.Options{})
	d, other := daemon.Start(t, daemon.Options{}), daemon.Start(t, daemon.Options{})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	s.Register(other.ID, other.APIKey, other.Address, other.Port)
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	s.WaitConfiguration(other.ID, fleet.ConfigUnmanaged)
	text := `{"path": "~/team"}`
	id := s.Template("merge", "folders.team", text, "office")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	author := as(t, s, fleet.RoleAuthor)
	text = fmt.Sprintf(`{"path": "~/team", "devices": [{"deviceID": %q}]}`, other.ID)
	op, key := "merge", "folders.team"
	if _, err := author.Client.PutTemplate(t.Context(), id, api.PutTemplate{Op: &op, Key: &key,
		Template: &text}); err != nil {
		t.Fatal(err)
	}
	s.WaitConfiguration(d.ID, fleet.ConfigHeld)
	made, err := author.Client.EvaluateTemplate(t.Context(), id, string(d.ID))
	if err != nil || !strings.Contains(strings.Join(made.Warnings, "\n"), "authors did not make") {
		t.Errorf("the warnings are %q, %v", made.Warnings, err)
	}
}

// TestEvaluateDoesNotWarnOfSharesThatThePlanLetsGo covers a folder that one template of an author makes and another
// shares: the plan lets both go.
func TestEvaluateDoesNotWarnOfSharesThatThePlanLetsGo(t *testing.T) {
	s := server.Start(t, server.Options{})
	d, other := daemon.Start(t, daemon.Options{}), daemon.Start(t, daemon.Options{})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	s.Register(other.ID, other.APIKey, other.Address, other.Port)
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	s.WaitConfiguration(other.ID, fleet.ConfigUnmanaged)
	author := as(t, s, fleet.RoleAuthor)
	author.Template("merge", "folders.team", `{"path": "~/Sync/team"}`, "office")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	share := fmt.Sprintf(`{"deviceID": %q}`, other.ID)
	key := "folders.team.devices." + string(other.ID)
	if warnings := warningsOf(t, author, d.ID, "merge", key, share); warnings != "" {
		t.Errorf("the warnings are %q", warnings)
	}
	id := author.Template("merge", key, share, "office")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	made, err := author.Client.EvaluateTemplate(t.Context(), id, string(d.ID))
	if err != nil || strings.Contains(strings.Join(made.Warnings, "\n"), string(plan.Held)) {
		t.Errorf("the warnings about the saved template are %q, %v", made.Warnings, err)
	}
}

// warningsOf are those of a template that is evaluated without being saved.
func warningsOf(t *testing.T, by *server.Server, id fleet.DeviceID, op, key, text string) string {
	t.Helper()
	made, err := by.Client.EvaluateNewTemplate(t.Context(), api.EvaluateTemplate{Op: &op, Key: &key,
		Template: &text}, string(id))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(made.Warnings, "\n")
}

// waitFolders waits until the mirrored configuration has these folders, by their IDs.
func waitFolders(t *testing.T, s *server.Server, id fleet.DeviceID, want string) {
	t.Helper()
	wait.Until(t, func() string {
		document, err := s.Client.DeviceConfig(t.Context(), string(id))
		if err != nil {
			return err.Error()
		}
		if got := foldersOf(t, document); got != want {
			return "the folders are " + got
		}
		return ""
	})
}

// foldersOf are the IDs of a document's folders.
func foldersOf(t *testing.T, document []byte) string {
	t.Helper()
	doc, err := stconfig.Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for folder := range doc.Get("folders").Values() {
		ids = append(ids, folder.Get("id").Str())
	}
	return strings.Join(ids, " ")
}

// TestARestoredFolderWhereOneWasIsHeld covers a revision with a folder at a place that lay in another folder since:
// what other devices sent there may hold a symbolic link.
func TestARestoredFolderWhereOneWasIsHeld(t *testing.T) {
	s := server.Start(t, server.Options{})
	rootAtHome(t, s)
	d := daemon.Start(t, daemon.Options{})
	target := target{id: d.ID, key: d.APIKey, host: d.Address, port: d.Port}
	target.must(t, http.MethodPut, "/rest/config/folders", `[{"id": "inner", "path": "~/old/inner"}]`)
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	waitFolders(t, s, d.ID, "inner")
	target.must(t, http.MethodDelete, "/rest/config/folders/inner", "")
	waitFolders(t, s, d.ID, "")
	target.must(t, http.MethodPut, "/rest/config/folders", `[{"id": "outer", "path": "~/old"}]`)
	waitFolders(t, s, d.ID, "outer")
	target.must(t, http.MethodDelete, "/rest/config/folders/outer", "")
	waitFolders(t, s, d.ID, "")
	revisions, err := s.Client.Revisions(t.Context(), string(d.ID), muster.List{})
	if err != nil {
		t.Fatal(err)
	}
	first := slices.MinFunc(revisions, func(a, b api.Revision) int { return cmp.Compare(a.Number, b.Number) })
	section := "folders.inner"
	restored, err := as(t, s, fleet.RoleOperator).Client.RestoreRevision(t.Context(), string(d.ID), first.Number,
		api.Restore{Section: &section})
	if err != nil {
		t.Fatal(err)
	}
	if restored.Done || !strings.Contains(restored.Reason, "lies where a folder was earlier") {
		t.Errorf("got %+v", restored)
	}
	if got := foldersOf(t, target.must(t, http.MethodGet, "/rest/config", "")); got != "" {
		t.Errorf("the daemon has the folders %s", got)
	}
}

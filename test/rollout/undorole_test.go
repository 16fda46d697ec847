package rollout_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// as is a client with a token of another role.
func (w *world) as(name string, role fleet.Role, tags ...string) (*client.Client, error) {
	w.t.Helper()
	word := string(role)
	made, err := w.Client.CreateTokenWith(w.t.Context(), api.CreateToken{Name: &name, Role: &word, Tags: &tags})
	if err != nil {
		return nil, err
	}
	return client.New(w.URL, made.Secret)
}

// wantStatus checks the status of an answer that is an error.
func (w *world) wantStatus(what string, err error, status int) {
	w.t.Helper()
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != status {
		w.t.Errorf("%s: got %v, want status %d", what, err, status)
	}
}

// An author's undo made folders of people again, to which only an admin may consent. The removals of an author's undo
// are answered, and named in the audit.
func TestAnAuthorsUndoConsentsToRemovalsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12, server.Options{Waves: "1,rest"})
	author, err := w.as("an author", fleet.RoleAuthor)
	w.must(err)
	for _, d := range w.farm.Daemons() {
		w.must(d.Edit(withFolder))
	}
	w.Template("remove", "folders.new", "true", "all")
	w.consents("folders.new")
	w.comesTo(fleet.RolloutSucceeded)
	everyOne(t, w.farm.Daemons(), "without the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "" })
	w.undoChanges(1, isFolder, w.farm.Daemons()...)
	undone := w.undoneBy(author, 1)
	if len(undone.Answered) > 0 || len(undone.Waiting) != 12 {
		t.Errorf("answered %v, waiting %v: want all twelve to wait for an admin", undone.Answered, undone.Waiting)
	}
	w.isUndone(1)
	for _, d := range w.farm.Daemons() {
		w.WaitReason(d.ID(), string(fleet.ConfigHeld), "folders.new")
	}
	everyOne(t, w.farm.Daemons(), "without the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "" })
	w.consents("folders.new")
	wait.Until(t, func() string {
		for _, d := range w.farm.Daemons() {
			if folderPath(d) == "" {
				return d.Name() + " lacks the folder although an admin consented to it"
			}
		}
		return ""
	})
	w.template("folders.other", `{"path": "~/other"}`)
	wait.Until(t, func() string {
		if w.newest().ID == 3 {
			return ""
		}
		return "no rollout of the other folder yet"
	})
	r := w.comesTo(fleet.RolloutSucceeded)
	w.undoChanges(r.ID, func(c api.PlannedChange) bool { return c.Key == "folders.other" }, w.farm.Daemons()...)
	if undone := w.undoneBy(author, r.ID); len(undone.Answered) != 12 || len(undone.Waiting) > 0 {
		t.Errorf("answered %v, waiting %v: want all twelve removals answered", undone.Answered, undone.Waiting)
	}
	w.isUndone(r.ID)
	w.auditNames("an author", "consent to folders.other on ", w.farm.Daemons()...)
}

// withFolder adds a person's folder.
func withFolder(doc stconfig.Value) stconfig.Value {
	folder := stconfig.Obj(stconfig.Member{Name: "id", Value: stconfig.Text("new")},
		stconfig.Member{Name: "label", Value: stconfig.Text("new")},
		stconfig.Member{Name: "path", Value: stconfig.Text("~/new")})
	return doc.With("folders", stconfig.List(append(slices.Collect(doc.Get("folders").Values()), folder)...))
}

// An undo is for the whole fleet: nobody with a part of it gives one, is shown one, or touches a device with one.
func TestNobodyWithAPartOfTheFleetUndoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12, server.Options{Waves: "1,rest"})
	inside, outside := w.farm.Daemon(0), w.farm.Daemon(1)
	_, err := w.Client.TagDevice(t.Context(), string(inside.ID()), "part")
	w.must(err)
	_, err = w.as("an author of a part", fleet.RoleAuthor, "part")
	w.wantStatus("a token of an author with a part", err, http.StatusUnprocessableEntity)
	limited, err := w.as("an operator of a part", fleet.RoleOperator, "part")
	w.must(err)
	w.template("folders.new", good)
	w.comesTo(fleet.RolloutSucceeded)
	planned, err := w.Client.PlanUndo(t.Context(), 1)
	w.must(err)
	for _, id := range []int64{1, 99} {
		_, err := limited.PlanUndo(t.Context(), id)
		w.wantStatus("the plan of an undo", err, http.StatusForbidden)
		if strings.Contains(err.Error(), outside.Name()) || strings.Contains(err.Error(), string(outside.ID())) {
			t.Errorf("it names a device outside: %v", err)
		}
		_, err = limited.UndoRollout(t.Context(), id, &planned)
		w.wantStatus("an undo", err, http.StatusForbidden)
	}
	if r := w.newest(); r.ID != 1 || r.Status != string(fleet.RolloutSucceeded) {
		t.Errorf("got rollout %d, %s", r.ID, r.Status)
	}
	everyOne(t, w.farm.Daemons(), "with the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "~/new" })
}

// undoneBy undoes a rollout as it is shown to a person.
func (w *world) undoneBy(who *client.Client, id int64) api.UndoneRollout {
	w.t.Helper()
	planned, err := who.PlanUndo(w.t.Context(), id)
	w.must(err)
	undone, err := who.UndoRollout(w.t.Context(), id, &planned)
	w.must(err)
	return undone
}

// auditNames checks that a person's entries that begin so name each of the daemons.
func (w *world) auditNames(who, begins string, daemons ...*stsim.Daemon) {
	w.t.Helper()
	entries, err := w.Client.Audit(w.t.Context(), client.AuditSearch{})
	w.must(err)
	var all string
	for _, e := range entries {
		if e.Who == who && strings.HasPrefix(e.Detail, begins) {
			all += e.Detail + "\n"
		}
	}
	for _, d := range daemons {
		if !strings.Contains(all, string(d.ID())) {
			w.t.Errorf("the audit names %q, without %s", all, d.ID())
		}
	}
}

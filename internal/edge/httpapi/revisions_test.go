package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// revisions plays the store and the restorer.
type revisions struct {
	held []plan.Change
	done []plan.RestoreRequest
}

func (f *revisions) Revisions(context.Context, fleet.DeviceID) ([]fleet.Revision, error) {
	return []fleet.Revision{{Number: 3, Digest: "c"}, {Number: 2, Digest: "b", Cause: "daemon"},
		{Number: 1, Digest: "a"}}, nil
}
func (f *revisions) MaskedRevision(_ context.Context, _ fleet.DeviceID, number int64) (fleet.Revision, Document,
	error) {
	if number > 3 {
		return fleet.Revision{}, nil, fleet.NotFoundf("never")
	}
	return fleet.Revision{Number: number},
		documentOf(stconfig.Obj(stconfig.Member{Name: "version", Value: stconfig.Literal("52")})), nil
}
func (f *revisions) Compare(_ context.Context, _ fleet.DeviceID, from, to int64) ([]stconfig.Change, error) {
	if from > 3 || to > 3 {
		return nil, fleet.NotFoundf("never")
	}
	key, err := stconfig.ParseKey("options.natEnabled")
	return []stconfig.Change{{Key: key, To: stconfig.Boolean(true)}}, err
}
func (f *revisions) Restore(_ context.Context, _ fleet.DeviceID, number int64,
	request plan.RestoreRequest) (plan.Restored, error) {
	if number > 3 {
		return plan.Restored{}, fleet.NotFoundf("never")
	}
	if len(f.held) > 0 && len(request.Consent) == 0 {
		return plan.Restored{Plan: plan.Plan{Digest: "abc", Changes: f.held}, Reason: "it waits"}, nil
	}
	if len(request.Consent) > 0 && request.Digest != "abc" {
		return plan.Restored{}, &fleet.Error{Code: fleet.CodeConflict, Message: "the plan is another by now"}
	}
	f.done = append(f.done, request)
	return plan.Restored{Done: true}, nil
}

func revised(t *testing.T, held ...plan.Change) (w *world, f *revisions, path string) {
	t.Helper()
	w, f = newWorld(t), &revisions{held: held}
	w.device(idA, "one")
	w.with(func(o *setup) { o.Revisions = f })
	return w, f, Prefix + "/devices/" + string(idA) + "/revisions"
}

func TestRevisionsAreListedShownAndCompared(t *testing.T) {
	w, _, path := revised(t)
	var all []api.Revision
	if err := json.Unmarshal([]byte(w.get(path+"?limit=2&after=3")), &all); err != nil || len(all) != 2 ||
		all[0].Number != 2 || all[0].Cause != "daemon" {
		t.Errorf("got %+v, %v", all, err)
	}
	if got := w.get(path + "/2"); !strings.Contains(got, `"config":{"version":52}`) {
		t.Errorf("got %s", got)
	}
	if got := w.get(
		path + "/1/diff/3",
	); got != `{"from":1,"to":3,"changes":[{"key":"options.natEnabled","from":null,"to":true}]}` {
		t.Errorf("got %s", got)
	}
	for _, missing := range []string{"/9", "/1/diff/9"} {
		w.problem(http.StatusNotFound, call{method: http.MethodGet, path: path + missing})
	}
	for _, wrong := range []string{"/x", "/01", "/1/diff/-", "?after=x"} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: path + wrong})
	}
	w.problem(http.StatusNotFound, call{method: http.MethodGet, path: Prefix + "/devices/" + string(idB) + "/revisions"})
}

func TestARestoreNeedsConsentForWhatIsHeld(t *testing.T) {
	removal, user := changeOf(t, "folders.p", plan.Held, stconfig.Value{}),
		changeOf(t, "gui.user", plan.Held, stconfig.Text("x"))
	w, f, path := revised(t, removal, user)
	post := func(role fleet.Role, body string) call {
		return call{method: http.MethodPost, path: path + "/2/restore", role: role, body: body}
	}
	w.problem(http.StatusForbidden, post(fleet.RoleViewer, `{}`))
	if got := w.want(http.StatusOK, post(fleet.RoleOperator, `{"section":"options"}`)); !strings.Contains(got,
		`"digest":"abc"`) || !strings.Contains(got, `"done":false`) {
		t.Errorf("got %s", got)
	}
	w.problem(http.StatusForbidden, post(fleet.RoleOperator, `{"digest":"abc","consent":["folders.p","gui.user"]}`))
	w.problem(http.StatusUnprocessableEntity, post(fleet.RoleOperator, `{"consent":["folders.p"]}`))
	w.problem(http.StatusConflict, post(fleet.RoleAdmin, `{"digest":"old","consent":["gui.user"]}`))
	if len(f.done) > 0 {
		t.Fatalf("restored %v", f.done)
	}
	for role, key := range map[fleet.Role]string{fleet.RoleOperator: "folders.p", fleet.RoleAdmin: "gui.user"} {
		if got := w.want(http.StatusOK,
			post(role, `{"digest":"abc","consent":["`+key+`"],"section":"x"}`)); !strings.Contains(got, `"done":true`) {
			t.Errorf("got %s", got)
		}
	}
	if len(f.done) != 2 || f.done[0].Section != "x" || f.done[0].Digest != "abc" {
		t.Errorf("restored %+v", f.done)
	}
	entries, err := w.store.Audit(t.Context(), fleet.AuditQuery{Limit: 1})
	if err != nil || entries[0].What != "device.restore" || !strings.HasPrefix(entries[0].Detail,
		"revision 2, x; consent to ") {
		t.Errorf("got %+v, %v", entries, err)
	}
}

func TestAPreviewOfARestoreSendsAndRecordsNothing(t *testing.T) {
	w, f, path := revised(t)
	post := func(role fleet.Role, body string) call {
		return call{method: http.MethodPost, path: path + "/2/restore", role: role, body: body}
	}
	w.problem(http.StatusForbidden, post(fleet.RoleViewer, `{"preview":true}`))
	w.problem(
		http.StatusUnprocessableEntity,
		post(fleet.RoleAdmin, `{"preview":true,"digest":"abc","consent":["gui.user"]}`),
	)
	w.want(http.StatusOK, post(fleet.RoleOperator, `{"preview":true,"section":"options"}`))
	if len(f.done) != 1 || !f.done[0].Preview || f.done[0].Section != "options" {
		t.Errorf("restored %+v", f.done)
	}
	entries, err := w.store.Audit(t.Context(), fleet.AuditQuery{What: "device.restore", Limit: 1})
	if err != nil || len(entries) > 0 {
		t.Errorf("the audit has %+v, %v", entries, err)
	}
}

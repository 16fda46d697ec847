package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

func changeOf(t *testing.T, key string, class plan.Class, to stconfig.Value) plan.Change {
	t.Helper()
	at, err := stconfig.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Change{Key: at, Class: class, From: stconfig.Text("old"), To: to, Reason: "for a reason"}
}

// heldWorld has a device whose plan holds a removal, a change of access and something free.
func heldWorld(t *testing.T) (w *world, path string) {
	w = newWorld(t)
	w.device(idA, "one")
	path = Prefix + "/devices/" + string(idA) + "/apply"
	w.fakes.plans = map[fleet.DeviceID]plan.Plan{idA: {Digest: "abc", Changes: []plan.Change{
		changeOf(t, "options.natEnabled", plan.Free, stconfig.Text("new")),
		changeOf(t, "folders.photos", plan.Held, stconfig.Value{}),
		changeOf(t, "folders.photos.path", plan.Held, stconfig.Text("/new")),
		changeOf(t, "gui.apiKey", plan.Held, stconfig.Text("new")),
	}}}
	w.fakes.states = map[fleet.DeviceID]fleet.State{idA: {Connection: fleet.Online, Configuration: fleet.ConfigInSync}}
	return w, path
}

func TestApplyAsksForTheRoleThatTheConsentNeeds(t *testing.T) {
	for name, one := range map[string]struct {
		role    fleet.Role
		consent string
		status  int
	}{
		"viewer, nothing":           {fleet.RoleViewer, ``, http.StatusForbidden},
		"operator, nothing":         {fleet.RoleOperator, ``, http.StatusOK},
		"operator, removal":         {fleet.RoleOperator, `"folders.photos"`, http.StatusOK},
		"operator, other letters":   {fleet.RoleOperator, `"Folders.photos"`, http.StatusOK},
		"operator, path":            {fleet.RoleOperator, `"folders.photos.path"`, http.StatusForbidden},
		"author, API key":           {fleet.RoleAuthor, `"gui.apiKey"`, http.StatusForbidden},
		"author, API key in lower":  {fleet.RoleAuthor, `"GUI.apikey"`, http.StatusForbidden},
		"operator, removal and key": {fleet.RoleOperator, `"folders.photos","gui.apiKey"`, http.StatusForbidden},
		"admin, API key":            {fleet.RoleAdmin, `"gui.apiKey"`, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			w, path := heldWorld(t)
			c := call{method: http.MethodPost, path: path, role: one.role, body: `{"digest":"abc","consent":[` + one.consent +
				`]}`}
			if one.status != http.StatusOK {
				w.problem(one.status, c)
				if len(w.fakes.applied) > 0 {
					t.Error("applied all the same")
				}
				return
			}
			if got := w.want(http.StatusOK, c); !strings.Contains(got, `"configuration":"inSync"`) {
				t.Errorf("got %s, want the state", got)
			}
			if len(w.fakes.applied) != 1 || w.fakes.applied[0].digest != "abc" {
				t.Errorf("applied %v", w.fakes.applied)
			}
		})
	}
}

func TestApplySaysWhatWasDoneAndWhatStillWaits(t *testing.T) {
	w, path := heldWorld(t)
	c := call{method: http.MethodPost, path: path, body: `{"digest":"abc","consent":["folders.photos"]}`}
	if got := w.want(http.StatusOK, c); !strings.HasSuffix(got, `"applied":[],"waiting":[]}`) {
		t.Errorf("got %s", got)
	}
	w.fakes.done, w.fakes.waiting = w.fakes.plans[idA].Changes[:1], w.fakes.plans[idA].Changes[1:2]
	got := w.want(http.StatusOK, c)
	for _, want := range []string{`"applied":[{"key":"options.natEnabled"`, `"waiting":[{"key":"folders.photos"`,
		`"reason":"for a reason"`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestApplyTakesOnlyThePlanThatWasSeen(t *testing.T) {
	w, path := heldWorld(t)
	w.problem(http.StatusConflict, call{method: http.MethodPost, path: path, body: `{"digest":"old"}`})
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: path, body: `{"consent":[]}`})
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: path, role: fleet.RoleOperator,
		body: `{"digest":"abc","consent":["a..b"]}`})
	w.problem(http.StatusBadRequest, call{method: http.MethodPost, path: path,
		body: `{"digest":"abc","consent":"gui.apiKey"}`})
	w.problem(http.StatusNotFound, call{method: http.MethodPost, path: Prefix + "/devices/" + string(idB) + "/apply",
		body: `{"digest":"abc"}`})
	if len(w.fakes.applied) > 0 {
		t.Errorf("applied %v", w.fakes.applied)
	}
	w.fakes.applyErr = &fleet.Error{Code: fleet.CodeConflict, Message: "the plan is another by now"}
	w.problem(http.StatusConflict, call{method: http.MethodPost, path: path, body: `{"digest":"abc"}`})
}

// A removal is answered by name: remove never lets another held change out.
func TestRemoveIsForWhatTakesAFolderOrADeviceAway(t *testing.T) {
	w, path := heldWorld(t)
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: path, role: fleet.RoleAdmin,
		body: `{"digest":"abc","remove":["gui.apiKey"]}`})
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: path, role: fleet.RoleAdmin,
		body: `{"digest":"abc","remove":["options.natEnabled"]}`})
	if len(w.fakes.applied) > 0 {
		t.Errorf("applied %v", w.fakes.applied)
	}
	w.want(http.StatusOK, call{method: http.MethodPost, path: path, role: fleet.RoleOperator,
		body: `{"digest":"abc","remove":["folders.photos"]}`})
	if len(w.fakes.applied) != 1 || w.fakes.applied[0].answers["folders.photos"] != fleet.AnswerConsent {
		t.Errorf("applied %v, want the removal", w.fakes.applied)
	}
}

// withdrawnPassword makes gui.password of the plan a change that offers the choice `no password`.
func withdrawnPassword(t *testing.T, w *world) {
	t.Helper()
	c := changeOf(t, "gui.password", plan.Held, stconfig.Text("earlier"))
	c.Returns, c.OnlyKeep = true, true
	made := w.fakes.plans[idA]
	made.Changes = append(slices.Clone(made.Changes), c)
	w.fakes.plans[idA] = made
}

// An apply took no values: who withdrew a password could not say that there is to be none.
func TestAnApplyTakesTheValuesThatAPersonChooses(t *testing.T) {
	w, path := heldWorld(t)
	withdrawnPassword(t, w)
	got := w.want(http.StatusOK, call{path: Prefix + "/devices/" + string(idA) + "/plan"})
	for _, want := range []string{`"answers":["keep"],"choices":[{"name":"no password","does":"`,
		`"class":"held","reason":"for a reason","answers":["consent","remove"]}`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	chooses := `{"digest":"abc","values":{"gui.password":"no password"}}`
	w.problem(http.StatusForbidden, call{method: http.MethodPost, path: path, role: fleet.RoleOperator, body: chooses})
	for _, twice := range []string{`"keep":["gui.password"]`, `"consent":["gui.password"]`} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: path, role: fleet.RoleAdmin,
			body: `{"digest":"abc","values":{"gui.password":"no password"},` + twice + `}`})
	}
	if len(w.fakes.applied) > 0 {
		t.Errorf("applied %v", w.fakes.applied)
	}
	w.want(http.StatusOK, call{method: http.MethodPost, path: path, role: fleet.RoleAdmin, body: chooses})
	if len(w.fakes.applied) != 1 || w.fakes.applied[0].answers["gui.password"] != fleet.AnswerValue("no password") {
		t.Errorf("applied %v", w.fakes.applied)
	}
	entries, err := w.store.Audit(t.Context(), fleet.AuditQuery{Limit: 100})
	recorded := slices.ContainsFunc(entries, func(e fleet.AuditEntry) bool {
		return e.What == "device.apply" && e.Detail == `choose "no password" for gui.password`
	})
	if err != nil || !recorded {
		t.Errorf("the audit has %v, %v", entries, err)
	}
}

func TestApplyNamesWhoAllowedWhatInTheAudit(t *testing.T) {
	w, path := heldWorld(t)
	w.want(http.StatusOK, call{method: http.MethodPost, path: path, role: fleet.RoleOperator,
		body: `{"digest":"abc","consent":["folders.photos"],"keep":["options.natEnabled"]}`})
	entries, err := w.store.Audit(t.Context(), fleet.AuditQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(entries, func(e fleet.AuditEntry) bool { return e.What == "device.apply" })
	if i < 0 {
		t.Fatalf("no entry in %v", entries)
	}
	want := fleet.AuditEntry{ID: entries[i].ID, At: entries[i].At, Who: "operator", What: "device.apply",
		Subject: string(idA),
		Detail:  "consent to folders.photos; keep options.natEnabled", Previous: entries[i].Previous, Hash: entries[i].Hash}
	if entries[i] != want {
		t.Errorf("got %+v, want %+v", entries[i], want)
	}
}

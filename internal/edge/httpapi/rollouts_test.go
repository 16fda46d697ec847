package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

// rollouts plays the runner.
type rollouts struct {
	all      []fleet.Rollout
	calls    []string
	conflict bool
	approved fleet.UndoApproval // what the last undo was given
	lost     error              // the answer to reading what a rollout changed; nil: it can be read
}

func (f *rollouts) Rollouts(context.Context) ([]fleet.Rollout, error) { return f.all, nil }

func (f *rollouts) Rollout(_ context.Context, id int64) (fleet.Rollout, error) {
	for _, one := range f.all {
		if one.ID == id {
			return one, nil
		}
	}
	return fleet.Rollout{}, fleet.NotFoundf("no rollout %d", id)
}

func (f *rollouts) steer(ctx context.Context, id int64, verb string) (fleet.Rollout, error) {
	if f.conflict {
		return fleet.Rollout{}, &fleet.Error{Code: fleet.CodeConflict, Message: "it is over"}
	}
	f.calls = append(f.calls, verb+" by "+fleet.ActorOf(ctx))
	return f.Rollout(ctx, id)
}
func (f *rollouts) Pause(ctx context.Context, id int64) (fleet.Rollout, error) {
	return f.steer(ctx, id, "pause")
}
func (f *rollouts) Resume(ctx context.Context, id int64) (fleet.Rollout, error) {
	return f.steer(ctx, id, "resume")
}
func (f *rollouts) Halt(ctx context.Context, id int64) (fleet.Rollout, error) {
	return f.steer(ctx, id, "halt")
}
func (f *rollouts) Undo(ctx context.Context, id int64, approval fleet.UndoApproval) (fleet.Rollout,
	[]fleet.ShownChange, error) {
	f.approved = approval
	one, err := f.steer(ctx, id, "undo")
	return one, approval.Shown, err
}
func (f *rollouts) UndoEdit(ctx context.Context, id int64) (fleet.Edit, error) {
	one, err := f.Rollout(ctx, id)
	return fleet.Edit{Undo: &fleet.Undo{Rollout: one}}, err
}
func (f *rollouts) Approve(ctx context.Context, id int64) (fleet.Rollout, error) {
	return f.steer(ctx, id, "approve")
}
func (f *rollouts) SetWaves(ctx context.Context, id int64, waves []string) (fleet.Rollout, error) {
	if err := fleet.CheckWaves(waves); err != nil {
		return fleet.Rollout{}, err
	}
	return f.steer(ctx, id, "waves "+strings.Join(waves, ","))
}
func (f *rollouts) Difference(context.Context, []int64) (fleet.Difference, error) {
	if f.lost != nil {
		return fleet.Difference{}, f.lost
	}
	before := fleet.Template{ID: 7, Op: fleet.OpSet, Key: "options.natEnabled", Text: "true"}
	after := before
	after.Text = "false"
	return fleet.Difference{
		Templates: []fleet.TemplateDifference{{ID: 7, Label: "no NAT", Before: &before, After: &after},
			{ID: 8, Label: "gone", Before: &before}},
		Tags: []fleet.TagDifference{{Tag: "all", Template: 7, Carried: true}, {Tag: "one", Device: idA},
			{Tag: "two", Device: idB}},
		Vars: []fleet.VarsDifference{
			{VarsOwner: fleet.VarsOwner{Device: idA}, Before: `{"a":1,"b":""}`, After: `{"a":2,"b":""}`},
			{VarsOwner: fleet.VarsOwner{Device: idB}, After: `{"c":""}`},
			{VarsOwner: fleet.VarsOwner{Tag: "all"}, Before: `{"d":1}`},
		},
	}, nil
}

func rolling(t *testing.T) (*world, *rollouts) {
	t.Helper()
	w := newWorld(t)
	at := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC)
	f := &rollouts{
		all: []fleet.Rollout{
			{ID: 3, Status: fleet.RolloutWaiting, Cause: "newest", CreatedAt: at},
			{ID: 2, Generation: 9, Before: 8, Status: fleet.RolloutHalted, Cause: "template 7 was changed", Waves: []int{1, 2},
				Wave: 1, CreatedAt: at, StartedAt: at,
				Halt: &fleet.RolloutHalt{By: "muster", Gate: fleet.GateFolders, Device: idA, Saw: "folder p is in error",
					At: at},
				WavePlan: []string{"1", "rest"}, Approval: &fleet.Approval{Reason: "3 devices", By: "admin", At: at},
				Members: []fleet.RolloutMember{{Device: idA, Wave: 1, State: fleet.MemberFailed, Was: fleet.ConfigInSync},
					{Device: idC, State: fleet.MemberAbsent}}},
			{ID: 1, Status: fleet.RolloutSucceeded, Cause: "oldest", CreatedAt: at},
		},
	}
	w.roll(f)
	return w, f
}

func TestRolloutsAreListedNewestFirstAndShownWithTheirMembers(t *testing.T) {
	w, _ := rolling(t)
	w.device(idA, "one")
	var all []api.Rollout
	if err := json.Unmarshal([]byte(w.get(Prefix+"/rollouts?limit=2")), &all); err != nil || len(all) != 2 ||
		all[0].ID != 3 || all[0].Halt != nil {
		t.Errorf("got %+v, %v", all, err)
	}
	if err := json.Unmarshal([]byte(w.get(Prefix+"/rollouts?after=2")), &all); err != nil || len(all) != 1 ||
		all[0].ID != 1 {
		t.Errorf("got %+v, %v", all, err)
	}
	text := w.get(Prefix + "/rollouts/2")
	var one api.RolloutDetail
	if err := json.Unmarshal([]byte(text), &one); err != nil {
		t.Fatal(err)
	}
	if one.Status != "halted" || one.Halt == nil || one.Halt.Gate != "folders" || one.Halt.Device != string(idA) ||
		!slices.Equal(one.Waves, []int{1, 2}) {
		t.Errorf("got %+v", one)
	}
	if len(one.Members) != 2 || one.Members[0].Label != "one" || one.Members[0].State != "failed" ||
		one.Members[1].Label != "" {
		t.Errorf("got %+v", one.Members)
	}
	if first, last := one.Vars[0], one.Vars[2]; len(one.Vars) != 3 || first.Name != "a" || first.DeviceID != string(idA) ||
		string(first.Before) != "1" || string(first.After) != "2" || last.Tag != "all" || string(last.Before) != "1" ||
		last.After != nil || string(one.Vars[1].After) != `""` || one.Vars[1].Before != nil {
		t.Errorf("got %+v", one.Vars)
	}
	if strings.Contains(text, "keyed") || strings.Contains(text, "null,\"startedAt") {
		t.Errorf("got %s", text)
	}
	w.problem(http.StatusNotFound, call{method: http.MethodGet, path: Prefix + "/rollouts/9"})
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: Prefix + "/rollouts/x"})
}

func TestRolloutsAreSteeredByOperatorsAndUndoneByAuthors(t *testing.T) {
	w, f := rolling(t)
	post := func(verb string, role fleet.Role) call {
		return call{method: http.MethodPost, path: Prefix + "/rollouts/2/" + verb, role: role}
	}
	for _, verb := range []string{"pause", "resume", "halt"} {
		w.problem(http.StatusForbidden, post(verb, fleet.RoleViewer))
		w.want(http.StatusOK, post(verb, fleet.RoleOperator))
	}
	w.problem(http.StatusForbidden, post("undo", fleet.RoleOperator))
	w.want(http.StatusOK, post("undo", fleet.RoleAuthor))
	if got := strings.Join(f.calls,
		", "); got != "pause by operator, resume by operator, halt by operator, undo by author" {
		t.Errorf("got %s", got)
	}
	entries, err := w.store.Audit(t.Context(), fleet.AuditQuery{Limit: 1})
	if err != nil || len(entries) != 1 || entries[0].What != "rollout.undo" || entries[0].Subject != "2" ||
		entries[0].Who != "author" {
		t.Errorf("got %+v, %v", entries, err)
	}
	f.conflict = true
	w.problem(http.StatusConflict, post("pause", fleet.RoleAdmin))
	w.problem(http.StatusNotFound, call{method: http.MethodGet, path: Prefix + "/rollouts/2/steal"})
}

func TestARolloutIsApprovedByAdminsAndItsWavesAreSetByOperators(t *testing.T) {
	w, f := rolling(t)
	approve := func(role fleet.Role) call {
		return call{method: http.MethodPost, path: Prefix + "/rollouts/2/approve", role: role}
	}
	waves := func(role fleet.Role, body string) call {
		return call{method: http.MethodPut, path: Prefix + "/rollouts/2/waves", role: role, body: body}
	}
	w.problem(http.StatusForbidden, approve(fleet.RoleAuthor))
	text := w.want(http.StatusOK, approve(fleet.RoleAdmin))
	if !strings.Contains(text, `"approval":{"reason":"3 devices","by":"admin"`) {
		t.Errorf("got %s", text)
	}
	w.problem(http.StatusForbidden, waves(fleet.RoleViewer, `{"waves":["1","rest"]}`))
	w.problem(http.StatusUnprocessableEntity, waves(fleet.RoleOperator, `{"waves":["1"]}`))
	w.problem(http.StatusUnprocessableEntity, waves(fleet.RoleOperator, `{}`))
	w.want(http.StatusOK, waves(fleet.RoleOperator, `{"waves":["1","50%","rest"]}`))
	if got := strings.Join(f.calls, ", "); got != "approve by admin, waves 1,50%,rest by operator" {
		t.Errorf("got %s", got)
	}
}

func TestARolloutShowsWhatItChanges(t *testing.T) {
	w, _ := rolling(t)
	text := w.want(http.StatusOK, call{method: http.MethodGet, path: Prefix + "/rollouts/2", role: fleet.RoleViewer})
	for _, want := range []string{
		`{"id":7,"label":"no NAT","before":{"op":"set","key":"options.natEnabled","priority":0,"template":"true"},"after":{"op":"set"`,
		`"template":"false"}`, `{"id":8,"label":"gone","before":{"op":"set","key":"options.natEnabled","priority":0,"template":"true"}}`,
		`{"tag":"all","template":7,"carried":true}`, `{"tag":"one","deviceID":"` + string(idA) +
			`","template":0,"carried":false}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s, want %s in it", text, want)
		}
	}
}

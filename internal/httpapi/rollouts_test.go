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
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// rollouts plays the runner.
type rollouts struct {
	all      []fleet.Rollout
	plans    map[string]plan.Plan // of members, by digest
	calls    []string
	conflict bool
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
func (f *rollouts) Undo(ctx context.Context, id int64) (fleet.Rollout, error) {
	return f.steer(ctx, id, "undo")
}
func (f *rollouts) MemberPlan(_ context.Context, _ int64, digest string) (plan.Plan, error) {
	if made, ok := f.plans[digest]; ok {
		return made, nil
	}
	return plan.Plan{}, &fleet.Error{Code: fleet.CodeConflict, Message: "no member has that plan now"}
}
func (f *rollouts) Consent(ctx context.Context, id int64, digest string, consent, keep []string) (fleet.Rollout, []fleet.DeviceID, error) {
	f.calls = append(f.calls, "consent "+digest+" "+strings.Join(consent, ",")+"/"+strings.Join(keep, ","))
	one, err := f.Rollout(ctx, id)
	return one, []fleet.DeviceID{idA}, err
}

func rolling(t *testing.T) (*world, *rollouts) {
	t.Helper()
	w := newWorld(t)
	at := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC)
	f := &rollouts{
		all: []fleet.Rollout{
			{ID: 3, Status: fleet.RolloutWaiting, Cause: "newest", CreatedAt: at},
			{ID: 2, Generation: 9, Before: 8, Status: fleet.RolloutHalted, Cause: "template 7 was changed", Waves: []int{1, 2}, Wave: 1, CreatedAt: at, StartedAt: at,
				Halt:     &fleet.RolloutHalt{By: "muster", Gate: fleet.GateFolders, Device: idA, Saw: "folder p is in error", At: at},
				Consents: []fleet.RolloutConsent{{Key: "gui.user", Digest: "keyed", By: "admin"}},
				Members:  []fleet.RolloutMember{{Device: idA, Wave: 1, State: fleet.MemberFailed, Was: fleet.ConfigInSync}, {Device: idC, State: fleet.MemberAbsent}}},
			{ID: 1, Status: fleet.RolloutSucceeded, Cause: "oldest", CreatedAt: at},
		},
		plans: map[string]plan.Plan{"abc": {Digest: "abc", Changes: []plan.Change{
			change(t, "folders.p", plan.Held, stconfig.Value{}), change(t, "gui.user", plan.Held, stconfig.Text("x"))}}},
	}
	options := w.api.Options
	options.Rollouts = f
	w.api = newServer(options)
	return w, f
}

func TestRolloutsAreListedNewestFirstAndShownWithTheirMembers(t *testing.T) {
	w, _ := rolling(t)
	w.device(idA, "one")
	var all []api.Rollout
	if err := json.Unmarshal([]byte(w.get(Prefix+"/rollouts?limit=2")), &all); err != nil || len(all) != 2 || all[0].ID != 3 || all[0].Halt != nil {
		t.Errorf("got %+v, %v", all, err)
	}
	if err := json.Unmarshal([]byte(w.get(Prefix+"/rollouts?after=2")), &all); err != nil || len(all) != 1 || all[0].ID != 1 {
		t.Errorf("got %+v, %v", all, err)
	}
	text := w.get(Prefix + "/rollouts/2")
	var one api.RolloutDetail
	if err := json.Unmarshal([]byte(text), &one); err != nil {
		t.Fatal(err)
	}
	if one.Status != "halted" || one.Halt == nil || one.Halt.Gate != "folders" || one.Halt.Device != string(idA) || !slices.Equal(one.Waves, []int{1, 2}) {
		t.Errorf("got %+v", one)
	}
	if len(one.Members) != 2 || one.Members[0].Label != "one" || one.Members[0].State != "failed" || one.Members[1].Label != "" {
		t.Errorf("got %+v", one.Members)
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
	if got := strings.Join(f.calls, ", "); got != "pause by operator, resume by operator, halt by operator, undo by author" {
		t.Errorf("got %s", got)
	}
	entries, err := w.store.Audit(t.Context(), 0, 1)
	if err != nil || len(entries) != 1 || entries[0].What != "rollout.undo" || entries[0].Subject != "2" || entries[0].Who != "author" {
		t.Errorf("got %+v, %v", entries, err)
	}
	f.conflict = true
	w.problem(http.StatusConflict, post("pause", fleet.RoleAdmin))
	w.problem(http.StatusNotFound, call{method: http.MethodGet, path: Prefix + "/rollouts/2/steal"})
}

func TestAConsentForARolloutNeedsTheSameRoleAsForADevice(t *testing.T) {
	w, f := rolling(t)
	post := func(role fleet.Role, body string) call {
		return call{method: http.MethodPost, path: Prefix + "/rollouts/2/consent", role: role, body: body}
	}
	w.problem(http.StatusForbidden, post(fleet.RoleOperator, `{"digest":"abc","consent":["gui.user"]}`))
	w.problem(http.StatusConflict, post(fleet.RoleAdmin, `{"digest":"old","consent":["gui.user"]}`))
	w.problem(http.StatusUnprocessableEntity, post(fleet.RoleAdmin, `{"consent":["gui.user"]}`))
	if len(f.calls) > 0 {
		t.Fatalf("got %v", f.calls)
	}
	text := w.want(http.StatusOK, post(fleet.RoleOperator, `{"digest":"abc","consent":["folders.p"],"keep":["folders.q"]}`))
	if !strings.Contains(text, `"devices":["`+string(idA)+`"]`) || f.calls[0] != "consent abc folders.p/folders.q" {
		t.Errorf("got %s, %v", text, f.calls)
	}
}

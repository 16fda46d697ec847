package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// consents plays the engine.
type consents struct {
	groups   []fleet.HeldGroup
	answered []fleet.GroupAnswer
	by       []string
	given    []fleet.GivenConsent
	conflict bool
	gone     []fleet.DeviceID
}

func (c *consents) HeldGroups(context.Context) ([]fleet.HeldGroup, error) { return c.groups, nil }

func (c *consents) AnswerGroup(ctx context.Context, a fleet.GroupAnswer) (done fleet.GroupAnswered, err error) {
	for _, g := range c.groups {
		if g.Digest != a.Digest {
			continue
		}
		done.Key = g.Key
		for _, change := range g.Changes {
			if slices.Contains(a.Shown, fleet.ShownChange{Device: change.Device, Digest: change.Digest}) {
				done.Changes = append(done.Changes, change)
			} else {
				done.Waiting = append(done.Waiting, change)
			}
		}
	}
	if len(done.Changes) == 0 || c.conflict {
		return fleet.GroupAnswered{}, &fleet.Error{Code: fleet.CodeConflict, Message: "no device", Hint: "GET consents."}
	}
	c.answered, c.by = append(c.answered, a), append(c.by, fleet.ActorOf(ctx))
	if a.WholeRollout != 0 {
		done.NotShown = 5
	}
	done.Gone = c.gone
	return done, nil
}

func (c *consents) GivenConsents(_ context.Context, most int) ([]fleet.GivenConsent, error) {
	return c.given[:min(most, len(c.given))], nil
}

// asking has a removal and a change of access that wait.
func asking(t *testing.T) (*world, *consents) {
	w := newWorld(t)
	w.device(idA, "one")
	folder := func(id fleet.DeviceID, digest string) fleet.HeldChange {
		return fleet.HeldChange{Device: id, Digest: digest, Key: "folders.p", From: []byte(`{"id":"p","path":"/p"}`),
			To: []byte("null"), Reason: "it goes", Names: fleet.Names{Devices: []fleet.DeviceID{idA}, Paths: []string{"/p"}}}
	}
	f := &consents{groups: []fleet.HeldGroup{
		{Digest: "aaa", Key: "folders.p", Consent: true, Keep: true, Removes: true, Rollout: 7, Templates: []int64{1, 2},
			Changes: []fleet.HeldChange{folder(idA, "a1"), folder(idB, "a2")}},
		{Digest: "bbb", Key: "gui.apiKey", Consent: true, Changes: []fleet.HeldChange{{Device: idA, Digest: "b1",
			Key: "gui.apiKey", From: []byte(`"********"`), To: []byte(`"********"`), Reason: "access"}}},
	}}
	w.hold(f)
	return w, f
}

func answering(role fleet.Role, body string) call {
	return call{method: http.MethodPost, path: Prefix + "/consents", role: role, body: body}
}

func TestWhatWaitsIsListedWithItsAnswers(t *testing.T) {
	w, _ := asking(t)
	var groups []api.HeldGroup
	if err := json.Unmarshal([]byte(w.get(Prefix+"/consents")), &groups); err != nil || len(groups) != 2 {
		t.Fatalf("got %+v, %v", groups, err)
	}
	g := groups[0]
	if g.Role != "operator" || !slices.Equal(g.Answers, []string{"consent", "keep"}) ||
		!slices.Equal(g.Templates, []int64{1, 2}) ||
		g.Rollout != 7 || g.DeviceCount != 2 || len(g.Changes) != 2 || !g.Alike || !g.Removes {
		t.Fatalf("got %+v", g)
	}
	for i, c := range g.Changes {
		if c.DeviceID != string([]fleet.DeviceID{idA, idB}[i]) || c.Digest == "" || c.Key != "folders.p" ||
			string(
				c.From,
			) != `{"id":"p","path":"/p"}` || c.Reason != "it goes" || !slices.Equal(c.Names.Paths, []string{"/p"}) ||
			c.Names.Folders == nil || c.Names.Devices[0] != (api.NamedDevice{DeviceID: string(idA), Label: "one"}) {
			t.Errorf("got %+v", c)
		}
	}
	if g := groups[1]; g.Role != "admin" || !slices.Equal(g.Answers, []string{"consent"}) || g.Templates == nil {
		t.Errorf("got %+v", g)
	}
}

// A group's answer names the value that is chosen; only an administrator may choose it.
func TestAGroupIsAnsweredWithAValueByItsName(t *testing.T) {
	w, f := asking(t)
	f.groups = append(f.groups, fleet.HeldGroup{Digest: "ddd", Key: "gui.password", Keep: true, Rollout: 7,
		Choices: []fleet.Choice{{Name: "no password", Does: "it becomes empty"}},
		Changes: []fleet.HeldChange{{Device: idA, Digest: "d1", Key: "gui.password", From: []byte("1"), To: []byte("2")}}})
	var groups []api.HeldGroup
	if err := json.Unmarshal([]byte(w.get(Prefix+"/consents")), &groups); err != nil {
		t.Fatal(err)
	}
	if g := groups[2]; !slices.Equal(g.Answers, []string{"keep", "value"}) || g.Role != "admin" ||
		!slices.Equal(g.Choices, []api.Choice{{Name: "no password", Does: "it becomes empty"}}) {
		t.Errorf("got %+v", g)
	}
	body := func(rest string) string {
		return `{"digest":"ddd","shown":[{"deviceID":"` + string(idA) + `","digest":"d1"}],` + rest + `}`
	}
	for _, wrong := range []string{`"answer":"value"`, `"answer":"value","value":""`,
		`"answer":"keep","value":"no password"`, `"answer":"value no password"`} {
		w.problem(http.StatusUnprocessableEntity, answering(fleet.RoleAdmin, body(wrong)))
	}
	right := body(`"answer":"value","value":"no password"`)
	w.problem(http.StatusForbidden, answering(fleet.RoleOperator, right))
	if len(f.answered) > 0 {
		t.Fatalf("answered %+v", f.answered)
	}
	got := w.want(http.StatusOK, answering(fleet.RoleAdmin, right))
	if len(f.answered) != 1 || f.answered[0].Answer != fleet.AnswerValue("no password") ||
		!strings.Contains(got, `"answer":"value","value":"no password"`) || !strings.Contains(got, "is sent now") {
		t.Errorf("answered %+v: %s", f.answered, got)
	}
	f.given = []fleet.GivenConsent{{Consent: fleet.Consent{ID: 1, Device: idA, Key: "gui.password",
		Answer: fleet.AnswerValue("no password")}}}
	if got := w.get(Prefix + "/consents/given"); !strings.Contains(got, `"answer":"value","value":"no password"`) {
		t.Errorf("got %s", got)
	}
}

func TestAnAnswerNeedsTheRoleThatTheChangeNeeds(t *testing.T) {
	one, key := `"shown":[{"deviceID":"`+string(
		idA,
	)+`","digest":"a1"}]`, `"shown":[{"deviceID":"`+string(
		idA,
	)+`","digest":"b1"}]`
	for name, one := range map[string]struct {
		role   fleet.Role
		body   string
		status int
	}{
		"viewer, removal":   {fleet.RoleViewer, `{"digest":"aaa","answer":"consent",` + one + `}`, http.StatusForbidden},
		"operator, removal": {fleet.RoleOperator, `{"digest":"aaa","answer":"consent",` + one + `,"wholeRollout":true,"rollout":7}`, http.StatusOK},
		"operator, keep":    {fleet.RoleOperator, `{"digest":"aaa","answer":"keep",` + one + `}`, http.StatusOK},
		"operator, API key": {fleet.RoleOperator, `{"digest":"bbb","answer":"consent",` + key + `}`, http.StatusForbidden},
		"author, API key":   {fleet.RoleAuthor, `{"digest":"bbb","answer":"consent",` + key + `}`, http.StatusForbidden},
		"admin, API key":    {fleet.RoleAdmin, `{"digest":"bbb","answer":"consent",` + key + `}`, http.StatusOK},
		"no digest":         {fleet.RoleAdmin, `{"answer":"consent",` + one + `}`, http.StatusUnprocessableEntity},
		"no answer":         {fleet.RoleAdmin, `{"digest":"aaa",` + one + `}`, http.StatusUnprocessableEntity},
		"another answer":    {fleet.RoleAdmin, `{"digest":"aaa","answer":"yes",` + one + `}`, http.StatusUnprocessableEntity},
		"no device": {fleet.RoleAdmin, `{"digest":"aaa","answer":"keep","shown":[{"deviceID":"x","digest":"a1"}]}`,
			http.StatusUnprocessableEntity},
		"nothing shown": {fleet.RoleAdmin, `{"digest":"aaa","answer":"keep","shown":[]}`, http.StatusUnprocessableEntity},
		"no digest of a change": {fleet.RoleAdmin, `{"digest":"aaa","answer":"keep","shown":[{"deviceID":"` + string(idA) +
			`","digest":""}]}`, http.StatusUnprocessableEntity},
		"a whole rollout without one": {fleet.RoleAdmin, `{"digest":"aaa","answer":"keep",` + one + `,"wholeRollout":true}`,
			http.StatusUnprocessableEntity},
		"a rollout that is not meant as a whole": {fleet.RoleAdmin, `{"digest":"aaa","answer":"keep",` + one +
			`,"rollout":7}`, http.StatusUnprocessableEntity},
		"as older clients did": {fleet.RoleAdmin, `{"digest":"aaa","answer":"keep","devices":["` + string(idA) + `"]}`,
			http.StatusUnprocessableEntity},
		"a digest of no group": {fleet.RoleAdmin, `{"digest":"ccc","answer":"consent",` + one + `}`, http.StatusConflict},
	} {
		t.Run(name, func(t *testing.T) {
			w, f := asking(t)
			if one.status != http.StatusOK {
				w.problem(one.status, answering(one.role, one.body))
				if len(f.answered) > 0 {
					t.Errorf("answered all the same: %+v", f.answered)
				}
				return
			}
			var got api.AnsweredConsents
			if err := json.Unmarshal([]byte(w.want(http.StatusOK, answering(one.role, one.body))), &got); err != nil {
				t.Fatal(err)
			}
			if len(f.answered) != 1 || f.by[0] != string(one.role) || len(got.Devices) != 1 || got.Devices[0].Label != "one" ||
				!strings.Contains(got.Next, "consent list --given") || strings.Contains(got.Next,
				"rollout 7") != (f.answered[0].WholeRollout == 7) ||
				strings.Contains(got.Next, "5 of them were not shown") != (got.NotShown == 5) ||
				len(got.Changes) != 1 || len(got.Waiting) != len(f.groups[0].Changes)-1 && got.Key == "folders.p" {
				t.Errorf("got %+v of %+v by %v", got, f.answered, f.by)
			}
			entries, err := w.store.Audit(t.Context(), fleet.AuditQuery{Limit: 1})
			if err != nil || len(entries) != 1 || entries[0].What != "consents.answer" || entries[0].Who != string(one.role) {
				t.Errorf("got %+v, %v", entries, err)
			}
		})
	}
}

func TestAnAnswerThatComesTooLateIsAConflict(t *testing.T) {
	w, f := asking(t)
	f.conflict = true
	one := `"shown":[{"deviceID":"` + string(idA) + `","digest":"a1"}]`
	w.problem(http.StatusConflict, answering(fleet.RoleAdmin, `{"digest":"aaa","answer":"consent",`+one+`}`))
}

// A device that was deleted meanwhile is named in the reply, also for people.
func TestAnAnswerNamesTheDevicesThatAreGone(t *testing.T) {
	w, f := asking(t)
	f.gone = []fleet.DeviceID{idB}
	one := `"shown":[{"deviceID":"` + string(idA) + `","digest":"a1"},{"deviceID":"` + string(idB) + `","digest":"a2"}]`
	var got api.AnsweredConsents
	text := w.want(http.StatusOK, answering(fleet.RoleAdmin, `{"digest":"aaa","answer":"consent",`+one+`}`))
	if err := json.Unmarshal([]byte(text), &got); err != nil || !slices.Equal(got.Gone, []string{string(idB)}) ||
		!strings.Contains(got.Next, "not answered for: "+idB.Short()) {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestAnswersAreListedWithWhatBecameOfThem(t *testing.T) {
	w, f := asking(t)
	give := func(id int64) fleet.GivenConsent {
		return fleet.GivenConsent{Consent: fleet.Consent{ID: id, Device: idA, Key: "folders.p", Answer: fleet.AnswerConsent,
			By:     "nora",
			Change: "keyed"}}
	}
	open, used, kept, over := give(4), give(3), give(2), give(1)
	used.Used, used.Intent, used.Rollout = true, 9, 7
	kept.Used, kept.Answer, kept.Closed = true, fleet.AnswerKeep, kept.Until.Add(1)
	over.Closed = kept.Closed
	f.given = []fleet.GivenConsent{open, used, kept, over}
	text := w.get(Prefix + "/consents/given")
	var given []api.GivenConsent
	if err := json.Unmarshal([]byte(text), &given); err != nil || len(given) != 4 || strings.Contains(text, "keyed") {
		t.Fatalf("got %s, %v", text, err)
	}
	if given[0].State != "open" || given[1].State != "used" || given[1].Intent != 9 || given[1].Rollout != 7 ||
		given[2].State != "used" || given[3].State != "closed" ||
		given[1].Label != "one" {
		t.Errorf("got %+v", given)
	}
	if err := json.Unmarshal([]byte(w.get(Prefix+"/consents/given?limit=1")), &given); err != nil || len(given) != 1 {
		t.Errorf("got %+v, %v", given, err)
	}
}

package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func varsFrom(t *testing.T, text string) fleet.Vars {
	t.Helper()
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return must(fleet.ParseVars(values))(t)
}

func TestVarsOfTagsComeInTheOrderOfTheirNamesAndTheDevicesOwnLast(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		admin, author := as(t, fleet.RoleAdmin), as(t, fleet.RoleAuthor)
		d := put(t, s, deviceN(1)).ID
		for _, tag := range []fleet.Tag{"b", "a", "c"} {
			must(s.TagDevice(admin, d, tag, nil))(t)
		}
		for of, text := range map[fleet.VarsOwner]string{
			{Tag: "a"}: `{"x": 1, "y": "a", "z": [1]}`, {Tag: "b"}: `{"y": "b", "Z": 2}`, {Device: d}: `{"own": 1e3}`,
			{Tag: "else"}: `{"x": "of another"}`,
		} {
			must(s.PutVars(author, of, varsFrom(t, text), nil))(t)
		}
		want := fleet.Vars(`{"Z":2,"own":1e3,"x":1,"y":"b"}`)
		check := func(s *Store) {
			t.Helper()
			r := must(s.Registry(t.Context()))(t)
			if got := r.VarsOf(d); got != want || r.VarsByAdmins(d) {
				t.Errorf("got %s, by admins: %t, want %s", got, r.VarsByAdmins(d), want)
			}
		}
		check(s)
		before := must(s.Registry(t.Context()))(t).Generation
		must(s.PutVars(author, fleet.VarsOwner{Device: d}, varsFrom(t, `{"own": 1e3}`), nil))(t)
		if after := must(s.Registry(t.Context()))(t).Generation; after != before {
			t.Errorf("what was so already made generation %d after %d", after, before)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		check(open(t, options))
	})
}

func TestVarsAreAGenerationThatAnUndoTakesBack(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		admin, author := as(t, fleet.RoleAdmin), as(t, fleet.RoleAuthor)
		d := put(t, s, deviceN(1)).ID
		must(s.TagDevice(admin, d, "a", nil))(t)
		of := fleet.VarsOwner{Tag: "a"}
		must(s.PutVars(admin, of, varsFrom(t, `{"x": 1}`), nil))(t)
		first := must(s.Registry(t.Context()))(t)
		must(s.PutVars(author, of, varsFrom(t, `{}`), nil))(t)
		must(s.PutVars(author, fleet.VarsOwner{Device: d}, varsFrom(t, `{"y": 2}`), nil))(t)
		second := must(s.Registry(t.Context()))(t)
		if second.Generation != first.Generation+2 || second.VarsOf(d) != `{"y":2}` {
			t.Fatalf("generation %d has %s", second.Generation, second.VarsOf(d))
		}
		changes := must(s.GenerationChanges(t.Context(), first.Generation))(t)
		if len(changes) != 2 || len(changes[0].Vars) != 1 || changes[0].Vars[0].Tag != "a" || changes[0].Vars[0].Vars != "" ||
			len(changes[1].Vars) != 1 || changes[1].Vars[0].Device != d {
			t.Errorf("got %+v", changes)
		}
		past := must(s.RegistryAt(t.Context(), first.Generation))(t)
		if past.VarsOf(d) != `{"x":1}` || fleet.Join(past, second).VarsOf(d) != `{"x":1}` {
			t.Errorf("generation %d had %s", past.Generation, past.VarsOf(d))
		}
		r := fleet.Rollout{ID: 1, Carries: []int64{first.Generation + 1, first.Generation + 2}}
		preview := must(s.UndonePreview(admin, r))(t)
		must(s.UndoRollout(admin, r, fleet.RolloutWrite{Settled: &fleet.Registry{Generation: second.Generation + 1}}))(t)
		after := must(s.Registry(t.Context()))(t)
		for _, r := range []*fleet.Registry{preview, after} {
			if r.VarsOf(d) != `{"x":1}` || !r.VarsByAdmins(d) {
				t.Errorf("undone it is %s, by admins: %t", r.VarsOf(d), r.VarsByAdmins(d))
			}
		}
	})
}

func TestVarsOfADeviceGoWithIt(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		admin := as(t, fleet.RoleAdmin)
		d := put(t, s, deviceN(1)).ID
		of := fleet.VarsOwner{Device: d}
		must(s.PutVars(admin, of, varsFrom(t, `{"x": 1}`), nil))(t)
		if err := s.DeleteDevice(admin, d, nil); err != nil {
			t.Fatal(err)
		}
		_, err := s.PutVars(admin, of, varsFrom(t, `{"x": 1}`), nil)
		wantCode(t, err, fleet.CodeNotFound)
		put(t, s, deviceN(1))
		r := must(s.Registry(t.Context()))(t)
		if past := must(s.RegistryAt(t.Context(), r.Generation))(t); r.VarsOf(d)+past.VarsOf(d) != "" {
			t.Errorf("registered again it has %s", r.VarsOf(d))
		}
	})
}

func TestTheVarsOfAllTagsAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Home: preparedHome(t), Seal: key(t, 1)})
	admin := as(t, fleet.RoleAdmin)
	large := varsFrom(t, `{"x": "`+strings.Repeat("x", fleet.MaxVarsBytes-10)+`"}`)
	var edit fleet.Edit
	for i := range fleet.MaxTagVars / len(large) {
		edit.Vars = append(edit.Vars, fleet.VarsChange{VarsOwner: fleet.VarsOwner{Tag: fleet.Tag(fmt.Sprint(i))},
			SavedVars: fleet.SavedVars{Vars: large}})
	}
	must(s.applyBased(admin, edit, 0))(t)
	_, err := s.PutVars(admin, fleet.VarsOwner{Tag: "more"}, large, nil)
	wantCode(t, err, fleet.CodeTooLarge)
	must(s.PutVars(admin, fleet.VarsOwner{Tag: "0"}, "", nil))(t)
	must(s.PutVars(admin, fleet.VarsOwner{Tag: "more"}, large, nil))(t)
}

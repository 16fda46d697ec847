package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

func fullRollout(s *Store, generation int64, devices ...fleet.DeviceID) fleet.Rollout {
	r := fleet.Rollout{
		Generation: generation, Before: generation - 1, Carries: []int64{generation}, Cause: "template 1 changed",
		Status: fleet.RolloutHalted,
		Reason: "reason", Next: "next", WavePlan: []string{"1", "rest"}, Waves: []int{1, 2}, Wave: 1,
		Undoes: 6, UndoneBy: 7, SupersededBy: 8,
		Halt:      &fleet.RolloutHalt{By: "muster", Gate: fleet.GateFolders, Device: devices[0], Saw: "folder", At: seenAt},
		Approval:  &fleet.Approval{Reason: "many devices", By: "anna", At: seenAt},
		StartedAt: seenAt, WaveAt: seenAt, EndedAt: seenAt,
	}
	for i, id := range devices {
		m := fleet.RolloutMember{Device: id, Wave: i, Was: fleet.ConfigInSync,
			Errors: []string{"a", "b"}, Held: []string{"c"}, From: 2, Waived: i == 1}
		if d, err := s.registered(id); err == nil {
			m.Registered = d.CreatedAt
		}
		r.Members = append(r.Members, m)
	}
	return r
}

// only is the ID of those that were created.
func only(created []int64, err error) func(*testing.T) int64 {
	return func(t *testing.T) int64 {
		t.Helper()
		if err != nil || len(created) != 1 {
			t.Fatalf("got %v created, %v", created, err)
		}
		return created[0]
	}
}

// undo takes a rollout back as the engine does, and gives the generation.
func undo(ctx context.Context, t *testing.T, s *Store, r fleet.Rollout) int64 {
	t.Helper()
	then := must(s.UndonePreview(ctx, r))(t)
	if now := must(s.Registry(ctx))(t); now.Generation != then.Generation-1 {
		t.Fatalf("a preview made generation %d", now.Generation)
	}
	r.Status, r.UndoneBy = fleet.RolloutUndone, then.Generation
	must(s.UndoRollout(ctx, r, fleet.RolloutWrite{Settled: then, Rollouts: []fleet.Rollout{r}}))(t)
	if now := must(s.Registry(ctx))(t); !sameTemplates(now, then) {
		t.Error("the undo made something else than its preview")
	}
	return then.Generation
}

// sameTemplates ignores updatedAt.
func sameTemplates(a, b *fleet.Registry) bool {
	return slices.EqualFunc(a.Templates, b.Templates, func(x, y fleet.TaggedTemplate) bool {
		x.UpdatedAt, y.UpdatedAt = time.Time{}, time.Time{}
		return x.Template == y.Template && slices.Equal(x.Tags, y.Tags)
	})
}

// What was decided for another generation is not kept, nor is the undo.
func TestAnUndoThatWasDecidedForAnotherGenerationIsNotKept(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		v := create(t, s, "a")
		v.Text = "true\n"
		v = must(s.PutTemplate(t.Context(), v, nil))(t)
		r := fullRollout(s, 2, deviceN(1).ID)
		r.Carries, r.EndedAt, r.Members = []int64{2}, time.Time{}, nil
		r.ID = only(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{r}}))(t)
		then := must(s.UndonePreview(t.Context(), r))(t)
		create(t, s, "b")
		_, err := s.UndoRollout(t.Context(), r, fleet.RolloutWrite{Settled: then, Rollouts: []fleet.Rollout{r}})
		wantCode(t, err, fleet.CodePrecondition)
		if got := must(s.Template(t.Context(), v.ID))(t); got.Text != v.Text {
			t.Errorf("got %q", got.Text)
		}
		undo(t.Context(), t, s, r)
	})
}

func TestARolloutSpeaksForADeviceUntilALaterChangeTouchesIt(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		a, b := put(t, s, deviceN(1)).ID, put(t, s, deviceN(2)).ID
		first := only(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{fullRollout(s, 1, a, b)}}))(t)
		want := map[fleet.DeviceID]int64{a: first, b: first}
		if got := must(s.RolloutsOfDevices(t.Context()))(t); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		must(s.PutRollouts(t.Context(), fleet.RolloutWrite{Touched: []fleet.DeviceID{a}}))(t)
		again := must(s.Rollout(t.Context(), first))(t)
		must(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{again}}))(t)
		if got := must(s.RolloutsOfDevices(t.Context()))(t); !reflect.DeepEqual(got, map[fleet.DeviceID]int64{b: first}) {
			t.Errorf("got %v, want none for the device that was touched", got)
		}
	})
}

func TestARolloutReleasesNoHoldOfAnother(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		a := put(t, s, deviceN(1))
		must(s.TagDevice(t.Context(), a.ID, "x", nil))(t)
		registry := must(s.Registry(t.Context()))(t)
		first := only(s.PutRollouts(t.Context(), fleet.RolloutWrite{
			Rollouts: []fleet.Rollout{fullRollout(s, 1, a.ID)}}))(t)
		must(s.PutRollouts(t.Context(), fleet.RolloutWrite{Settled: registry,
			Rollouts: []fleet.Rollout{fullRollout(s, 1, a.ID)}, Hold: []fleet.Hold{{Device: a.ID}}}))(t)
		must(s.PutRollouts(t.Context(), fleet.RolloutWrite{Release: []fleet.Hold{{Device: a.ID, Rollout: first}}}))(t)
		isAdmitted(t, s, a.ID, 0)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		isAdmitted(t, open(t, options), a.ID, 0)
	})
}

// A write of the rollout that was under way when its device was deleted made the new registration a member, and held
// it at a generation of the old one.
func TestADeviceThatIsRegisteredAgainIsNoMember(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: seenAt}
		options.Now = clock.now
		s := open(t, options)
		a := put(t, s, deviceN(1))
		must(s.TagDevice(t.Context(), a.ID, "x", nil))(t)
		registry := must(s.Registry(t.Context()))(t)
		r, other := fullRollout(s, 1, a.ID), fullRollout(s, 1, a.ID)
		r.ID = only(s.PutRollouts(t.Context(), fleet.RolloutWrite{Settled: registry, Rollouts: []fleet.Rollout{r},
			Hold: []fleet.Hold{{Device: a.ID}}}))(t)
		if err := s.DeleteDevice(t.Context(), a.ID, nil); err != nil {
			t.Fatal(err)
		}
		clock.move(time.Millisecond)
		put(t, s, deviceN(1))
		for _, stale := range []fleet.Rollout{r, other} {
			created := must(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{stale},
				Hold: []fleet.Hold{{Device: a.ID, Rollout: stale.ID}}}))(t)
			id := append(created, stale.ID)[0]
			if got := must(s.Rollout(t.Context(), id))(t); len(got.Members) != 0 {
				t.Errorf("rollout %d has the members %+v", id, got.Members)
			}
			if hold, held := must(s.Admission(t.Context()))(t).Hold(a.ID); held {
				t.Errorf("it is held: %+v", hold)
			}
		}
	})
}

// The answer to a COMMIT may be lost after the database made it. What is held in memory then, and told, has to be what
// the database has.
func TestAfterALostAnswerToACommitTheAdmissionIsWhatWasCommitted(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		var told fleet.Committed
		options.Committed = func(c fleet.Committed) { told.Merge(c) }
		s := open(t, options)
		a := put(t, s, deviceN(1))
		must(s.TagDevice(t.Context(), a.ID, "x", nil))(t)
		w := fleet.RolloutWrite{Settled: must(s.Registry(t.Context()))(t), Hold: []fleet.Hold{{Device: a.ID}},
			Rollouts: []fleet.Rollout{fullRollout(s, 1, a.ID)}}
		pasts := must(s.pastsOf(t.Context(), w.Hold))(t)
		told = fleet.Committed{}
		_, err := write(t.Context(), s, "lost", func(x *tx) ([]int64, error) {
			created, err := x.putRollouts(w, pasts)
			if err == nil {
				err = x.exec("COMMIT") // what follows fails
			}
			return created, err
		})
		if err == nil {
			t.Fatal("the writer did not notice")
		}
		open := must(s.OpenRollouts(t.Context()))(t)
		if len(open) != 1 || len(open[0].Members) != 1 {
			t.Errorf("got %+v, want the rollout that was committed", open)
		}
		isAdmitted(t, s, a.ID, 0)
		if !slices.Contains(told.Admitted, a.ID) {
			t.Errorf("told %+v: the device is not planned anew", told)
		}
	})
}

func TestTheMakersOfGenerationsAreKept(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		for _, by := range [][2]string{{"anna", "anna"}, {"ci", "anna"}, {"admin-token", ""}} {
			v := fleet.Template{Op: fleet.OpSet, Key: "options.natEnabled", Text: "true"}
			ctx := fleet.WithPerson(fleet.WithActor(t.Context(), by[0]), by[1])
			must(s.CreateTemplate(ctx, v))(t)
		}
		var got []string
		for _, m := range must(s.MadeBy(t.Context(), []int64{1, 2, 3, 4}))(t) {
			got = append(got, fmt.Sprintf("%d %s of %s", m.Generation, m.Name, m.Person))
			if m.At.IsZero() && m.Generation < 4 {
				t.Errorf("generation %d has no time", m.Generation)
			}
		}
		want := []string{"1 anna of anna", "2 ci of anna", "3 admin-token of ", "4  of "}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestTheDifferenceOfGenerationsIsFromBeforeTheFirstToTheLast(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1)).ID
		v := create(t, s, "a")
		before := v
		for _, text := range []string{"true\n", "false\n"} {
			v.Text = text
			v = must(s.PutTemplate(t.Context(), v, nil))(t)
		}
		gone := create(t, s, "b")
		must(s.TagDevice(t.Context(), d, "x", nil))(t)
		if err := s.DeleteTemplate(t.Context(), gone.ID, nil); err != nil {
			t.Fatal(err)
		}
		got := must(s.Difference(t.Context(), []int64{2, 3, 5, 6}))(t)
		if len(got.Templates) != 2 || got.Templates[0].Before.Text != before.Text ||
			got.Templates[0].After.Text != "false\n" ||
			got.Templates[1].Before == nil || got.Templates[1].After != nil {
			t.Errorf("got templates %+v", got.Templates)
		}
		if want := []fleet.TagDifference{{Tag: "x", Device: d, Carried: true}}; !slices.Equal(got.Tags, want) {
			t.Errorf("got tags %+v, want %+v", got.Tags, want)
		}
		ofDevice, ofTag := fleet.VarsOwner{Device: d}, fleet.VarsOwner{Tag: "x"}
		var generations []int64
		for _, c := range []struct {
			of   fleet.VarsOwner
			vars fleet.Vars
		}{{ofTag, `{"a":1}`}, {ofDevice, `{"b":1}`}, {ofTag, `{"a":2}`}, {ofTag, `{"a":3}`}, {ofDevice, ""},
			{ofDevice, `{"b":1}`}} {
			must(s.PutVars(t.Context(), c.of, c.vars, nil))(t)
			generations = append(generations, must(s.Registry(t.Context()))(t).Generation)
		}
		wantVars := []fleet.VarsDifference{{VarsOwner: ofTag, Before: `{"a":1}`, After: `{"a":3}`}}
		if got := must(s.Difference(t.Context(), generations[2:]))(t).Vars; !slices.Equal(got, wantVars) {
			t.Errorf("got vars %+v, want %+v", got, wantVars)
		}
	})
}

func TestRolloutsAndHoldsAreKeptTogether(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		a, b := put(t, s, deviceN(1)), put(t, s, deviceN(2))
		for _, tag := range []fleet.Tag{"x", "y", "z"} {
			must(s.TagDevice(t.Context(), a.ID, tag, nil))(t)
		}
		three := must(s.Registry(t.Context()))(t)
		must(s.TagDevice(t.Context(), a.ID, "fourth", nil))(t)
		want := fullRollout(s, 3, a.ID, b.ID)
		id := only(s.PutRollouts(t.Context(), fleet.RolloutWrite{
			Settled: three, Rollouts: []fleet.Rollout{want}, Hold: []fleet.Hold{{Device: a.ID, Generation: 2},
				{Device: deviceN(9).ID, Generation: 2}},
		}))(t)
		got := must(s.Rollout(t.Context(), id))(t)
		want.ID, want.CreatedAt = id, got.CreatedAt
		if got.CreatedAt.IsZero() || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		isAdmitted(t, s, a.ID, 2)
		isAdmitted(t, s, b.ID, 3)
		if hold, held := must(s.Admission(t.Context()))(t).Hold(a.ID); !held || hold.Rollout != id {
			t.Errorf("got %+v", hold)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, options)
		isAdmitted(t, s, a.ID, 2)
		isAdmitted(t, s, b.ID, 3)
		want.Status, want.Members = fleet.RolloutSucceeded, nil
		if created := must(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{want},
			Release: []fleet.Hold{{Device: a.ID, Rollout: id}}}))(t); len(created) != 0 {
			t.Errorf("got %v created", created)
		}
		if got := must(s.Rollout(t.Context(), id))(t); got.Status != fleet.RolloutSucceeded || len(got.Members) != 2 {
			t.Errorf("got %s with %d members, want them kept", got.Status, len(got.Members))
		}
		isAdmitted(t, s, a.ID, 3)
		if open := must(s.OpenRollouts(t.Context()))(t); len(open) != 0 {
			t.Errorf("got %v", open)
		}
		if all := must(s.Rollouts(t.Context()))(t); len(all) != 1 || all[0].Members != nil {
			t.Errorf("got %+v", all)
		}
		_, err := s.Rollout(t.Context(), 99)
		wantCode(t, err, fleet.CodeNotFound)
		four := must(s.Registry(t.Context()))(t)
		_, err = s.PutRollouts(t.Context(), fleet.RolloutWrite{Settled: four, Rollouts: []fleet.Rollout{{ID: 99}}})
		wantCode(t, err, fleet.CodeNotFound)
		isAdmitted(t, s, a.ID, 3)
	})
}

// isAdmitted fails unless a device is planned from this generation, with the tags that it had there.
func isAdmitted(t *testing.T, s *Store, id fleet.DeviceID, generation int64) {
	t.Helper()
	registry := must(s.Registry(t.Context()))(t)
	got := must(s.Admission(t.Context()))(t).For(id, registry)
	if got.Generation != generation {
		t.Errorf("%s is planned from generation %d, want %d", id.Short(), got.Generation, generation)
	}
	if tags := got.Devices[id].Tags; id == deviceN(1).ID && int64(len(tags)) != generation {
		t.Errorf("at generation %d it has the tags %v", generation, tags)
	}
}

func TestTheHoldOfADeletedDeviceIsGone(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		a := put(t, s, deviceN(1))
		must(s.TagDevice(t.Context(), a.ID, "x", nil))(t)
		registry := must(s.Registry(t.Context()))(t)
		must(s.PutRollouts(t.Context(), fleet.RolloutWrite{Settled: registry,
			Rollouts: []fleet.Rollout{fullRollout(s, 1, a.ID)},
			Hold:     []fleet.Hold{{Device: a.ID, Generation: 0}}}))(t)
		isAdmitted(t, s, a.ID, 0)
		if err := s.DeleteDevice(t.Context(), a.ID, nil); err != nil {
			t.Fatal(err)
		}
		put(t, s, deviceN(1))
		if hold, held := must(s.Admission(t.Context()))(t).Hold(a.ID); held {
			t.Errorf("a device that was registered anew is held: %+v", hold)
		}
	})
}

func TestGenerationsSayWhatTheyChanged(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		v := create(t, s, "one")
		must(s.TagTemplate(t.Context(), v.ID, "x", nil))(t)
		must(s.TagDevice(t.Context(), d.ID, "x", nil))(t)
		if err := s.DeleteTemplate(t.Context(), v.ID, nil); err != nil {
			t.Fatal(err)
		}
		must(s.DeleteTag(t.Context(), "x", nil))(t)
		all := must(s.GenerationChanges(t.Context(), 0))(t)
		var got []string
		for _, c := range all {
			line := fmt.Sprint(c.Number)
			for _, v := range c.Templates {
				line += fmt.Sprintf(" template %d %q deleted %v", v.Template.ID, v.Template.Label, v.Deleted)
			}
			for _, v := range c.TemplateTags {
				line += fmt.Sprintf(" template %d %s %v", v.Template, v.Tag, v.Carried)
			}
			for _, v := range c.DeviceTags {
				line += fmt.Sprintf(" device %s %v", v.Tag, v.Carried)
			}
			if c.Cause == "" || c.At.IsZero() {
				t.Errorf("%+v has no cause or time", c)
			}
			got = append(got, line)
		}
		want := []string{
			`1 template 1 "one" deleted false`, `2 template 1 x true`, `3 device x true`,
			`4 template 1 "one" deleted true template 1 x false`, `5 device x false`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
		if later := must(s.GenerationChanges(t.Context(), 3))(t); len(later) != 2 || later[0].Number != 4 ||
			len(later[0].Templates) != 1 {
			t.Errorf("got %+v", later)
		}
		if none := must(s.GenerationChanges(t.Context(), 5))(t); len(none) != 0 {
			t.Errorf("got %+v", none)
		}
	})
}

// changeAll does one of every kind of change.
func changeAll(t *testing.T, s *Store, d fleet.DeviceID, edited, deleted, retagged fleet.Template) {
	t.Helper()
	edited.Text, edited.Label, edited.Priority = "true\n", "edited", 9
	must(s.PutTemplate(t.Context(), edited, nil))(t)
	if err := s.DeleteTemplate(t.Context(), deleted.ID, nil); err != nil {
		t.Fatal(err)
	}
	must(s.UntagTemplate(t.Context(), retagged.ID, "x", nil))(t)
	must(s.TagTemplate(t.Context(), retagged.ID, "y", nil))(t)
	must(s.TagDevice(t.Context(), d, "new", nil))(t)
	must(s.UntagDevice(t.Context(), d, "x", nil))(t)
	made := create(t, s, "made")
	must(s.TagTemplate(t.Context(), made.ID, "x", nil))(t)
}

func TestAnUndoneRolloutLeavesTemplatesAndTagsAsTheyWere(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d, other := put(t, s, deviceN(1)), put(t, s, deviceN(2))
		edited, deleted, retagged, untouched := create(t, s, "a"), create(t, s, "b"), create(t, s, "c"), create(t, s, "d")
		for _, v := range []fleet.Template{edited, deleted, retagged} {
			must(s.TagTemplate(t.Context(), v.ID, "x", nil))(t)
		}
		must(s.TagDevice(t.Context(), d.ID, "x", nil))(t)
		before := must(s.Registry(t.Context()))(t)

		changeAll(t, s, d.ID, edited, deleted, retagged)
		var carries []int64
		for _, c := range must(s.GenerationChanges(t.Context(), before.Generation))(t) {
			carries = append(carries, c.Number)
		}
		// Not the rollout's: it stays.
		untouched.Text = "true # mine\n"
		must(s.PutTemplate(t.Context(), untouched, nil))(t)
		must(s.TagDevice(t.Context(), other.ID, "mine", nil))(t)

		r := fullRollout(s, carries[0], d.ID)
		r.Carries, r.Status, r.UndoneBy = carries, fleet.RolloutHalted, 0
		r.ID = only(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{r}}))(t)
		generation := undo(t.Context(), t, s, r)
		after := must(s.Registry(t.Context()))(t)
		if after.Generation != generation || must(s.Rollout(t.Context(), r.ID))(t).UndoneBy != generation {
			t.Errorf("got generation %d, rollout %+v", after.Generation, must(s.Rollout(t.Context(), r.ID))(t))
		}
		compareTemplates(t, after, before, untouched)
		if got := after.Devices[d.ID].Tags; !slices.Equal(got, before.Devices[d.ID].Tags) {
			t.Errorf("got tags %v of the device, want %v", got, before.Devices[d.ID].Tags)
		}
		if got := after.Devices[other.ID].Tags; !slices.Equal(got, []fleet.Tag{"mine"}) {
			t.Errorf("got %v: another's tag was taken back", got)
		}
		if again := must(s.load(t.Context(), pool{s.reads}))(t); !sameRegistry(newView(again).registry, after) {
			t.Error("what is in memory is not what is in the database")
		}
		past := must(s.RegistryAt(t.Context(), generation))(t)
		compareTemplates(t, past, before, untouched)
		next := create(t, s, "next") // an ID that was used stays used
		if next.ID <= deleted.ID+3 {
			t.Errorf("got ID %d", next.ID)
		}
	})
}

// An author's text must not come back as an admin's, nor an admin's as an author's.
func TestAnUndoBringsBackWhoSavedATemplate(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		as := func(name string, role fleet.Role) context.Context {
			return fleet.WithRole(fleet.WithActor(t.Context(), name), role)
		}
		changed := must(s.CreateTemplate(as("ann", fleet.RoleAdmin), fleet.Template{Op: fleet.OpSet,
			Key: "options.natEnabled", Text: "false"}))(t)
		deleted := must(s.CreateTemplate(as("ben", fleet.RoleAuthor), fleet.Template{Op: fleet.OpSet,
			Key: "options.natEnabled", Text: "true"}))(t)
		before := must(s.Registry(t.Context()))(t)
		other := changed
		other.Text = "true"
		must(s.PutTemplate(as("ben", fleet.RoleAuthor), other, nil))(t)
		if err := s.DeleteTemplate(as("ann", fleet.RoleAdmin), deleted.ID, nil); err != nil {
			t.Fatal(err)
		}
		r := fullRollout(s, before.Generation+1, deviceN(1).ID)
		r.Carries, r.Status, r.UndoneBy, r.Members = []int64{before.Generation + 1, before.Generation + 2},
			fleet.RolloutHalted, 0, nil
		r.ID = only(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{r}}))(t)
		undo(as("eve", fleet.RoleAuthor), t, s, r)
		for id, want := range map[int64]fleet.Template{changed.ID: changed, deleted.ID: deleted} {
			got := must(s.Template(t.Context(), id))(t)
			if got.SavedBy != want.SavedBy || got.SavedRole != want.SavedRole || got.Text != want.Text {
				t.Errorf("got %+v, want what %s saved", got, want.SavedBy)
			}
		}
		if again := must(s.load(t.Context(), pool{s.reads}))(t); !sameRegistry(newView(again).registry,
			must(s.Registry(t.Context()))(t)) {
			t.Error("what is in memory is not what is in the database")
		}
	})
}

// compareTemplates ignores updatedAt, and the text of the one that was changed by somebody else.
func compareTemplates(t *testing.T, got, want *fleet.Registry, but fleet.Template) {
	t.Helper()
	if len(got.Templates) != len(want.Templates) {
		t.Errorf("got %d templates, want %d", len(got.Templates), len(want.Templates))
		return
	}
	for i, v := range got.Templates {
		w := want.Templates[i]
		if v.ID == but.ID {
			w.Text = but.Text
		}
		v.UpdatedAt = w.UpdatedAt
		if v.Template != w.Template || !slices.Equal(v.Tags, w.Tags) {
			t.Errorf("got %+v, want %+v", v, w)
		}
	}
}

func sameRegistry(a, b *fleet.Registry) bool {
	return reflect.DeepEqual(a.Templates, b.Templates) && reflect.DeepEqual(a.Devices, b.Devices) &&
		a.Generation == b.Generation
}

// A rollout that is over is undone only while nobody built on it.
func TestAnEndedRolloutIsNotUndoneOverALaterChange(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		v := create(t, s, "a")
		v.Text = "true\n"
		v = must(s.PutTemplate(t.Context(), v, nil))(t)
		r := fullRollout(s, 2, deviceN(1).ID)
		r.Status, r.Members = fleet.RolloutHalted, nil
		r.ID = only(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{r}}))(t)
		v.Text = "false # better\n"
		must(s.PutTemplate(t.Context(), v, nil))(t)
		_, err := s.UndonePreview(t.Context(), r)
		wantCode(t, err, fleet.CodeConflict)
		_, err = s.UndoRollout(t.Context(), r, fleet.RolloutWrite{Settled: must(s.Registry(t.Context()))(t)})
		wantCode(t, err, fleet.CodeConflict)
		if got := must(s.Template(t.Context(), v.ID))(t); got.Text != v.Text {
			t.Errorf("got %q", got.Text)
		}
	})
}

func TestTouchedDevicesAreThoseWithIntents(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		for n, outcome := range map[int]fleet.Outcome{1: fleet.OutcomeOpen, 2: fleet.OutcomeApplied,
			3: fleet.OutcomeAbandoned, 4: fleet.OutcomeApplied} {
			d := put(t, s, deviceN(n))
			generation := int64(5)
			if n == 4 {
				generation = 4
			}
			id := must(s.BeginIntent(t.Context(), fleet.Intent{Device: d.ID, Generation: generation}, nil))(t)
			if outcome == fleet.OutcomeOpen {
				continue
			}
			if err := s.FinishIntent(t.Context(), id, fleet.Ending{Outcome: outcome}); err != nil {
				t.Fatal(err)
			}
		}
		for n, want := range map[int]bool{1: true, 2: true, 3: false, 4: false, 5: false} {
			if got := must(s.Touched(t.Context(), deviceN(n).ID, 5))(t); got != want {
				t.Errorf("device %d: got %t", n, got)
			}
		}
	})
}

func TestOldRevisionsAreForgottenAndTheNewestNever(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: seenAt}
		options.Now = clock.now
		s := open(t, options)
		d := put(t, s, deviceN(1))
		for n, digest := range []string{"a", "b", "a", "c", "d"} {
			clock.move(24 * time.Hour)
			observe(t, s, fleet.Observation{Device: d.ID, Config: &fleet.ObservedConfig{JSON: []byte(digest), Digest: digest,
				SeenAt: clock.now()}})
			_ = n
		}
		numbers := func() (numbers []int64) {
			for _, r := range must(s.Revisions(t.Context(), d.ID))(t) {
				numbers = append(numbers, r.Number)
			}
			return numbers
		}
		if n := must(s.PruneRevisions(t.Context(), Retention{}))(t); n != 0 {
			t.Errorf("forgot %d although everything is to be kept", n)
		}
		// 1 was current until 2 came, four days ago... 2 until three days ago.
		if n := must(s.PruneRevisions(t.Context(), Retention{Age: 60 * time.Hour}))(t); n != 1 ||
			!slices.Equal(numbers(), []int64{5, 4, 3, 2}) {
			t.Errorf("forgot %d by age, left %v", n, numbers())
		}
		if n := must(s.PruneRevisions(t.Context(), Retention{Revisions: 2}))(t); n != 2 ||
			!slices.Equal(numbers(), []int64{5, 4}) {
			t.Errorf("forgot %d by count, left %v", n, numbers())
		}
		clock.move(1000 * 24 * time.Hour)
		must(s.PruneRevisions(t.Context(), Retention{Revisions: 1, Age: time.Hour}))(t)
		if got := must(s.ObservedConfig(t.Context(), d.ID))(t); string(got.JSON) != "d" ||
			!slices.Equal(numbers(), []int64{5}) {
			t.Errorf("got %q, %v", got.JSON, numbers())
		}
		if rows := rowsOf(t, s, "revision_bodies"); len(rows) != 1 {
			t.Errorf("%d documents are kept for one revision", len(rows))
		}
	})
}

func TestRevisionsHaveTheirCause(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		see := func(digest string) {
			observe(t, s, fleet.Observation{Device: d.ID, Config: &fleet.ObservedConfig{JSON: []byte(digest), Digest: digest,
				SeenAt: seenAt}})
		}
		explain := func(digest, cause string) { explain(t, s, fleet.Intent{Device: d.ID, Cause: cause}, digest) }
		see("first")
		see("person")
		explain("before", fleet.CauseRestore) // known before it is seen
		see("before")
		see("after")
		explain("after", fleet.CauseTemplate) // and the other way round
		see("person again")
		var got []string
		for _, r := range must(s.Revisions(t.Context(), d.ID))(t) {
			got = append(got, r.Digest+": "+r.Cause)
		}
		slices.Reverse(got)
		if want := []string{"first: ", "person: daemon", "before: restore", "after: template",
			"person again: daemon"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// explain finishes an intent of this cause that led to a configuration.
func explain(t *testing.T, s *Store, intent fleet.Intent, digest string) {
	t.Helper()
	id := must(s.BeginIntent(t.Context(), intent, nil))(t)
	if err := s.FinishIntent(t.Context(), id, fleet.Ending{Outcome: fleet.OutcomeApplied, Read: digest}); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyAnIntentThatChangedSomethingIsACause(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		observe(t, s, fullObservation(d.ID, "A"))
		observe(t, s, fullObservation(d.ID, "B"))
		for _, e := range []fleet.Ending{
			{Outcome: fleet.OutcomeAbandoned, Read: "digest-B"}, {Outcome: fleet.OutcomePartial, Read: "digest-A"},
			{Outcome: fleet.OutcomePartial}, {Outcome: fleet.OutcomePartial, Read: "digest-B"},
		} {
			for _, r := range must(s.Revisions(t.Context(), d.ID))(t) {
				if r.Cause == fleet.CauseTemplate {
					t.Fatalf("before %+v: revision %d has the cause %q", e, r.Number, r.Cause)
				}
			}
			id := must(s.BeginIntent(t.Context(), fleet.Intent{Device: d.ID, Observed: "digest-A"}, nil))(t)
			if err := s.FinishIntent(t.Context(), id, e); err != nil {
				t.Fatal(err)
			}
		}
		if r := must(s.Revision(t.Context(), d.ID, 2))(t); r.Cause != fleet.CauseTemplate {
			t.Errorf("the configuration that was read back has the cause %q", r.Cause)
		}
	})
}

func TestACauseIsOfOneRevision(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		observed := func(digest string) fleet.Observation {
			return fleet.Observation{Device: d.ID, Config: &fleet.ObservedConfig{JSON: []byte(digest), Digest: digest,
				SeenAt: seenAt}}
		}
		explain := func() { explain(t, s, fleet.Intent{Device: d.ID}, "ours") }
		causes := func() (causes []string) {
			for _, r := range must(s.Revisions(t.Context(), d.ID))(t) {
				causes = append(causes, r.Digest+": "+r.Cause)
			}
			slices.Reverse(causes)
			return causes
		}
		observe(t, s, observed("first"))
		explain()
		broken := errors.New("broken")
		_, err := write(t.Context(), s, "see", func(tx *tx) (none struct{}, err error) {
			prepared, err := s.prepare(observed("ours"))
			if err != nil {
				return none, err
			}
			if err := tx.observeConfig(prepared); err != nil {
				return none, err
			}
			return none, broken
		})
		if !errors.Is(err, broken) {
			t.Fatalf("got %v", err)
		}
		for _, digest := range []string{"ours", "theirs", "ours"} { // the last one is a person's, too
			observe(t, s, observed(digest))
		}
		if got, want := causes(), []string{"first: ", "ours: template", "theirs: daemon", "ours: daemon"}; !slices.Equal(got,
			want) {
			t.Errorf("got %q, want %q", got, want)
		}

		observe(t, s, observed("theirs"))
		explain()
		if err := s.DeleteDevice(t.Context(), d.ID, nil); err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			put(t, s, deviceN(n+1))
		}
		observe(t, s, observed("theirs"))
		observe(t, s, observed("ours"))
		if got, want := causes(), []string{"theirs: ", "ours: daemon"}; !slices.Equal(got, want) {
			t.Errorf("of a device that was deleted in between: got %q, want %q", got, want)
		}
		if n := len(s.writer.explained); n != 0 {
			t.Errorf("%d explanations are kept for nothing", n)
		}
	})
}

package rollout

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// restorable is one device with one older revision, its daemon, and a switch. The daemon takes nothing in.
type restorable struct {
	mode     fleet.Mode
	was, is  stconfig.Value
	writes   int
	bodies   []string
	intents  []fleet.Intent
	outcomes []fleet.Outcome
	onWrite  func()
}

func (r *restorable) Registry(context.Context) (*fleet.Registry, error) {
	return &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{stconfig.SampleID: {Device: fleet.Device{ID: stconfig.SampleID, APIPort: 8384}}}}, nil
}
func (r *restorable) Revision(context.Context, fleet.DeviceID, int64) (fleet.Revision, error) {
	return fleet.Revision{Number: 1, JSON: r.was.JSON()}, nil
}
func (r *restorable) BaseEntries(context.Context, fleet.DeviceID) ([]fleet.BaseEntry, error) {
	return nil, nil
}
func (r *restorable) BeginIntent(_ context.Context, intent fleet.Intent, _ []fleet.BaseEntry) (int64, error) {
	r.intents = append(r.intents, intent)
	return int64(len(r.intents)), nil
}
func (r *restorable) FinishIntent(_ context.Context, _ int64, outcome fleet.Outcome, _ string, _ []fleet.BaseEntry) error {
	r.outcomes = append(r.outcomes, outcome)
	return nil
}
func (r *restorable) Config(context.Context) (fleet.ObservedConfig, error) {
	return fleet.ObservedConfig{JSON: r.is.JSON()}, nil
}
func (r *restorable) Write(_ context.Context, _, _ string, body []byte) error {
	r.writes++
	r.bodies = append(r.bodies, string(body))
	r.onWrite()
	return nil
}
func (r *restorable) Close() {}

func (r *restorable) restorer(step func(string)) *Restorer {
	return NewRestorer(RestoreOptions{
		Revisions: r, Session: func(context.Context, fleet.DeviceID) (Session, error) { return r, nil },
		Facts: func(context.Context, *fleet.Registry, fleet.DeviceID) plan.Facts {
			return plan.Facts{APIPort: 8384, System: fleet.System{OS: "linux", PathSeparator: "/", Tilde: "/home/x"},
				Roots: []string{"~"}}
		},
		Mode:     func(fleet.DeviceID) fleet.Mode { return r.mode },
		Restored: func(fleet.DeviceID, string, string) {}, Unverified: func(fleet.Intent) {}, Step: step,
	})
}

// edited is a document with another value at a key.
func edited(t *testing.T, doc stconfig.Value, key string, to stconfig.Value) stconfig.Value {
	t.Helper()
	at, err := stconfig.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return stconfig.Patch(doc, []stconfig.Change{{Key: at, From: stconfig.Lookup(doc, at), To: to}})
}

// Whoever stops Muster stops a restore that is under way, too; what became of it is recorded, and told.
func TestAStopEndsARestoreThatIsUnderWay(t *testing.T) {
	is := stconfig.Normalise(stconfig.Sample())
	was := edited(t, is, "options.maxSendKbps", stconfig.Literal("77"))
	was = edited(t, was, "folders.photos-x4kd.label", stconfig.Text("another"))
	r := &restorable{mode: fleet.ModeOn, was: was, is: is}
	r.onWrite = func() { r.mode = fleet.ModeObserve }
	restorer := r.restorer(nil)
	done, err := restorer.Restore(t.Context(), stconfig.SampleID, 1, RestoreRequest{})
	if fleet.CodeOf(err) != fleet.CodeConflict || done.Done {
		t.Errorf("got %+v, %v, want a conflict", done, err)
	}
	if r.writes != 1 {
		t.Errorf("%d writes, want no other after the first", r.writes)
	}
	if len(r.outcomes) != 1 || r.outcomes[0] != fleet.OutcomePartial || r.intents[0].Cause != fleet.CauseRestore {
		t.Errorf("got outcomes %v of %+v", r.outcomes, r.intents)
	}
}

var friend, stranger = string(deviceN(1)), string(deviceN(2))

// sharedWith adds a share to a folder of the sample.
func sharedWith(t *testing.T, doc stconfig.Value, device string) stconfig.Value {
	return edited(t, doc, "folders.photos-x4kd.devices."+device, stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(device)}))
}

// hurried has a daemon to which somebody does something at the same moment as Muster.
func hurried(t *testing.T, meanwhile func(*restorable)) (*restorable, *Restorer) {
	t.Helper()
	is := stconfig.Normalise(stconfig.Sample())
	for _, device := range []string{friend, stranger} {
		is = edited(t, is, "devices."+device, stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(device)}))
	}
	r := &restorable{mode: fleet.ModeOn, is: stconfig.Normalise(is)}
	r.onWrite = func() { r.is = sharedWith(t, r.is, friend) }
	return r, r.restorer(func(name string) {
		if name == StepRestoreIntent {
			meanwhile(r)
		}
	})
}

func asAdmin(t *testing.T) context.Context { return fleet.WithRole(t.Context(), fleet.RoleAdmin) }

func sharing(t *testing.T) Amendment {
	return Amendment{What: "share", Cause: fleet.CauseAccept, Change: func(doc stconfig.Value) (stconfig.Value, error) { return sharedWith(t, doc, friend), nil }}
}

// A call that says a whole list says it as it was read right before.
func TestAnEditBeforeTheFirstWriteOfAnAcceptStays(t *testing.T) {
	edits := 0
	r, restorer := hurried(t, func(r *restorable) {
		if edits++; edits == 1 {
			r.is = sharedWith(t, r.is, stranger)
		}
	})
	if err := restorer.Amend(asAdmin(t), stconfig.SampleID, sharing(t)); err != nil {
		t.Fatal(err)
	}
	if r.writes != 1 || !strings.Contains(r.bodies[0], stranger) || !strings.Contains(r.bodies[0], friend) {
		t.Errorf("wrote %q, want both shares", r.bodies)
	}
	if !slices.Equal(r.outcomes, []fleet.Outcome{fleet.OutcomeAbandoned, fleet.OutcomeApplied}) {
		t.Errorf("got outcomes %v", r.outcomes)
	}
}

// What somebody did at the daemon meanwhile is not written over with our own.
func TestNothingIsAcceptedOverWhatSomebodyJustDid(t *testing.T) {
	r, restorer := hurried(t, func(r *restorable) { r.is = sharedWith(t, r.is, friend) })
	if err := restorer.Amend(asAdmin(t), stconfig.SampleID, sharing(t)); err != nil {
		t.Fatal(err)
	}
	if r.writes != 0 || !slices.Equal(r.outcomes, []fleet.Outcome{fleet.OutcomeAbandoned}) {
		t.Errorf("%d writes, outcomes %v", r.writes, r.outcomes)
	}
}

// A consent is to the plan that was seen, not to the one that an edit in the last moment makes of it.
func TestAConsentedRestoreEndsWhenSomebodyEditsInTheLastMoment(t *testing.T) {
	r, restorer := hurried(t, func(r *restorable) { r.is = edited(t, r.is, "options.maxSendKbps", stconfig.Literal("5")) })
	r.was = edited(t, r.is, "folders.photos-x4kd.path", stconfig.Text("/elsewhere"))
	asked, err := restorer.Restore(t.Context(), stconfig.SampleID, 1, RestoreRequest{})
	if err != nil || asked.Done || len(r.intents) != 0 {
		t.Fatalf("got %+v, %v, want it to wait for consent", asked, err)
	}
	_, err = restorer.Restore(t.Context(), stconfig.SampleID, 1, RestoreRequest{Digest: asked.Plan.Digest, Consent: []string{"folders.photos-x4kd.path"}})
	if fleet.CodeOf(err) != fleet.CodeConflict || r.writes != 0 || !slices.Equal(r.outcomes, []fleet.Outcome{fleet.OutcomeAbandoned}) {
		t.Errorf("got %v after %d writes, outcomes %v", err, r.writes, r.outcomes)
	}
}

func TestARestoreGivesWayToWhoeverKeepsEditing(t *testing.T) {
	edits := 0
	r, restorer := hurried(t, func(r *restorable) {
		edits++
		r.is = edited(t, r.is, "options.maxSendKbps", stconfig.Literal(strconv.Itoa(edits)))
	})
	if err := restorer.Amend(asAdmin(t), stconfig.SampleID, sharing(t)); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("got %v, want unavailable", err)
	}
	if r.writes != 0 || len(r.intents) != len(r.outcomes) {
		t.Errorf("%d writes, %d intents, outcomes %v", r.writes, len(r.intents), r.outcomes)
	}
}

// What an operator restores is judged as what an author asks for: a restore must lead nowhere that a template of
// theirs could not.
func TestAnOperatorsRestoreIsJudgedAsAnAuthorsTemplate(t *testing.T) {
	for role, want := range map[fleet.Role]plan.Class{fleet.RoleOperator: plan.Held, fleet.RoleAuthor: plan.Held,
		"": plan.Held, fleet.RoleAdmin: plan.Free} {
		r, restorer := hurried(t, func(*restorable) {})
		r.was = r.is
		r.is = stconfig.Replace(r.is, stconfig.Key{}.Child("folders").Child("photos-x4kd"), stconfig.Value{})
		restored, err := restorer.Restore(fleet.WithRole(t.Context(), role), stconfig.SampleID, 1,
			RestoreRequest{Section: "folders.photos-x4kd"})
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range restored.Plan.Changes {
			if change.Key.String() == "folders.photos-x4kd" && change.Class != want {
				t.Errorf("%s: %s is %s (%s), want %s", role, change.Key, change.Class, change.Reason, want)
			}
		}
		if len(restored.Plan.Changes) == 0 {
			t.Errorf("%s: nothing is planned", role)
		}
	}
}

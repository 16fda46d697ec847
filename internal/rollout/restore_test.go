package rollout

import (
	"context"
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
func (r *restorable) Write(context.Context, string, string, []byte) error {
	r.writes++
	r.onWrite()
	return nil
}
func (r *restorable) Close() {}

// Whoever stops Muster stops a restore that is under way, too; what became of it is recorded, and told.
func TestAStopEndsARestoreThatIsUnderWay(t *testing.T) {
	is := stconfig.Normalise(stconfig.Sample())
	at := func(text string) stconfig.Key {
		key, err := stconfig.ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	was := stconfig.Patch(is, []stconfig.Change{
		{Key: at("options.maxSendKbps"), From: stconfig.Lookup(is, at("options.maxSendKbps")), To: stconfig.Literal("77")},
		{Key: at("folders.photos-x4kd.label"), From: stconfig.Lookup(is, at("folders.photos-x4kd.label")), To: stconfig.Text("another")},
	})
	r := &restorable{mode: fleet.ModeOn, was: was, is: is}
	r.onWrite = func() { r.mode = fleet.ModeObserve }
	restorer := NewRestorer(RestoreOptions{
		Revisions: r, Session: func(context.Context, fleet.DeviceID) (Session, error) { return r, nil },
		Facts:    func(*fleet.Registered) plan.Facts { return plan.Facts{APIPort: 8384} },
		Mode:     func(fleet.DeviceID) fleet.Mode { return r.mode },
		Restored: func(fleet.DeviceID, string, string) {}, Unverified: func(fleet.Intent) {},
	})
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

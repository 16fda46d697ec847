package store

import (
	"slices"
	"testing"

	"muster/internal/fleet"
)

func TestAnOrderIsKeptWithHowFarItIs(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		ctx := fleet.WithActor(t.Context(), "ann")
		run := must(s.BeginActionRun(ctx, fleet.ActionRun{Tag: "all", Status: fleet.ActionRunning,
			ActionOrder: fleet.ActionOrder{Action: fleet.ActionRescan, Folder: "docs ü"},
			Devices:     []fleet.DeviceID{deviceN(1).ID, deviceN(2).ID}}))(t)
		one := must(s.BeginActionRun(ctx, fleet.ActionRun{Status: fleet.ActionRunning, Devices: run.Devices[:1],
			ActionOrder: fleet.ActionOrder{Action: fleet.ActionUpgrade, Major: true}}))(t)
		run.Done, run.Skipped = 1, run.Devices[:1]
		if err := s.PutActionRun(ctx, run); err != nil {
			t.Fatal(err)
		}
		one.Status, one.Reason = fleet.ActionFailed, "why \x00"
		if err := s.PutActionRun(ctx, one); err != nil {
			t.Fatal(err)
		}
		all := must(s.ActionRuns(ctx))(t)
		if len(all) != 2 || all[0].ID != one.ID || !all[0].Major || all[0].EndedAt.IsZero() || all[0].By != "ann" {
			t.Fatalf("got %+v", all)
		}
		got := must(s.ActionRun(ctx, run.ID))(t)
		if got.Done != 1 || !slices.Equal(got.Skipped, run.Skipped) || !slices.Equal(got.Devices, run.Devices) ||
			got.Folder != "docs ü" || !got.EndedAt.IsZero() || got.Status != fleet.ActionRunning || got.Tag != "all" {
			t.Errorf("got %+v", got)
		}
		if _, err := s.ActionRun(ctx, 99); fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Errorf("got %v", err)
		}
		var what []string
		for _, e := range must(s.Audit(ctx, fleet.AuditQuery{Limit: 10}))(t) {
			what = append(what, e.What)
		}
		for _, want := range []string{"tag.rescan", "device.upgrade", "action.ended"} {
			if !slices.Contains(what, want) {
				t.Errorf("the audit has %v, and not %s", what, want)
			}
		}
	})
}

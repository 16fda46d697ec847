package view

import (
	"context"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

// troubled is a row of a device in trouble.
func troubled(id fleet.DeviceID, causes []fleet.WaitCause, folders ...fleet.FolderTrouble) *Row {
	return &Row{Device: &fleet.Registered{Device: fleet.Device{ID: id, Label: string(id[:1])}, Tags: []fleet.Tag{"t"}},
		State: fleet.State{Reason: "no route", LastSeen: time.Unix(60, 0)}, Waits: causes, Troubles: folders}
}

func TestEachKindOfTroubleIsSummedUpAndWaitsForAPerson(t *testing.T) {
	stopped, alone := fleet.WaitFolderStopped, fleet.WaitAlone
	early, late := time.Unix(100, 0), time.Unix(200, 0)
	rows := []*Row{
		troubled(idA, []fleet.WaitCause{stopped}, fleet.FolderTrouble{Folder: "p", Cause: stopped, Since: late},
			fleet.FolderTrouble{Folder: "q", Cause: stopped, Since: early}),
		troubled(idB, []fleet.WaitCause{fleet.WaitUnreachable, stopped, alone},
			fleet.FolderTrouble{Folder: "p", Cause: stopped, Since: late}, fleet.FolderTrouble{Folder: "q", Cause: alone}),
		troubled("C", []fleet.WaitCause{fleet.WaitHeld}),
	}
	troubles, devices := TroublesOf(rows)
	if devices != 2 || len(troubles) != 3 || troubles[1].Cause != fleet.WaitUnreachable ||
		!troubles[1].Since.Equal(time.Unix(60, 0)) || troubles[2].Cause != alone {
		t.Fatalf("%d devices, %+v", devices, troubles)
	}
	if got := troubles[0]; got.Cause != stopped || got.Devices != 2 || got.Folders != 3 || got.First.ID != idA ||
		got.FirstFolder != "q" || !got.Since.Equal(early) || got.Tags["t"] != 2 {
		t.Errorf("got %+v", got)
	}
	registry := registryOf(idA, idB, "C")
	waiting := WaitingOf(WaitingSources{Registry: registry, Rows: rows,
		Standing: func(_ fleet.DeviceID, folder string) fleet.FolderStanding {
			return fleet.FolderStanding{Reason: "why " + folder, Next: "mend " + folder}
		}})
	found := map[string]int{}
	for _, g := range waiting.Groups {
		found[string(g.Cause)+" "+g.Subject] = len(g.Devices)
		if g.Cause == stopped && g.Subject == "p" && (g.Next != "mend p" || g.Devices[0].Detail != "why p" ||
			g.Severity != fleet.Critical) {
			t.Errorf("got %+v", g)
		}
		if g.Cause == fleet.WaitUnreachable && (g.Devices[0].Detail != "no route" || !g.Since.Equal(time.Unix(60, 0))) {
			t.Errorf("got %+v", g)
		}
	}
	if len(found) != 5 || found["folderStopped p"] != 2 || found["folderStopped q"] != 1 || found["alone q"] != 1 ||
		found["unreachable "] != 1 {
		t.Errorf("got %v", found)
	}
}

func TestAttentionIsSummedUpAgainOnlyWhenARowChanged(t *testing.T) {
	w, registry := newWorld(), registryOf(idA, idB)
	for _, id := range []fleet.DeviceID{idA, idB} {
		w.put(id, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Version: &fleet.Version{Version: "v2.0.0"}})
	}
	v := w.view()
	causes := []fleet.WaitCause{fleet.WaitStalled}
	v.Causes = func(_ fleet.State, s *fleet.Snapshot) []fleet.WaitCause {
		if s.Device == idA {
			return causes
		}
		return []fleet.WaitCause{fleet.WaitHeld}
	}
	attention := func() Attention {
		t.Helper()
		got, err := v.Attention(t.Context(), registry)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	before := attention()
	if len(before.Waiting) != 2 || before.Troubled != 1 || before.Troubles[0].Cause != fleet.WaitStalled ||
		before.Versions["v2.0.0"] != 2 {
		t.Fatalf("got %+v", before)
	}
	if again := attention(); &again.Waiting[0] != &before.Waiting[0] {
		t.Error("it was summed up twice")
	}
	if point, err := v.HistoryPoint(t.Context(), registry); err != nil || point.Troubled != 1 || point.Waiting != 2 {
		t.Errorf("got %+v, %v", point, err)
	}
	picks := func(row *Row) bool { return Query{Waiting: []fleet.WaitCause{WaitsTrouble}}.Picks(row) }
	if !picks(before.Waiting[0]) || picks(before.Waiting[1]) {
		t.Error("not the device in trouble is picked")
	}
	causes = nil
	w.mark(idA)
	if now := attention(); now.Troubled != 0 || len(now.Waiting) != 1 {
		t.Errorf("after it was over: got %+v", now)
	}
}

// The console and the command line put the name of the device before the reason: "birch: their daemons do not answer"
// is no sentence.
func TestTheReasonOfATroubleIsThatOfTheDeviceThatItNames(t *testing.T) {
	w, registry := newWorld(), registryOf(idA, idB)
	away := func(id fleet.DeviceID, reason, next string, seen int64) {
		w.put(id, fleet.State{Connection: fleet.Unreachable, Reason: reason, Next: next, LastSeen: time.Unix(seen, 0)},
			fleet.Snapshot{})
	}
	away(idA, "nothing answers", "Start it.", 60)
	away(idB, "no route", "", 120)
	v := w.view()
	v.Causes = func(state fleet.State, _ *fleet.Snapshot) []fleet.WaitCause {
		if state.Connection == fleet.Unreachable {
			return []fleet.WaitCause{fleet.WaitUnreachable}
		}
		return nil
	}
	s := NewSummaries(SummaryOptions{View: v,
		Registry: func(context.Context) (*fleet.Registry, error) { return registry, nil }})
	want := func(devices int, first fleet.DeviceID, reason, next string) {
		t.Helper()
		got, err := s.Overview(t.Context(), nil, Notifications{})
		if err != nil || len(got.Troubles) != 1 {
			t.Fatalf("got %+v, %v", got.Troubles, err)
		}
		if one := got.Troubles[0]; one.Devices != devices || one.First.ID != first || one.Reason != reason ||
			one.Next != next {
			t.Errorf("%d devices, %s: %q %q, want %d, %s: %q %q", one.Devices, one.First.ID, one.Reason, one.Next, devices,
				first, reason, next)
		}
	}
	want(2, idA, "nothing answers", "Start it.")
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
	w.mark(idA)
	want(1, idB, "no route", fleet.WaitTexts[fleet.WaitUnreachable].Next)
}

func TestTheOverviewShowsTheVersionsOfMostDevices(t *testing.T) {
	o := Overview{Versions: map[string]int{"a": 1, "b": 3, "c": 2, "d": 2}}
	if got := o.MostVersions(2); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("the two largest are %v", got)
	}
}

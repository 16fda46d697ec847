package view

import (
	"context"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestPeopleAreToldOfWhatDevicesWaitFor(t *testing.T) {
	w, registry := newWorld(), registryOf(idA, idB)
	stopped := fleet.FolderTrouble{Folder: "p", Cause: fleet.WaitFolderStopped, Since: time.Unix(100, 0)}
	causes := map[fleet.DeviceID][]fleet.WaitCause{
		idA: {fleet.WaitHeld, fleet.WaitPendingDevice, fleet.WaitFolderStopped},
		idB: {fleet.WaitUnreachable, fleet.WaitStale}}
	v := w.view()
	v.Causes = func(_ fleet.State, s *fleet.Snapshot) []fleet.WaitCause { return causes[s.Device] }
	v.FolderTroubles = func(id fleet.DeviceID) []fleet.FolderTrouble {
		if id == idA {
			return []fleet.FolderTrouble{stopped}
		}
		return nil
	}
	v.FolderState = func(s *fleet.Snapshot, _ string) (fleet.FolderState, bool) {
		if s.Device == idB {
			return fleet.FolderUnknown, false
		}
		return fleet.FolderStopped, false
	}
	v.Options.FolderStanding = standingOf("path missing", "mount it")
	w.put(
		idA,
		fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigHeld},
		fleet.Snapshot{Folders: labels("p", "")},
	)
	w.put(idB, fleet.State{Connection: fleet.Unreachable, Configuration: fleet.ConfigUnknown, LastSeen: time.Unix(50, 0)},
		fleet.Snapshot{Folders: labels("p", ""), NextTry: time.Unix(200, 0)})
	report, err := v.Problems(t.Context(), registry)
	if err != nil {
		t.Fatal(err)
	}
	key := func(id fleet.DeviceID, folder string, kind fleet.WaitCause) fleet.ProblemKey {
		return fleet.ProblemKey{Device: id, Folder: folder, Kind: kind}
	}
	var keys []fleet.ProblemKey
	for _, c := range report.Conditions {
		keys = append(keys, c.ProblemKey)
		if c.Folder == "p" && (c.Reason != "path missing" || c.Next != "mount it" || !c.Since.Equal(stopped.Since)) {
			t.Errorf("got %+v", c)
		}
		if c.Kind == fleet.WaitStale && (!c.Since.Equal(time.Unix(50, 0)) || c.Next != fleet.WaitTexts[c.Kind].Next) {
			t.Errorf("got %+v", c)
		}
		if c.Kind == fleet.WaitUnreachable && (!c.Since.Equal(time.Unix(50, 0)) || c.Next == "") {
			t.Errorf("got %+v", c)
		}
	}
	want := []fleet.ProblemKey{key(idA, "", fleet.WaitHeld), key(idA, "p", fleet.WaitFolderStopped),
		key(idB, "", fleet.WaitUnreachable), key(idB, "", fleet.WaitStale)}
	if len(keys) != len(want) ||
		slices.ContainsFunc(want, func(k fleet.ProblemKey) bool { return !slices.Contains(keys, k) }) {
		t.Errorf("got %v, want %v", keys, want)
	}
	for k, unknown := range map[fleet.ProblemKey]bool{
		key(idB, "p", fleet.WaitStalled): true, key(idB, "gone", fleet.WaitStalled): false,
		key(idB, "", fleet.WaitHeld): true, key(idB, "", fleet.WaitUnreachable): false,
		key(idB, "", fleet.WaitStale): false, key(idA, "", fleet.WaitStale): false,
		key(idA, "p", fleet.WaitFailedItems): false, key(idA, "", fleet.WaitHeld): false,
		key("deleted", "", fleet.WaitHeld): false,
	} {
		if report.Unknown(k) != unknown {
			t.Errorf("%v is unknown: %v", k, !unknown)
		}
	}
}

// What was not tried since the start is no news.
func TestADeviceThatWasNotTriedTellsNothing(t *testing.T) {
	w, registry := newWorld(), registryOf(idA)
	v := w.view()
	v.Causes = func(fleet.State, *fleet.Snapshot) []fleet.WaitCause { return []fleet.WaitCause{fleet.WaitFailed} }
	w.put(idA, fleet.State{Connection: fleet.NeverSeen, Configuration: fleet.ConfigFailed}, fleet.Snapshot{})
	report, err := v.Problems(t.Context(), registry)
	if err != nil || len(report.Conditions) > 0 || !report.Unknown(fleet.ProblemKey{Device: idA, Kind: fleet.WaitFailed}) {
		t.Errorf("got %+v, %v", report.Conditions, err)
	}
}

// A problem was told as over while its finding was there and not old enough to be trouble.
func TestAFindingThatIsNotOldEnoughWasOver(t *testing.T) {
	w, registry := newWorld(), registryOf(idA)
	v := w.view()
	key := fleet.ProblemKey{Device: idA, Folder: "p", Kind: fleet.WaitDiskNearlyFull}
	home := fleet.ProblemKey{Device: idA, Kind: fleet.WaitDiskNearlyFull}
	unclear := map[fleet.ProblemKey]bool{key: true, home: true}
	v.FindingUnclear = func(id fleet.DeviceID, folder string, cause fleet.WaitCause) bool {
		return unclear[fleet.ProblemKey{Device: id, Folder: folder, Kind: cause}]
	}
	v.FolderState = func(*fleet.Snapshot, string) (fleet.FolderState, bool) { return fleet.FolderDiskNearlyFull, false }
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Folders: labels("p", "")})
	for _, want := range []bool{true, false} {
		report, err := v.Problems(t.Context(), registry)
		if err != nil || report.Unknown(key) != want || report.Unknown(home) != want {
			t.Errorf("the problems are unknown: %v, %v, want %v (%v)", report.Unknown(key), report.Unknown(home), want, err)
		}
		clear(unclear)
	}
}

// standingOf is how every folder stands in a test.
func standingOf(reason, next string) func(context.Context, *fleet.Snapshot, string) fleet.FolderStanding {
	return func(context.Context, *fleet.Snapshot, string) fleet.FolderStanding {
		return fleet.FolderStanding{Reason: reason, Next: next}
	}
}

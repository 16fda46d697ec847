package mirror

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

func conflict(folder, path string, gone bool) fleet.ConflictChange {
	return fleet.ConflictChange{Folder: folder, Gone: gone, Conflict: fleet.Conflict{Path: path, At: time.Unix(1e9, 0)}}
}

func TestConflictsAreFoundAfterFilesChanged(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a", "b")
		f.conflicts = []fleet.ConflictChange{conflict("a", "1", false), conflict("a", "2", false), conflict("x", "3", false),
			conflict("a", "1", false)}
		d := w.put(1, f)
		want := func(when string, paths ...string) {
			t.Helper()
			s := w.snapshot(d)
			var got []string
			for _, c := range s.Conflicts["a"] {
				got = append(got, c.Path)
			}
			if !slices.Equal(got, paths) || len(s.Conflicts) > 1 {
				t.Errorf("%s there are %v", when, s.Conflicts)
			}
		}
		pass(statusEvery)
		want("after the first status", "2", "1")
		f.take()
		pass(5 * statusEvery)
		if calls := f.take(); callsLike(calls, "conflicts") > 0 {
			t.Errorf("at rest it was asked %q", calls)
		}
		f.mu.Lock()
		f.conflicts = append(f.conflicts, conflict("a", "2", true), conflict("a", "4", false))
		f.mu.Unlock()
		f.emit(fleet.DaemonEvent{Type: "FolderSummary", Folder: "a", Summary: &fleet.FolderSummary{Sequence: 7}})
		pass(statusEvery + time.Second)
		want("after files changed", "4", "1")
		f.set("conflicts since 6", &fleet.Error{Code: fleet.CodeNotFound, Message: "the agent does not pass this on"})
		f.emit(fleet.DaemonEvent{Type: "FolderSummary", Folder: "a", Summary: &fleet.FolderSummary{Sequence: 8}})
		pass(statusEvery + time.Second)
		want("where it does not say", "4", "1")
		w.wantConnection(d, fleet.Online)
	})
}

func TestConflictsOfOneDeviceAreBounded(t *testing.T) {
	var changes []fleet.ConflictChange
	for i := range 1000 {
		changes = append(changes, conflict(fmt.Sprint("folder ", i%7), fmt.Sprintf("directory/%0100d", i), false))
	}
	kept, size := afterChanges(nil, changes), 0
	for folder, conflicts := range kept {
		if len(conflicts) > maxConflicts {
			t.Errorf("%d of %s are kept", len(conflicts), folder)
		}
		for _, c := range conflicts {
			size += c.Size()
		}
	}
	if size > maxConflictBytes || size < maxConflictBytes/2 {
		t.Errorf("%d bytes are kept", size)
	}
	for i := range changes {
		changes[i].Gone = true
	}
	if kept := afterChanges(kept, changes); len(kept) != 0 {
		t.Errorf("after all are gone there are %v", kept)
	}
}

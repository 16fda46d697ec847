package mirror

import (
	"fmt"
	"slices"
	"strings"
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

// After a restart a conflict was told as resolved before the daemon was asked.
func TestConflictsThatWereNotReadAreUnknown(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		if w.snapshot(d).ConflictsRead {
			t.Error("they were read at once")
		}
		pass(statusEvery)
		if !w.snapshot(d).ConflictsRead {
			t.Error("they were not read with the status")
		}
	})
}

func TestConflictsOfOneDeviceAreBounded(t *testing.T) {
	var changes []fleet.ConflictChange
	for i := range 1000 {
		changes = append(changes, conflict(fmt.Sprint("folder ", i%7), fmt.Sprintf("directory/%0100d", i), false))
	}
	kept, leftOut, _ := afterChanges(nil, nil, changes, true)
	size, named := 0, 0
	for folder, conflicts := range kept {
		if len(conflicts) > maxConflicts {
			t.Errorf("%d of %s are kept", len(conflicts), folder)
		}
		for _, c := range conflicts {
			size += c.Size()
		}
		named += len(conflicts) + leftOut[folder]
	}
	if named != len(changes) {
		t.Errorf("of %d files %d are named or said to be left out", len(changes), named)
	}
	if size > maxConflictBytes || size < maxConflictBytes/2 {
		t.Errorf("%d bytes are kept", size)
	}
	for i := range changes {
		changes[i].Gone = true
	}
	if kept, leftOut, _ := afterChanges(kept, leftOut, changes, true); len(kept)+len(leftOut) != 0 {
		t.Errorf("after all are gone there are %v, and %v are left out", kept, leftOut)
	}
}

// TestConflictsAreCountedByDaemonsThatCount has a daemon asked for its counter after files changed, and an old one
// never.
func TestConflictsAreCountedByDaemonsThatCount(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f, old := newFake(1, "a"), newFake(2, "a")
		f.version.Version, f.counted = "v2.0.10", map[string]int64{"a": 3, "b": 5, "c": 0}
		old.version.Version = "v1.29.2"
		d := w.put(1, f)
		w.put(2, old)
		pass(statusEvery + time.Second)
		if got := w.snapshot(d).ConflictsCounted; len(got) != 1 || got["a"] != 3 {
			t.Errorf("got %v", got)
		}
		f.take()
		pass(5 * statusEvery)
		if asked := callsLike(f.take(), "conflict counts"); asked > 0 {
			t.Errorf("at rest it was asked %d times", asked)
		}
		f.mu.Lock()
		f.counted = map[string]int64{"a": 4}
		f.mu.Unlock()
		for n := range int64(20) {
			f.emit(fleet.DaemonEvent{Type: "FolderSummary", Folder: "a", Summary: &fleet.FolderSummary{Sequence: 7 + n}})
		}
		pass(statusEvery + time.Second)
		if got, asked := w.snapshot(d).ConflictsCounted["a"], callsLike(f.take(), "conflict counts"); got != 4 || asked != 1 {
			t.Errorf("after files changed: got %d, and it was asked %d times", got, asked)
		}
		if asked := callsLike(old.take(), "conflict counts"); asked > 0 {
			t.Errorf("a daemon that does not count was asked %d times", asked)
		}
	})
}

// Where the newest conflicts of all folders together needed too much room, no folder had any.
func TestAllConflictsWereForgottenWhereTheNewestNeedTooMuchRoom(t *testing.T) {
	var changes []fleet.ConflictChange
	for i := range 300 {
		changes = append(changes, conflict(fmt.Sprint("folder ", i/2), fmt.Sprintf("directory/%0100d", i), false))
	}
	kept, leftOut, _ := afterChanges(nil, nil, changes, true)
	named, size := 0, 0
	for i := range 150 {
		folder := fmt.Sprint("folder ", i)
		if len(kept[folder])+leftOut[folder] != 2 {
			t.Errorf("%s: %d conflicts are kept, %d left out", folder, len(kept[folder]), leftOut[folder])
		}
		for _, c := range kept[folder] {
			named++
			size += c.Size()
		}
	}
	if named < 100 || size > maxConflictBytes {
		t.Errorf("%d conflicts of %d bytes are kept", named, size)
	}
	for i := range changes {
		changes[i].Gone = true
	}
	if kept, leftOut, _ := afterChanges(kept, leftOut, changes, false); len(kept)+len(leftOut) != 0 {
		t.Errorf("after all are gone there are %v, and %v are left out", kept, leftOut)
	}
}

// Once those that were named were resolved, the others were forgotten. Those that were read again came as the newest.
func TestConflictsThatWereLeftOutAreReadAgain(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		for i := range 150 {
			change := conflict("a", fmt.Sprint(i), false)
			change.At = change.At.Add(time.Duration(i) * time.Second)
			f.conflicts = append(f.conflicts, change)
		}
		d := w.put(1, f)
		want := func(when string, many, leftOut int, newest string) {
			t.Helper()
			s := w.snapshot(d)
			if got := s.Conflicts["a"]; len(got) != many || s.ConflictsLeftOut["a"] != leftOut || got[0].Path != newest {
				t.Errorf("%s: %d are left out, there are %v", when, s.ConflictsLeftOut["a"], got)
			}
		}
		change := func(sequence int64, changes ...fleet.ConflictChange) {
			f.mu.Lock()
			f.conflicts = append(f.conflicts, changes...)
			f.mu.Unlock()
			f.emit(fleet.DaemonEvent{Type: "FolderSummary", Folder: "a", Summary: &fleet.FolderSummary{Sequence: sequence}})
			pass(statusEvery + time.Second)
		}
		pass(statusEvery)
		want("at first", 100, 50, "149")
		old := conflict("a", "old", false)
		old.At = old.At.Add(-time.Hour)
		change(7, old)
		want("after an old one", 100, 51, "149")
		var gone []fleet.ConflictChange
		for i := 50; i < 150; i++ {
			gone = append(gone, conflict("a", fmt.Sprint(i), true))
		}
		change(8, gone...)
		want("after those that were named are gone", 51, 0, "49")
	})
}

// A folder of whose conflicts no name found room had none until the next contact, also when others were resolved.
func TestNamesOfConflictsComeWhenThereIsRoom(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a", "b")
		long := strings.Repeat("x", maxConflictBytes*2/3)
		f.conflicts = []fleet.ConflictChange{conflict("a", "a"+long, false), conflict("b", "b"+long, false)}
		d := w.put(1, f)
		pass(statusEvery)
		if s := w.snapshot(d); len(s.Conflicts["a"]) != 1 || len(s.Conflicts["b"]) != 0 || s.ConflictsLeftOut["b"] != 1 {
			t.Fatalf(
				"at first %d and %d are named, %v left out",
				len(s.Conflicts["a"]),
				len(s.Conflicts["b"]),
				s.ConflictsLeftOut,
			)
		}
		f.mu.Lock()
		f.conflicts = append(f.conflicts, conflict("a", "a"+long, true))
		f.mu.Unlock()
		f.emit(fleet.DaemonEvent{Type: "FolderSummary", Folder: "a", Summary: &fleet.FolderSummary{Sequence: 7}})
		pass(statusEvery + time.Second)
		if s := w.snapshot(d); len(s.Conflicts["a"]) != 0 || len(s.Conflicts["b"]) != 1 || len(s.ConflictsLeftOut) != 0 {
			t.Errorf(
				"with room %d and %d are named, %v left out",
				len(s.Conflicts["a"]),
				len(s.Conflicts["b"]),
				s.ConflictsLeftOut,
			)
		}
	})
}

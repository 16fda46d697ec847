package view

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// A daemon that was not tried yet since the start stands as it did before.
func TestWhatIsKeptOfAConnection(t *testing.T) {
	tried := &fleet.Snapshot{NextTry: time.Unix(1, 0)}
	for name, c := range map[string]struct {
		state    fleet.State
		snapshot *fleet.Snapshot
		want     [2]string // connection, configuration
	}{
		"not tried": {fleet.State{Connection: fleet.Unreachable, Configuration: fleet.ConfigUnknown},
			&fleet.Snapshot{}, [2]string{"", ""}},
		"unreachable": {fleet.State{Connection: fleet.Unreachable, Configuration: fleet.ConfigUnknown}, tried,
			[2]string{"unreachable", ""}},
		"online": {fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigInSync}, &fleet.Snapshot{},
			[2]string{"online", "inSync"}},
		"on its way": {fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigApplying}, &fleet.Snapshot{},
			[2]string{"online", ""}},
		"held": {fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigHeld}, &fleet.Snapshot{},
			[2]string{"online", "held"}},
		"another certificate": {fleet.State{Connection: fleet.PinMismatch}, &fleet.Snapshot{},
			[2]string{"pinMismatch", ""}},
	} {
		got := connectionStandings(c.state, c.snapshot)
		if len(got) != 2 || [2]string{got[0].State, got[1].State} != c.want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// logbook is an event log that keeps what it was told last.
type logbook struct{ told [][]fleet.LogStanding }

func (l *logbook) Record(_ *fleet.Registered, all []fleet.LogStanding) { l.told = append(l.told, all) }
func (*logbook) Deleted(fleet.DeviceID)                                {}

// last is the state and reason of a kind, as it was told last.
func (l *logbook) last(kind fleet.LogKind) string {
	for _, is := range l.told[len(l.told)-1] {
		if is.Kind == kind {
			return is.State + " " + is.Reason
		}
	}
	return "not told"
}

// Conflicts and connections to other devices had kinds of entries, and no entry.
func TestTheEventLogWasNotToldOfConflictsAndPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far, near := fleet.DeviceID(strings.Repeat("F", 63)), fleet.DeviceID(strings.Repeat("N", 63))
		registry, book := registryOf(idA), &logbook{}
		snapshot := &fleet.Snapshot{
			Device:      idA,
			Connection:  fleet.Online,
			ConnectedAt: time.Unix(1, 0),
			Folders: labels(
				"p",
				"",
			),
			Shares:    []fleet.SharedFolder{{Folder: "p", With: fleet.PeersOf([]fleet.DeviceID{far, near})}},
			Summaries: map[string]fleet.FolderSummary{"p": {}},
		}
		w := newWorld()
		v := w.view()
		v.Snapshot = func(fleet.DeviceID) *fleet.Snapshot { return snapshot }
		state := fleet.State{Connection: fleet.Online}
		w.put(idA, state, fleet.Snapshot{})
		f := NewFeed(FeedOptions{View: v, Outlet: &told{}, EventLog: book, Snapshot: v.Snapshot, State: v.State,
			Log: slog.New(slog.DiscardHandler)})
		f.before = registry
		tell := func(change func(*fleet.Snapshot)) {
			next := *snapshot
			change(&next)
			snapshot = &next
			w.mark(idA)
			f.touched[idA] = true
			time.Sleep(2 * time.Second)
			f.publishRows(t.Context())
		}
		want := func(when string, times int, conflict, peers string) {
			t.Helper()
			if len(book.told) != times || book.last(fleet.LogConflict) != conflict || book.last(fleet.LogPeers) != peers {
				t.Errorf("%s: told %d times, of conflicts %q, of peers %q", when, len(book.told), book.last(fleet.LogConflict),
					book.last(fleet.LogPeers))
			}
		}
		tell(func(*fleet.Snapshot) {})
		want("at first", 1, " ", "alone ")
		tell(func(s *fleet.Snapshot) { s.LastSeen = time.Unix(9, 0) })
		want("when nothing happened", 1, " ", "alone ")
		tell(func(s *fleet.Snapshot) { s.ConflictsRead = true })
		want("when there were none", 2, "0 ", "alone ")
		tell(func(s *fleet.Snapshot) { s.Connected = fleet.PeersOf([]fleet.DeviceID{far}) })
		want("connected", 3, "0 ", "connected "+far.Short())
		tell(func(s *fleet.Snapshot) { s.Connected = fleet.PeersOf([]fleet.DeviceID{far, near}) })
		want("connected to one more, which is no other state", 3, "0 ", "connected "+far.Short())
		tell(func(s *fleet.Snapshot) {
			s.Conflicts = map[string][]fleet.Conflict{"p": {{Path: "b.sync-conflict-2"}, {Path: "a.sync-conflict-1"}}}
		})
		both := far.Short() + ", " + near.Short()
		want("in conflict", 4, `2 2, the newest is "b.sync-conflict-2"`, "connected "+both)
		tell(func(s *fleet.Snapshot) { s.Conflicts, s.ConflictsLeftOut = nil, map[string]int{"p": 2} })
		want("without room for names", 5, " ", "connected "+both)
		tell(func(s *fleet.Snapshot) { s.ConflictsLeftOut = nil })
		want("resolved without a name", 6, "0 ", "connected "+both)
		tell(func(s *fleet.Snapshot) {
			s.Conflicts = map[string][]fleet.Conflict{"p": {{Path: "a.sync-conflict-1"}}}
		})
		want("with one left", 7, `1 1, the newest is "a.sync-conflict-1"`, "connected "+both)
		tell(func(s *fleet.Snapshot) { s.Conflicts = nil })
		want("resolved", 8, "0 ", "connected "+both)
		tell(func(s *fleet.Snapshot) { s.ConnectedAt = time.Time{} })
		want("not known", 9, "0 ", " ")
		registry = registryOf(idB)
		f.Registry = func(context.Context) (*fleet.Registry, error) { return registry, nil }
		f.compare(t.Context(), map[fleet.DeviceID]bool{})
		if len(f.logged)+len(f.rows) != 0 {
			t.Errorf("of a deleted device %v and %v are kept", f.logged, f.rows)
		}
	})
}

// What is wrong with a folder besides its state was in no entry.
func TestTheEventLogIsToldOfAMissingDriveAndOfDisagreement(t *testing.T) {
	stands := fleet.FolderStanding{Reason: "why"}
	f := NewFeed(FeedOptions{Log: slog.New(slog.DiscardHandler),
		FolderStanding: func(context.Context, *fleet.Snapshot, string) fleet.FolderStanding { return stands }})
	for state, want := range map[fleet.FolderState]string{
		fleet.FolderDriveMissing: "driveMissing why", fleet.FolderDiskNearlyFull: "diskNearlyFull why",
		fleet.FolderDisagree: "disagree why", fleet.FolderStopped: "stopped why", fleet.FolderConflicts: "upToDate ",
		fleet.FolderScanning: "upToDate ", fleet.FolderBehind: "upToDate ", fleet.FolderUnknown: " ",
	} {
		row := &Row{folders: []folderRow{{FolderLabel: fleet.FolderLabel{Folder: "p"}, state: state}}}
		got := f.folderStandings(t.Context(), row, &fleet.Snapshot{})
		if len(got) != 2 || got[0].State+" "+got[0].Reason != want || got[1].State != "" {
			t.Errorf("%v: got %+v, want %q", state, got, want)
		}
	}
}

// The event log said 100 where a folder had more conflicts than are listed.
func TestTheEventLogSaysThatThereAreMoreConflictsThanAreListed(t *testing.T) {
	s := &fleet.Snapshot{Conflicts: map[string][]fleet.Conflict{"p": {{Path: "a.sync-conflict-1"}}},
		ConflictsLeftOut: map[string]int{"p": 3}}
	if is := conflictStanding(s, "p"); is.State != "1" || !strings.HasPrefix(is.Reason, "more than 1, the newest is") {
		t.Errorf("got %+v", is)
	}
}

package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// logged is the n-th entry of a log in which a minute lies between two of them.
func logged(n int, device fleet.Device, change func(*fleet.LogEntry)) fleet.LogEntry {
	e := fleet.LogEntry{Number: int64(1000 + n), At: time.UnixMilli(0).Add(time.Duration(n) * time.Minute).UTC(),
		Device: device.ID, Label: device.Label, Kind: fleet.LogConnection, State: "unreachable", Before: "online",
		Reason: "connection refused"}
	if change != nil {
		change(&e)
	}
	return e
}

func keepLog(t *testing.T, s *Store, entries ...fleet.LogEntry) {
	t.Helper()
	if err := s.PutLogEntries(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
}

func numbersOf(entries []fleet.LogEntry) (numbers []int64) {
	for _, e := range entries {
		numbers = append(numbers, e.Number-1000)
	}
	return numbers
}

func TestTheEventLogIsReadByWhatIsAskedFor(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		a, b := deviceN(1), deviceN(2)
		put(t, s, a)
		put(t, s, b)
		must(s.TagDevice(t.Context(), a.ID, "office", nil))(t)
		must(s.TagDevice(t.Context(), b.ID, "home", nil))(t)
		folder := func(name string) func(*fleet.LogEntry) {
			return func(e *fleet.LogEntry) { e.Kind, e.Folder, e.State = fleet.LogFolder, name, "stopped" }
		}
		keepLog(t, s, logged(1, a, nil), logged(2, a, folder("docs")), logged(3, b, folder("docs")),
			logged(4, b, folder("photos")), logged(5, a, func(e *fleet.LogEntry) { e.State = "online" }))
		for name, c := range map[string]struct {
			query fleet.LogQuery
			want  []int64
		}{
			"all":              {fleet.LogQuery{}, []int64{5, 4, 3, 2, 1}},
			"oldest first":     {fleet.LogQuery{Oldest: true}, []int64{1, 2, 3, 4, 5}},
			"a device":         {fleet.LogQuery{Devices: []fleet.DeviceID{a.ID}}, []int64{5, 2, 1}},
			"a tag":            {fleet.LogQuery{Tags: []fleet.Tag{"home"}}, []int64{4, 3}},
			"a folder":         {fleet.LogQuery{Folder: "docs"}, []int64{3, 2}},
			"a kind":           {fleet.LogQuery{Kinds: []fleet.LogKind{fleet.LogConnection}}, []int64{5, 1}},
			"two kinds":        {fleet.LogQuery{Kinds: fleet.LogKinds}, []int64{5, 4, 3, 2, 1}},
			"since":            {fleet.LogQuery{Since: logged(4, a, nil).At}, []int64{5, 4}},
			"until":            {fleet.LogQuery{Until: logged(2, a, nil).At}, []int64{1}},
			"the next":         {fleet.LogQuery{After: 1004, Limit: 2}, []int64{3, 2}},
			"the next, oldest": {fleet.LogQuery{After: 1002, Limit: 2, Oldest: true}, []int64{3, 4}},
			"between":          {fleet.LogQuery{After: 1002, Before: 1004, Oldest: true}, []int64{3}},
			"a scope":          {fleet.LogQuery{Scope: fleet.ScopeOf([]fleet.Tag{"office"})}, []int64{5, 2, 1}},
			"no device":        {fleet.LogQuery{Scope: fleet.NoDevices}, nil},
			"a scope and tag":  {fleet.LogQuery{Scope: fleet.ScopeOf([]fleet.Tag{"office"}), Tags: []fleet.Tag{"home"}}, nil},
		} {
			if got := must(s.LogEntries(t.Context(), c.query))(t); !slices.Equal(numbersOf(got), c.want) {
				t.Errorf("%s: got %v, want %v", name, numbersOf(got), c.want)
			}
		}
		got := must(s.LogEntries(t.Context(), fleet.LogQuery{Folder: "photos"}))(t)
		if want := logged(4, b, folder("photos")); len(got) != 1 || got[0] != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		first, last, err := s.LogBounds(t.Context())
		if err != nil || first != 1001 || last != 1005 {
			t.Errorf("got %d to %d, %v", first, last, err)
		}
		latest := must(s.LastLogged(t.Context()))(t)
		slices.SortFunc(latest, func(a, b fleet.LogEntry) int { return int(a.Number - b.Number) })
		if !slices.Equal(numbersOf(latest), []int64{2, 3, 4, 5}) {
			t.Errorf("the last of each are %v", numbersOf(latest))
		}
	})
}

func TestAnEmptyEventLogHasNoBounds(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		first, last, err := open(t, options).LogBounds(t.Context())
		if err != nil || first != 0 || last != 0 {
			t.Errorf("got %d to %d, %v", first, last, err)
		}
	})
}

// What a deleted device did stays until it is old: somebody may ask who deleted it, and why.
func TestEventsOfADeletedDeviceStay(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		device := deviceN(1)
		put(t, s, device)
		keepLog(t, s, logged(1, device, nil))
		if err := s.DeleteDevice(t.Context(), device.ID, nil); err != nil {
			t.Fatal(err)
		}
		got := must(s.LogEntries(t.Context(), fleet.LogQuery{}))(t)
		if len(got) != 1 || got[0].Label != device.Label {
			t.Errorf("got %+v", got)
		}
	})
}

func TestOldEventsAreForgottenInBoundedSteps(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		a, b := deviceN(1), deviceN(2)
		var entries []fleet.LogEntry
		for n := range 20 {
			entries = append(entries, logged(n, []fleet.Device{a, b}[n%2], nil))
		}
		keepLog(t, s, entries...)
		if counts := must(s.LogCounts(t.Context()))(t); counts[a.ID] != 10 || counts[b.ID] != 10 {
			t.Errorf("got %v", counts)
		}
		gone := must(s.ForgetOldLogEntries(t.Context(), logged(8, a, nil).At, 5))(t)
		if len(gone) != 5 || slices.Index(gone, a.ID) < 0 || slices.Index(gone, b.ID) < 0 {
			t.Errorf("forgot those of %v", gone)
		}
		if gone := must(s.ForgetOldLogEntries(t.Context(), logged(8, a, nil).At, 5))(t); len(gone) != 3 {
			t.Errorf("then forgot those of %v", gone)
		}
		if many := must(s.ForgetLogEntries(t.Context(), b.ID, 2))(t); many != 2 {
			t.Errorf("forgot %d", many)
		}
		got := must(s.LogEntries(t.Context(), fleet.LogQuery{Oldest: true}))(t)
		if want := []int64{8, 10, 12, 13, 14, 15, 16, 17, 18, 19}; !slices.Equal(numbersOf(got), want) {
			t.Errorf("left are %v, want %v", numbersOf(got), want)
		}
	})
}

// A thousand events are a few statements of one transaction, of which each is prepared once.
func TestAThousandEventsAreFewStatements(t *testing.T) {
	statements, left := 0, 1000
	for _, rows := range logRows {
		statements += left / rows
		left %= rows
	}
	if statements > 20 || left > 0 {
		t.Errorf("%d statements, and %d events are left", statements, left)
	}
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		var entries []fleet.LogEntry
		for n := range 1000 {
			entries = append(entries, logged(n, deviceN(n%10), nil))
		}
		keepLog(t, s, entries...)
		if got := must(s.LogEntries(t.Context(), fleet.LogQuery{}))(t); len(got) != 1000 {
			t.Errorf("%d are kept", len(got))
		}
		written := 0
		for text := range s.writer.session.stmts {
			if strings.Contains(text, "INTO event_log") {
				written++
			}
		}
		if written > len(logRows) {
			t.Errorf("%d statements are prepared", written)
		}
	})
}

// The cause of a revision is the one that the revision has now: it may be known later than the revision.
func TestARevisionInTheEventLogHasTheCauseOfNow(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		device := deviceN(1)
		put(t, s, device)
		observed := fullObservation(device.ID, "one")
		observed.Config.Cause = fleet.CauseRestore
		if err := s.SaveObservations(t.Context(), []fleet.Observation{observed}); err != nil {
			t.Fatal(err)
		}
		revision := func(number int64) func(*fleet.LogEntry) {
			return func(e *fleet.LogEntry) {
				e.Kind, e.Revision, e.Cause = fleet.LogRevision, number, fleet.CauseDaemon
			}
		}
		keepLog(t, s, logged(1, device, revision(1)), logged(2, device, revision(7)))
		var causes []string
		for _, e := range must(s.LogEntries(t.Context(), fleet.LogQuery{Oldest: true}))(t) {
			causes = append(causes, e.Cause)
		}
		if want := []string{fleet.CauseRestore, fleet.CauseDaemon}; !slices.Equal(causes, want) {
			t.Errorf("got %v, want %v", causes, want)
		}
	})
}

// A daemon says what it likes: its text costs a bounded row.
func TestALongReasonIsCut(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		keepLog(t, s, logged(1, deviceN(1), func(e *fleet.LogEntry) { e.Reason = "\x00" + strings.Repeat("ä", 1<<20) }))
		got := must(s.LogEntries(t.Context(), fleet.LogQuery{}))(t)
		if len(got) != 1 || len(got[0].Reason) > maxLogReason+10 {
			t.Errorf("got %s", fmt.Sprint(len(got), len(got[0].Reason)))
		}
	})
}

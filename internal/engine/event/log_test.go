package event

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// shelf is a LogStore in memory.
type shelf struct {
	mu      sync.Mutex // guards what follows
	entries []fleet.LogEntry
	writes  int
	fails   error // of every write; nil: none fails
}

func (s *shelf) PutLogEntries(_ context.Context, entries []fleet.LogEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.fails == nil {
		s.entries = append(s.entries, entries...)
	}
	return s.fails
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

func (s *shelf) LogEntries(_ context.Context, q fleet.LogQuery) (found []fleet.LogEntry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.Number > q.After && (q.Before == 0 || e.Number < q.Before) && (q.Limit == 0 || len(found) < q.Limit) &&
			(q.Devices == nil || slices.Contains(q.Devices, e.Device)) {
			found = append(found, e)
		}
	}
	return found, nil
}

func (s *shelf) LogBounds(context.Context) (first, last int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) == 0 {
		return 0, 0, nil
	}
	return s.entries[0].Number, s.entries[len(s.entries)-1].Number, nil
}

func (s *shelf) LogCounts(context.Context) (map[fleet.DeviceID]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[fleet.DeviceID]int{}
	for _, e := range s.entries {
		counts[e.Device]++
	}
	return counts, nil
}

func (s *shelf) LastLogged(context.Context) ([]fleet.LogEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries), nil // later ones win
}

func (s *shelf) forget(many int, goes func(fleet.LogEntry) bool) (gone []fleet.DeviceID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = slices.DeleteFunc(s.entries, func(e fleet.LogEntry) bool {
		if len(gone) == many || !goes(e) {
			return false
		}
		gone = append(gone, e.Device)
		return true
	})
	return gone, nil
}

func (s *shelf) ForgetLogEntries(_ context.Context, id fleet.DeviceID, many int) (int64, error) {
	gone, err := s.forget(many, func(e fleet.LogEntry) bool { return e.Device == id })
	return int64(len(gone)), err
}

func (s *shelf) ForgetOldLogEntries(_ context.Context, before time.Time, many int) ([]fleet.DeviceID, error) {
	return s.forget(many, func(e fleet.LogEntry) bool { return e.At.Before(before) })
}

func openLog(t *testing.T, store *shelf, change func(*LogOptions)) *Log {
	t.Helper()
	o := LogOptions{Store: store, Log: slog.New(slog.DiscardHandler),
		Registry: func() *fleet.Registry { return &fleet.Registry{} }}
	if change != nil {
		change(&o)
	}
	l, err := OpenLog(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func deviceNamed(name string) *fleet.Registered {
	return &fleet.Registered{Device: fleet.Device{ID: deviceID(name), Label: name}}
}

func connection(state fleet.Connection) fleet.LogStanding {
	return fleet.LogStanding{Kind: fleet.LogConnection, State: string(state), Reason: "because"}
}

func folder(name, state string) fleet.LogStanding {
	return fleet.LogStanding{Kind: fleet.LogFolder, Folder: name, State: state}
}

// said are the entries of a log as "label folder before-state".
func said(t *testing.T, l *Log) (all []string) {
	t.Helper()
	entries, err := l.Entries(t.Context(), fleet.LogQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%s %s %s-%s", e.Label, e.Folder, e.Before, e.State))
	}
	return all
}

func wantSaid(t *testing.T, l *Log, want ...string) {
	t.Helper()
	if got := said(t, l); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestOnlyAChangeOfAStateIsLogged(t *testing.T) {
	l := openLog(t, &shelf{}, nil)
	a := deviceNamed("a")
	l.Record(a, []fleet.LogStanding{connection(fleet.Online), folder("docs", fleet.LoggedUpToDate)}) // all is well
	l.Record(a, []fleet.LogStanding{connection(fleet.Online), folder("docs", "stopped")})
	l.Record(a, []fleet.LogStanding{connection(fleet.Online), folder("docs", "stopped")}) // the same
	l.Record(a, []fleet.LogStanding{connection(fleet.Unreachable), folder("docs", "")})   // nothing is known of the folder
	l.Record(a, []fleet.LogStanding{connection(fleet.Online), folder("docs", fleet.LoggedUpToDate)})
	wantSaid(t, l, "a docs -stopped", "a  -unreachable", "a  unreachable-online", "a docs stopped-upToDate")
}

// A restart of the server is nothing that happened to a device.
func TestALogGoesOnWhereItEnded(t *testing.T) {
	store := &shelf{}
	a, b := deviceNamed("a"), deviceNamed("b")
	l := openLog(t, store, nil)
	l.Record(a, []fleet.LogStanding{connection(fleet.Unreachable), folder("docs", "paused")})
	l.Flush(t.Context())

	l = openLog(t, store, nil)
	l.Record(a, []fleet.LogStanding{connection(fleet.Unreachable), folder("docs", fleet.LoggedUpToDate)})
	l.Record(b, []fleet.LogStanding{connection(fleet.Online)})
	wantSaid(t, l, "a  -unreachable", "a docs -paused", "a docs paused-upToDate")
	if first, last, _ := store.LogBounds(t.Context()); first >= last {
		t.Errorf("numbers from %d to %d", first, last)
	}
}

// Agents connect one after the other when the server has started: that is nothing that happened to their devices.
func TestADeviceThatIsReachedSoonAfterTheStartWasNotAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLog(t, &shelf{}, func(o *LogOptions) { o.StartGrace = time.Minute })
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		soon, away, deleted := deviceNamed("soon"), deviceNamed("away"), deviceNamed("deleted")
		for _, device := range []*fleet.Registered{soon, away, deleted} {
			l.Record(device, []fleet.LogStanding{connection(fleet.NotFound)})
		}
		l.Record(soon, []fleet.LogStanding{connection(fleet.Online)})
		l.Deleted(deleted.ID)
		wantSaid(t, l)
		time.Sleep(2 * time.Minute)
		wantSaid(t, l, "away  -notFound")
		l.Record(soon, []fleet.LogStanding{connection(fleet.Unreachable)})
		wantSaid(t, l, "away  -notFound", "soon  -unreachable")
		stop()
		<-done
	})
}

func TestAFolderThatIsGoneIsForgotten(t *testing.T) {
	l := openLog(t, &shelf{}, nil)
	a := deviceNamed("a")
	l.Record(a, []fleet.LogStanding{folder("docs", "stopped")})
	l.Record(a, nil)
	l.Record(a, []fleet.LogStanding{folder("docs", "stopped")}) // it was shared again
	l.Deleted(a.ID)
	l.Record(a, []fleet.LogStanding{folder("docs", "stopped")})
	wantSaid(t, l, "a docs -stopped", "a docs -stopped", "a docs -stopped")
}

func TestADeviceThatIsNoisyEvictsOnlyItself(t *testing.T) {
	l := openLog(t, &shelf{}, func(o *LogOptions) { o.Share = 20 })
	noisy, calm := deviceNamed("noisy"), deviceNamed("calm")
	l.Record(calm, []fleet.LogStanding{connection(fleet.Unreachable)})
	for n := range 200 {
		l.Record(noisy, []fleet.LogStanding{connection([]fleet.Connection{fleet.Unreachable, fleet.Online}[n%2])})
		l.Flush(t.Context())
	}
	counts, _ := l.Store.LogCounts(t.Context())
	if counts[calm.ID] != 1 || counts[noisy.ID] < 20 || counts[noisy.ID] > 22 {
		t.Errorf("got %v", counts)
	}
}

func TestOldEntriesAreForgottenWhileTheLogRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{}
		l := openLog(t, store, func(o *LogOptions) { o.Keep = func() time.Duration { return 24 * time.Hour } })
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		for n := range 3 * pruneBatch {
			l.Add(fleet.LogEntry{At: now(), Device: deviceID("a"), Revision: int64(n)})
		}
		time.Sleep(23 * time.Hour)
		if len(said(t, l)) != 3*pruneBatch {
			t.Errorf("%d are kept", len(said(t, l)))
		}
		time.Sleep(3 * time.Hour)
		if len(said(t, l)) != 0 {
			t.Errorf("%d are kept", len(said(t, l)))
		}
		l.Add(fleet.LogEntry{At: now(), Device: deviceID("a"), Label: "last"})
		stop() // what is left is written
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		wantSaid(t, l, "last  -")
	})
}

func TestWhatTheDatabaseDoesNotTakeWaits(t *testing.T) {
	store := &shelf{}
	l := openLog(t, store, nil)
	a := deviceNamed("a")
	store.fail(errors.New("the disk is full"))
	l.Record(a, []fleet.LogStanding{connection(fleet.Unreachable)})
	if l.Flush(t.Context()) {
		t.Error("it is kept")
	}
	l.Record(a, []fleet.LogStanding{connection(fleet.Online)})
	store.fail(nil)
	if !l.Flush(t.Context()) {
		t.Error("it is not kept")
	}
	wantSaid(t, l, "a  -unreachable", "a  unreachable-online")
}

// At rest, and while states stay as they are, nothing is written.
func TestAThousandStandingsWithoutAChangeWriteNothing(t *testing.T) {
	store := &shelf{}
	l := openLog(t, store, nil)
	for range 1000 {
		l.Record(deviceNamed("a"), []fleet.LogStanding{connection(fleet.Online), folder("docs", fleet.LoggedUpToDate)})
		l.Flush(t.Context())
	}
	if store.writes > 0 {
		t.Errorf("%d writes", store.writes)
	}
	for n := range 1000 {
		l.Record(deviceNamed("a"), []fleet.LogStanding{connection([]fleet.Connection{fleet.Unreachable, fleet.Online}[n%2])})
	}
	l.Flush(t.Context())
	if store.writes != 1000/logBatch {
		t.Errorf("a thousand events are %d writes", store.writes)
	}
}

func TestEntriesAreEventsWithTheSameNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLog(t, &shelf{}, nil)
		s := subscribe(t, l.Hub, Filter{Types: []Type{TypeLog}}, Latest)
		l.Record(deviceNamed("a"), []fleet.LogStanding{connection(fleet.Unreachable)})
		entries, _ := l.Entries(t.Context(), fleet.LogQuery{})
		got := read(t, s, 1)[0]
		var data fleet.LogEntry
		if err := json.Unmarshal(got.Data, &data); err != nil || len(entries) != 1 || got.ID != entries[0].Number ||
			got.Device != deviceID("a") || data.State != "unreachable" || !got.Time.Equal(entries[0].At) {
			t.Errorf("the event is %+v, the entry %+v, %v", got, entries, err)
		}
	})
}

// resumed are the types of the events that a reader gets who comes back after a restart, up to the one that is
// published then.
func resumed(t *testing.T, l *Log, f Filter, after int64) (types []Type) {
	t.Helper()
	s := subscribe(t, l.Hub, f, after)
	l.Add(fleet.LogEntry{At: now(), Device: deviceID("a"), Label: "end"})
	l.Flush(t.Context())
	for {
		batch, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch {
			types = append(types, e.Type)
			if strings.Contains(string(e.Data), `"Label":"end"`) {
				return types
			}
		}
	}
}

func TestAStreamResumesFromTheLogAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &shelf{}
		l := openLog(t, store, nil)
		s := subscribe(t, l.Hub, Filter{}, Latest)
		l.Add(fleet.LogEntry{At: now(), Device: deviceID("a"), Label: "read"})
		l.Flush(t.Context())
		last := read(t, s, 1)[0].ID
		for n := range 2*maxBatchEvents + 1 { // more than a page
			l.Add(fleet.LogEntry{At: now(), Device: deviceID([]string{"a", "b"}[n%2])})
		}
		l.Flush(t.Context())
		only, ofB := Filter{Types: []Type{TypeLog}}, Filter{Types: []Type{TypeLog}, Devices: []fleet.DeviceID{deviceID("b")}}

		l = openLog(t, store, nil)
		if got := resumed(t, l, only, last); len(got) != 2*maxBatchEvents+2 || slices.Contains(got, TypeMissed) {
			t.Errorf("got %d events", len(got))
		}
		l.Add(fleet.LogEntry{At: now(), Device: deviceID("b"), Label: "end"})
		l.Flush(t.Context())
		if got := resumed(t, l, ofB, last); len(got) != maxBatchEvents+1 || slices.Contains(got, TypeMissed) {
			t.Errorf("of one device got %d events", len(got))
		}
		// Other events are not kept: the reader is told, after what is.
		got := resumed(t, l, Filter{}, last)
		if slices.Index(got, TypeMissed) != 2*maxBatchEvents+1 {
			t.Errorf("missed is number %d of %d", slices.Index(got, TypeMissed), len(got))
		}
		// Nor is what is too old.
		_, _ = store.forget(1, func(fleet.LogEntry) bool { return true })
		if got := resumed(t, l, only, last-1); !slices.Contains(got, TypeMissed) {
			t.Error("nothing is missing")
		}
		// Nobody reads the whole log who asks for what is there from the beginning.
		if got := resumed(t, l, Filter{}, 0); got[0] != TypeMissed {
			t.Errorf("got %v first", got[0])
		}
	})
}

// Nobody was told that the number of files in conflict became another, nor after a restart that it did not.
func TestEachChangeOfTheNumberOfConflictsIsLogged(t *testing.T) {
	store := &shelf{}
	a := deviceNamed("a")
	conflicts := func(l *Log, states ...string) {
		for _, state := range states {
			l.Record(a, []fleet.LogStanding{{Kind: fleet.LogConflict, Folder: "docs", State: state}})
		}
		l.Flush(t.Context())
	}
	conflicts(openLog(t, store, nil), "", fleet.NoConflicts, "1", "1", "3")
	l := openLog(t, store, nil)
	conflicts(l, "", "3", "2", fleet.NoConflicts, fleet.NoConflicts)
	wantSaid(t, l, "a docs -1", "a docs 1-3", "a docs 3-2", "a docs 2-0")
}

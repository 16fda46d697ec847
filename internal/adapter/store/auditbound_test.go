package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"muster/internal/fleet"
)

// A principal who is refused a thousand times a minute, for a day, fills no disk; the numbers are in the audit.
func TestWhatComesOftenIsCounted(t *testing.T) {
	t.Parallel()
	clock := &stoppedClock{at: seenAt}
	s := open(t, Options{Home: t.TempDir(), Seal: key(t, 1), Now: clock.now})
	ctx, other := fleet.WithActor(t.Context(), "eve"), fleet.WithActor(t.Context(), "anna")
	const minutes, each = 24 * 60, 20
	for range minutes {
		for range each {
			if err := s.RecordBounded(ctx, "request.refused", "x", "y"); err != nil {
				t.Fatal(err)
			}
		}
		clock.move(time.Minute)
	}
	if err := s.RecordBounded(other, "request.refused", "x", "y"); err != nil {
		t.Fatal(err)
	}
	ending, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.RunAuditor(ending); err == nil {
		t.Error("it ended by itself")
	}
	sum, rows := 0, must(s.Audit(t.Context(), fleet.AuditQuery{Who: "eve"}))(t)
	for _, e := range rows {
		more := 1
		if _, err := fmt.Sscanf(e.Detail, "and %d more", &more); err != nil && e.Subject != "x" {
			t.Errorf("got %+v", e)
		}
		sum += more
	}
	if sum != minutes*each || len(rows) > 300 {
		t.Errorf("%d rows count %d, want %d", len(rows), sum, minutes*each)
	}
	if rows := must(s.Audit(t.Context(), fleet.AuditQuery{Who: "anna"}))(t); len(rows) != 1 {
		t.Errorf("another principal has %+v", rows)
	}
}

// A clock that was set back had refusals counted, and written by no entry, for as long as it was set back.
func TestAClockThatIsSetBackHidesNoEntries(t *testing.T) {
	t.Parallel()
	clock := &stoppedClock{at: seenAt}
	s := open(t, Options{Home: preparedHome(t), Seal: key(t, 1), Now: clock.now})
	record := func() {
		for range boundedEntries + 1 {
			if err := s.RecordBounded(t.Context(), "request.refused", "x", "y"); err != nil {
				t.Fatal(err)
			}
		}
	}
	record()
	clock.move(-24 * time.Hour)
	record()
	entries := must(s.Audit(t.Context(), fleet.AuditQuery{What: "request.refused"}))(t)
	if want := 2*boundedEntries + 1; len(entries) != want { // one says how many more there were
		t.Errorf("got %d entries, want %d", len(entries), want)
	}
}

func TestTheAuditIsSearched(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: seenAt}
		options.Now = clock.now
		s := open(t, options)
		for i, e := range []struct{ who, what, subject string }{
			{"anna", "device.tag", "one"}, {"anna", "device.untag", "two"}, {"bert", "device.tag", "two"},
			{"bert", "devices", "two"}, {"bert", "template.create", "7"},
		} {
			if err := s.Record(fleet.WithActor(t.Context(), e.who), e.what, e.subject, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
			clock.move(time.Minute)
		}
		for want, q := range map[string]fleet.AuditQuery{
			"1 0": {Who: "anna"}, "2 0": {What: "device.tag"}, "2 1 0": {What: "device."}, "3 2 1": {Subject: "two"},
			"4 3":  {Since: seenAt.Add(3 * time.Minute)},
			"0":    {Until: seenAt.Add(time.Minute), Oldest: true},
			"2 3":  {Who: "bert", Oldest: true, Limit: 2},
			"3":    {Who: "bert", What: "devices", Subject: "two", Since: seenAt, Until: seenAt.Add(time.Hour)},
			"":     {Who: "a'; DROP TABLE audit; --", What: "%."},
			"2 1 ": {What: "device.", Subject: "two"},
		} {
			q.After = 0
			got := ""
			for _, e := range must(s.Audit(t.Context(), q))(t) {
				got += e.Detail + " "
			}
			if got != want && got != want+" " {
				t.Errorf("%+v: got %q, want %q", q, got, want)
			}
		}
	})
}

func TestHeadsAreSignedOnceTheAuditHasGrown(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		put(t, s, deviceN(1))
		first, fresh, err := s.SignHead(t.Context())
		if err != nil || !fresh || !first.SignedBy(must(s.HeadKey(t.Context()))(t)) {
			t.Fatalf("got %+v, %v, %v", first, fresh, err)
		}
		second := signed(s.SignHead(t.Context()))(t) // the first made the key, which is an entry
		again, fresh, err := s.SignHead(t.Context())
		if err != nil || fresh || again.String() != second.String() || second.ID != first.ID+1 {
			t.Errorf("got %+v, %v, %v after %+v", again, fresh, err, second)
		}
	})
}

func TestASearchWithAScopeFindsEntriesAboutDevicesInside(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		for n, tag := range []fleet.Tag{"in", "out", "also"} {
			d := put(t, s, deviceN(n+1))
			must(s.TagDevice(t.Context(), d.ID, tag, nil))(t)
			must(s.TagDevice(t.Context(), d.ID, "all", nil))(t)
		}
		for _, test := range []struct {
			scope fleet.Scope
			what  string
			want  int
		}{
			{fleet.Scope{}, "device.create", 3}, {fleet.NoDevices, "", 0},
			{fleet.ScopeOf([]fleet.Tag{"in"}), "device.create", 1}, {fleet.ScopeOf([]fleet.Tag{"in", "also"}), "device.", 6},
			{fleet.ScopeOf([]fleet.Tag{"in", "all"}), "device.create", 3}, {fleet.ScopeOf([]fleet.Tag{"none"}), "", 0},
		} {
			q := fleet.AuditQuery{Scope: test.scope, What: test.what, Limit: 100}
			if got := must(s.Audit(t.Context(), q))(t); len(got) != test.want {
				t.Errorf("%s, %q: got %d entries, want %d", test.scope, test.what, len(got), test.want)
			}
		}
	})
}

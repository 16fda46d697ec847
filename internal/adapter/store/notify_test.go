package store

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

var noticed = time.Date(2026, 11, 21, 1, 2, 3, 4_000_000, time.UTC)

// problemN is the n-th problem of a test, and noticeN the notice that announces it.
func problemN(n int) fleet.Problem {
	return fleet.Problem{
		Condition: fleet.Condition{
			ProblemKey: fleet.ProblemKey{Device: deviceN(n).ID, Folder: fmt.Sprint("folder\u00fc ", n),
				Kind: fleet.WaitOutOfSync},
			Label: "a \x00 label", Tags: []fleet.Tag{"site:berlin"}, Reason: "needs 3 items", Next: "Wait.",
			Since: noticed.Add(-time.Hour + 123456*time.Nanosecond),
		},
		ID: fmt.Sprint("id ", n), AnnouncedAt: noticed, Routed: true,
	}
}

func noticeN(n int) fleet.Notice {
	p := problemN(n)
	return fleet.Notice{ID: p.ID, Type: fleet.NoticeProblem, ProblemID: p.ID, Kind: p.Kind, DeviceID: p.Device,
		Label: p.Label, Folder: p.Folder,
		Reason: p.Reason, Next: p.Next, Since: p.Since, At: noticed,
		Subject: "a subject", Link: "https://muster.example.org/ui/",
		Group: &fleet.NoticeGroup{Summary: "3 items", Severity: fleet.Warning, Channel: "oncall", Tag: "site:berlin",
			Count: 2,
			Problems: []fleet.ToldProblem{{DeviceID: p.Device, Label: p.Label, Folder: p.Folder, Subject: "another",
				Reason: p.Reason, Since: p.Since}}, Repeated: true}}
}

func announce(t *testing.T, s *Store, a fleet.Announcement) {
	t.Helper()
	if err := s.Announce(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

func outbox(t *testing.T, s *Store, receiver string, after int64, limit int) (sequences []int64,
	notices []fleet.Notice) {
	t.Helper()
	for _, w := range must(s.Outbox(t.Context(), receiver, after, limit))(t) {
		sequences, notices = append(sequences, w.Sequence), append(notices, w.Notice)
	}
	return sequences, notices
}

func TestProblemsAndTheirNoticesAreKeptTogether(t *testing.T) {
	for _, value := range []reflect.Value{reflect.ValueOf(problemN(1)), reflect.ValueOf(problemN(1).Condition),
		reflect.ValueOf(noticeN(1))} {
		for i := range value.NumField() { // a field that is new must be kept, too
			if value.Field(i).IsZero() {
				t.Errorf("this test says nothing about %s.%s", value.Type(), value.Type().Field(i).Name)
			}
		}
	}
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		whole := problemN(2)
		whole.Folder = ""
		announce(t, s, fleet.Announcement{Open: []fleet.Problem{problemN(1), whole},
			Notices: []fleet.Notice{noticeN(1), noticeN(2)}, Receivers: []string{"a", "b"}})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}

		s = open(t, options)
		problems := must(s.Problems(t.Context()))(t)
		byDevice := map[fleet.DeviceID]fleet.Problem{}
		for _, p := range problems {
			byDevice[p.Device] = p
		}
		if want := map[fleet.DeviceID]fleet.Problem{deviceN(1).ID: problemN(1), deviceN(2).ID: whole}; len(problems) != 2 ||
			!reflect.DeepEqual(byDevice, want) {
			t.Errorf("got %+v, want %+v", byDevice, want)
		}
		for _, receiver := range []string{"a", "b"} {
			if _, got := outbox(t, s, receiver, 0, 10); !reflect.DeepEqual(got, []fleet.Notice{noticeN(1), noticeN(2)}) {
				t.Errorf("%s: got %+v", receiver, got)
			}
		}
		if got := must(s.Waiting(t.Context()))(t); !maps.Equal(got, map[string]int{"a": 2, "b": 2}) {
			t.Errorf("got %v", got)
		}

		again := problemN(1)
		again.ID, again.Reason = "another", "another reason"
		announce(t, s, fleet.Announcement{Close: []fleet.ProblemKey{whole.ProblemKey, problemN(3).ProblemKey},
			Open: []fleet.Problem{again}})
		if got := must(s.Problems(t.Context()))(t); !reflect.DeepEqual(got, []fleet.Problem{again}) {
			t.Errorf("got %+v, want %+v", got, again)
		}
	})
}

func TestTheOutboxIsInOrderAndItsNumbersAreNeverUsedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		for n := range 5 {
			announce(t, s, fleet.Announcement{Notices: []fleet.Notice{noticeN(n)}, Receivers: []string{"a", "b"}})
		}
		sequences, notices := outbox(t, s, "a", 0, 3)
		if len(notices) != 3 || !slices.IsSorted(sequences) || notices[0].ID != "id 0" || notices[2].ID != "id 2" {
			t.Fatalf("got %v, %+v", sequences, notices)
		}
		rest, notices := outbox(t, s, "a", sequences[2], 10)
		if len(notices) != 2 || notices[1].ID != "id 4" || rest[0] <= sequences[2] {
			t.Fatalf("got %v, %+v", rest, notices)
		}
		last := rest[1]
		for _, taken := range append(sequences, rest...) {
			if err := s.Delivered(t.Context(), "b", taken); err != nil { // not b's: stays
				t.Fatal(err)
			}
		}
		if got := must(s.Waiting(t.Context()))(t); !maps.Equal(got, map[string]int{"a": 5, "b": 5}) {
			t.Errorf("got %v", got)
		}
		for _, taken := range append(sequences, rest...) {
			for range 2 { // twice is fine
				if err := s.Delivered(t.Context(), "a", taken); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Discard(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if got := must(s.Waiting(t.Context()))(t); len(got) != 0 {
			t.Errorf("got %v, want nothing", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}

		s = open(t, options)
		announce(t, s, fleet.Announcement{Notices: []fleet.Notice{noticeN(9)}, Receivers: []string{"a"}})
		if sequences, _ := outbox(t, s, "a", last, 10); len(sequences) != 1 {
			t.Errorf("the next number is not larger than %d", last)
		}
	})
}

func TestWhatPeopleAreToldOutlivesTheDevice(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		announce(t, s, fleet.Announcement{Open: []fleet.Problem{problemN(1)}, Notices: []fleet.Notice{noticeN(1)},
			Receivers: []string{"a"}})
		if err := s.DeleteDevice(t.Context(), d.ID, nil); err != nil {
			t.Fatal(err)
		}
		if _, got := outbox(t, s, "a", 0, 10); len(got) != 1 {
			t.Errorf("got %+v, want the notice", got)
		}
		if got := must(s.Problems(t.Context()))(t); len(got) != 1 { // so that it can be said to be over
			t.Errorf("got %+v, want the problem", got)
		}
	})
}

func TestAnAnnouncementThatCannotBeKeptChangesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		announce(t, s, fleet.Announcement{Open: []fleet.Problem{problemN(1)}, Notices: []fleet.Notice{noticeN(1)},
			Receivers: []string{"a"}})
		bad := problemN(2)
		bad.Folder = "nul\x00"
		for name, a := range map[string]fleet.Announcement{
			"folder": {Close: []fleet.ProblemKey{problemN(1).ProblemKey}, Open: []fleet.Problem{problemN(3), bad},
				Notices: []fleet.Notice{noticeN(2)}, Receivers: []string{"a"}},
			"receiver": {Close: []fleet.ProblemKey{problemN(1).ProblemKey}, Open: []fleet.Problem{problemN(3)},
				Notices: []fleet.Notice{noticeN(2)}, Receivers: []string{"a", strings.Repeat("x", maxReceiverBytes+1)}},
		} {
			t.Run(name, func(t *testing.T) {
				wantCode(t, s.Announce(t.Context(), a), fleet.CodeInvalid)
				if got := must(s.Problems(t.Context()))(t); !reflect.DeepEqual(got, []fleet.Problem{problemN(1)}) {
					t.Errorf("got %+v", got)
				}
				if _, got := outbox(t, s, "a", 0, 10); len(got) != 1 {
					t.Errorf("got %+v", got)
				}
			})
		}
	})
}

func TestAProblemOfNoDeviceIsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s, p := open(t, options), problemN(1)
		p.ProblemKey = fleet.ProblemKey{Kind: fleet.WaitRolloutHalted, Subject: "rollout 7"}
		announce(t, s, fleet.Announcement{Open: []fleet.Problem{p}})
		if got := must(s.Problems(t.Context()))(t); len(got) != 1 || !reflect.DeepEqual(got[0], p) {
			t.Errorf("got %+v, want %+v", got, p)
		}
		announce(t, s, fleet.Announcement{Close: []fleet.ProblemKey{p.ProblemKey}})
		if got := must(s.Problems(t.Context()))(t); len(got) != 0 {
			t.Errorf("afterwards: %+v", got)
		}
	})
}

func TestToldGroupsAreKeptWithTheirNotices(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		g := fleet.ToldGroup{ToldGroupKey: fleet.ToldGroupKey{Channel: "oncall", Kind: fleet.WaitFailed, Tag: "site:berlin"},
			ID: "N1", Since: noticed, ToldAt: noticed.Add(time.Minute), Count: 2,
			Problems: []fleet.ProblemKey{problemN(1).ProblemKey, {Kind: fleet.WaitRolloutHalted, Subject: "rollout 7"}}}
		other := g
		other.Tag = ""
		announce(t, s, fleet.Announcement{Tell: []fleet.ToldGroup{g, other},
			Posts: []fleet.Post{{Notice: noticeN(1), Receivers: []string{"oncall"}}}})
		if _, notices := outbox(t, s, "oncall", 0, 10); len(notices) != 1 || !reflect.DeepEqual(notices[0], noticeN(1)) {
			t.Errorf("in the outbox: %+v", notices)
		}
		g.Count, g.Problems = 1, g.Problems[:1]
		announce(t, s, fleet.Announcement{Tell: []fleet.ToldGroup{g}, Forget: []fleet.ToldGroupKey{other.ToldGroupKey}})
		if got := must(s.ToldGroups(t.Context()))(t); !reflect.DeepEqual(got, []fleet.ToldGroup{g}) {
			t.Errorf("got %+v, want %+v", got, g)
		}
	})
}

func TestTheLogOfAChannelHasItsNewestDeliveries(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		entry := func(n int) fleet.Delivery {
			return fleet.Delivery{At: noticed.Add(time.Duration(n) * time.Second), NoticeID: fmt.Sprint("N", n),
				Type: fleet.NoticeProblem, Summary: "a device cannot be reached", Accepted: n%2 == 0, Answer: "it answers 400"}
		}
		other := entry(1)
		if err := s.LogDelivery(t.Context(), "other", other); err != nil {
			t.Fatal(err)
		}
		for n := range deliveriesKept + 5 {
			if err := s.LogDelivery(t.Context(), "oncall", entry(n)); err != nil {
				t.Fatal(err)
			}
		}
		got := must(s.Deliveries(t.Context(), "oncall"))(t)
		if len(got) != deliveriesKept || got[0] != entry(deliveriesKept+4) || got[deliveriesKept-1] != entry(5) {
			t.Errorf("got %d entries: %+v", len(got), got)
		}
		if got := must(s.Deliveries(t.Context(), "other"))(t); !reflect.DeepEqual(got, []fleet.Delivery{other}) {
			t.Errorf("of the other: %+v", got)
		}
	})
}

package notify

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// beginTagged begins a problem of a device with tags.
func (s *source) beginTagged(k Key, tags ...fleet.Tag) {
	s.begin(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.now[k]
	c.Tags = tags
	s.now[k] = c
}

func (n *Notifier) setRules(r rules) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules = r
}

func channelOf(r *receiver) Sender { return channelSender{Sender: r, name: r.name} }

// summaries returns type and summary of each message.
func summaries(messages []Message) (all []string) {
	for _, m := range messages {
		text := string(m.Type) + ": "
		if m.Group == nil {
			all = append(all, text+string(m.Kind)+" "+m.DeviceID.Short())
			continue
		}
		if m.Group.Repeated {
			text = "again: "
		}
		summary, _, _ := strings.Cut(m.Group.Summary, " since ")
		all = append(all, text+summary)
	}
	return all
}

func wantSummaries(t *testing.T, r *receiver, want ...string) {
	t.Helper()
	if got := summaries(r.messages()); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s got\n%s\nwant\n%s", r.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func unreachable(of string) Key { return Key{Device: deviceID(of), Kind: fleet.WaitUnreachable} }

func TestARouteTellsAllProblemsOfASiteInOneMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, flag, oncall := newSource(), newDisk(), newReceiver("flag"), newReceiver("oncall")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{flag, channelOf(oncall)}})
		n.setRules(rules{public: "https://muster.example.org", routes: []fleet.Route{
			{Name: "disks", Match: fleet.Match{Kinds: []Kind{fleet.WaitFolderStopped}}, Channels: []string{"elsewhere"}},
			{Name: "sites", Channels: []string{"oncall", fleet.DefaultChannel}, GroupBy: "site:"}}})
		for i := range 12 {
			s.beginTagged(unreachable(fmt.Sprint(i)), "all", "site:berlin")
			pass(time.Second)
		}
		s.beginTagged(unreachable("oslo"), "all", "site:oslo")
		s.beginTagged(Key{Device: deviceID("oslo"), Folder: "docs", Kind: fleet.WaitStalled}, "all", "site:oslo")
		pass(15 * time.Minute)
		oslo := "label of " + deviceID("oslo").Short()
		want := []string{"problem: 12 devices of site:berlin cannot be reached", "problem: " + oslo + " cannot be reached",
			"problem: folder docs on " + oslo + " does not go on"}
		wantSorted(t, oncall, want...)
		wantSorted(t, flag, want...)
		for _, m := range oncall.messages() {
			if m.Group.Tag != "site:berlin" {
				continue
			}
			if m.Group.Count != 12 || len(m.Group.Problems) != 12 || m.DeviceID != "" || m.Group.Severity != fleet.Warning ||
				m.Link != "https://muster.example.org/ui/" || m.Group.Problems[0].Reason != "why unreachable" {
				t.Errorf("the message is %+v, %+v", m, m.Group)
			}
		}
		for i := range 11 {
			s.end(unreachable(fmt.Sprint(i)))
		}
		pass(time.Hour)
		wantSorted(t, oncall, want...) // It is not over.
		s.end(unreachable("11"))
		pass(time.Hour)
		wantSorted(t, oncall, append(want, "resolved: Resolved: 12 problems of site:berlin of the kind unreachable")...)
		if len(d.groups) != 4 { // two of oslo, for each channel
			t.Errorf("stored: %+v", d.groups)
		}
	})
}

func wantSorted(t *testing.T, r *receiver, want ...string) {
	t.Helper()
	got, left := summaries(r.messages()), map[string]int{}
	for _, text := range want {
		left[text]++
	}
	for _, text := range got {
		left[text]--
	}
	for text, count := range left {
		if count != 0 {
			t.Errorf("%s: %q is missing or too much (%d); got %q", r.name, text, count, got)
		}
	}
}

func TestAGroupThatGrowsIsToldAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, oncall := newSource(), newDisk(), newReceiver("oncall")
		n, stop := start(t, Options{Source: s, Store: d, Senders: []Sender{channelOf(oncall)}, After: time.Minute})
		all := rules{routes: []fleet.Route{{Name: "all", Channels: []string{"oncall"}}}}
		n.setRules(all)
		s.beginTagged(unreachable("a"), "x")
		s.beginTagged(unreachable("b"), "x")
		pass(3 * time.Minute)
		s.beginTagged(unreachable("c"))
		pass(90 * time.Second)
		wantSummaries(t, oncall, "problem: 2 devices of x cannot be reached")
		stop() // What was told is not told again.
		n, _ = start(t, Options{Source: s, Store: d, Senders: []Sender{channelOf(oncall)}, After: time.Minute})
		n.setRules(all)
		pass(10 * time.Minute)
		want := []string{"problem: 2 devices of x cannot be reached", "problem: 3 devices cannot be reached"}
		wantSummaries(t, oncall, want...)
		s.end(unreachable("b"))
		pass(10 * time.Minute)
		wantSummaries(t, oncall, want...)
		s.begin(unreachable("b")) // It comes back, and is told again.
		pass(10 * time.Minute)
		want = append(want, "problem: 3 devices cannot be reached")
		wantSummaries(t, oncall, want...)
		for _, name := range []string{"a", "b", "c"} {
			s.end(unreachable(name))
		}
		pass(time.Minute)
		wantSummaries(t, oncall, append(want, "resolved: Resolved: 3 problems of the kind unreachable")...)
		got := oncall.messages()
		if first := got[0]; first.ID != first.ProblemID || got[3].ProblemID != first.ID || got[1].ID == first.ID {
			t.Errorf("the messages of one problem: %+v", got)
		}
	})
}

func TestAMessageIsRepeatedWhenItsRouteSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, oncall := newSource(), newDisk(), newReceiver("oncall")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{channelOf(oncall)}, After: time.Minute})
		n.setRules(rules{routes: []fleet.Route{{Name: "all", Channels: []string{"oncall"}, Repeat: time.Hour}}})
		k := Key{Device: deviceID("a"), Kind: fleet.WaitFailed}
		s.begin(k)
		pass(2*time.Hour + 10*time.Minute)
		text := "label of " + k.Device.Short() + " could not be configured"
		wantSummaries(t, oncall, "problem: "+text, "again: "+text, "again: "+text)
	})
}

func TestASilenceEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, flag := newSource(), newDisk(), newReceiver("flag")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{flag}, After: time.Minute})
		n.setRules(rules{silences: []fleet.Silence{{Until: time.Now().Add(time.Hour),
			Match: fleet.Match{Tags: []fleet.Tag{"site:berlin"}, Kinds: []Kind{fleet.WaitUnreachable}}}}})
		s.beginTagged(unreachable("moves"), "site:berlin")
		s.beginTagged(unreachable("comes back"), "site:berlin")
		s.beginTagged(unreachable("elsewhere"), "site:oslo")
		pass(30 * time.Minute)
		want := []string{"problem: unreachable " + deviceID("elsewhere").Short()}
		wantSummaries(t, flag, want...)
		s.end(unreachable("comes back"))
		pass(29 * time.Minute)
		wantSummaries(t, flag, want...)
		pass(2 * time.Minute)
		wantSummaries(t, flag, append(want, "problem: unreachable "+deviceID("moves").Short())...)
	})
}

func TestQuietHoursHoldMessagesBackUntilTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, day, night := newSource(), newDisk(), newReceiver("day"), newReceiver("night")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{channelOf(day), channelOf(night)}})
		n.setRules(rules{routes: []fleet.Route{
			{Name: "a", Channels: []string{"night"}, Match: fleet.Match{Severities: []fleet.Severity{fleet.Critical}}},
			{Name: "b", Channels: []string{"day"}, QuietFrom: "20:00", QuietTo: "07:00"}}})
		now := time.Now()
		pass(time.Date(now.Year(), now.Month(), now.Day()+1, 22, 0, 0, 0, time.Local).Sub(now))
		passes, stays := unreachable("passes"), Key{Device: deviceID("stays"), Kind: fleet.WaitFailed}
		s.begin(passes)
		s.begin(stays)
		pass(time.Hour)
		s.end(passes)
		failed := "problem: label of " + stays.Device.Short() + " could not be configured"
		wantSummaries(t, day)
		wantSummaries(t, night, failed)
		pass(8*time.Hour + 2*time.Minute)
		wantSummaries(t, day, failed)
	})
}

func TestAChannelThatFailsIsLoggedOnceAndThenWhenItAccepts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, oncall := newSource(), newDisk(), newReceiver("oncall")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{channelOf(oncall)}, After: time.Minute})
		n.setRules(rules{routes: []fleet.Route{{Name: "all", Channels: []string{"oncall"}}}})
		oncall.set(&LaterError{Err: &AnswerError{Reason: "it answers 503", Answer: "maintenance"}})
		s.begin(unreachable("a"))
		pass(time.Hour)
		oncall.set(errors.New("connection refused"))
		pass(time.Hour)
		oncall.set(nil)
		pass(time.Hour)
		var got []string
		for _, entry := range d.log["oncall"] {
			got = append(got, fmt.Sprint(entry.Accepted, " ", entry.Answer))
		}
		want := "false it answers 503: maintenance|false connection refused|true accepted"
		if strings.Join(got, "|") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestAnAnswerShowsNoSecret(t *testing.T) {
	w, err := NewWebhook("https://hooks.example.org/services/T0AAAAAA/verysecret?key=alsosecret",
		fleet.NewSecret("signing-key"))
	if err != nil {
		t.Fatal(err)
	}
	got := w.said([]byte("no route for /services/T0AAAAAA/verysecret?key=alsosecret\nalsosecret signing-key"))
	for _, secret := range []string{"verysecret", "alsosecret", "signing-key", "\n"} {
		if strings.Contains(got, secret) {
			t.Errorf("%q shows %q", got, secret)
		}
	}
	if !strings.HasPrefix(got, "no route for ") {
		t.Errorf("got %q", got)
	}
}

package notify

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

func deviceID(name string) fleet.DeviceID { return fleet.DeviceIDOf(sha256.Sum256([]byte(name))) }

// start runs a notifier in the bubble until stop.
func start(t *testing.T, o Options) (n *Notifier, stop func()) {
	t.Helper()
	n = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Run ended with %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return n, stop
}

func pass(d time.Duration) { <-time.After(d); synctest.Wait() }

func summary(messages []Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, fmt.Sprintf("%s %s %s%s", m.Type, m.Kind, m.DeviceID.Short(), m.Folder))
	}
	return all
}

func expect(t *testing.T, got []Message, want ...string) {
	t.Helper()
	if !slices.Equal(summary(got), want) {
		t.Fatalf("got %q, want %q", summary(got), want)
	}
}

func TestAProblemThatStaysIsToldOnceAndItsEndToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, r := newSource(), newDisk(), newReceiver("r")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{r}})
		k := Key{Device: deviceID("a"), Kind: fleet.WaitUnreachable}
		began := time.Now()
		s.begin(k)
		pass(9 * time.Minute)
		expect(t, r.messages())
		pass(90 * time.Second)
		opening := fmt.Sprintf("problem unreachable %s", k.Device.Short())
		expect(t, r.messages(), opening)
		if open := n.Problems(); len(open) != 1 || open[0].ProblemKey != k {
			t.Errorf("announced problems: %+v", open)
		}
		pass(24 * time.Hour)
		expect(t, r.messages(), opening)
		s.end(k)
		pass(time.Minute)
		expect(t, r.messages(), opening, fmt.Sprintf("resolved unreachable %s", k.Device.Short()))
		first, last := r.messages()[0], r.messages()[1]
		if first.ID == last.ID || first.ProblemID != first.ID || last.ProblemID != first.ID {
			t.Errorf("IDs: %s of %s, %s of %s", first.ID, first.ProblemID, last.ID, last.ProblemID)
		}
		want := Message{ID: first.ID, Type: fleet.NoticeProblem, ProblemID: first.ID, Kind: fleet.WaitUnreachable,
			DeviceID: k.Device,
			Label:    "label of " + k.Device.Short(), Reason: "why unreachable", Next: "look there", Since: began.UTC(),
			At: first.At}
		if first != want {
			t.Errorf("got %+v, want %+v", first, want)
		}
		if len(n.Problems()) != 0 || n.Receivers()[0] != (fleet.Receiver{Name: "r"}) {
			t.Errorf("afterwards: %v, %+v", n.Problems(), n.Receivers())
		}
	})
}

func TestWhatPassesIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, r := newSource(), newDisk(), newReceiver("r")
		start(t, Options{Source: s, Store: d, Senders: []Sender{r}})
		seen, unseen := Key{Device: deviceID("a"), Kind: fleet.WaitFailed},
			Key{Device: deviceID("b"), Kind: fleet.WaitFailed}
		for range 20 {
			s.begin(seen)
			s.begin(unseen)
			pass(9 * time.Minute)
			s.end(seen)
			s.end(unseen)
			pass(time.Second) // between two reports, mostly
			s.begin(unseen)   // began again: only Since says so
			pass(time.Minute)
		}
		s.end(seen)
		s.end(unseen)
		pass(time.Hour)
		expect(t, r.messages())
		if len(d.announced()) != 0 {
			t.Errorf("announced: %q", summary(d.announced()))
		}
	})
}

func TestEveryKindAndFolderIsAProblemOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, r := newSource(), newDisk(), newReceiver("r")
		a := deviceID("a")
		var keys []Key
		for _, kind := range []Kind{fleet.WaitContended, fleet.WaitFailed, fleet.WaitHeld, fleet.WaitUnreachable,
			fleet.WaitUnstable} {
			keys = append(keys, Key{Device: a, Kind: kind})
		}
		keys = append(keys, Key{Device: a, Folder: "photos", Kind: fleet.WaitOutOfSync},
			Key{Device: a, Folder: "videos", Kind: fleet.WaitOutOfSync})
		var want []string
		for _, k := range keys {
			s.begin(k)
			want = append(want, fmt.Sprintf("problem %s %s%s", k.Kind, a.Short(), k.Folder))
		}
		start(t, Options{Source: s, Store: d, Senders: []Sender{r}, After: time.Minute}) // The first report has all.
		pass(2 * time.Minute)
		expect(t, r.messages(), want...)
		s.end(keys[5])
		pass(time.Minute)
		expect(t, r.messages()[len(keys):], fmt.Sprintf("resolved outOfSync %sphotos", a.Short()))
	})
}

func TestTheUnknownIsNeitherGoodNorBad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, r := newSource(), newDisk(), newReceiver("r")
		_, stop := start(t, Options{Source: s, Store: d, Senders: []Sender{r}, After: time.Minute})
		k := Key{Device: deviceID("a"), Kind: fleet.WaitFailed}
		s.begin(k)
		pass(2 * time.Minute)
		expect(t, r.messages(), "problem failed "+k.Device.Short())
		stop()
		s.end(k) // as after a restart: nothing was read yet
		s.setUnknown(k.Device, true)
		start(t, Options{Source: s, Store: d, Senders: []Sender{r}, After: time.Minute})
		pass(time.Hour)
		expect(t, r.messages(), "problem failed "+k.Device.Short())
		s.begin(k)
		s.setUnknown(k.Device, false)
		pass(time.Hour)
		expect(t, r.messages(), "problem failed "+k.Device.Short())
		s.end(k)
		pass(time.Minute)
		expect(t, r.messages(), "problem failed "+k.Device.Short(), "resolved failed "+k.Device.Short())
	})
}

func TestASourceThatCannotSayChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, r := newSource(), newDisk(), newReceiver("r")
		start(t, Options{Source: s, Store: d, Senders: []Sender{r}, After: time.Minute})
		k := Key{Device: deviceID("a"), Kind: fleet.WaitHeld}
		s.begin(k)
		pass(2 * time.Minute)
		s.end(k)
		s.mu.Lock()
		s.broken = errors.New("no database")
		s.mu.Unlock()
		pass(time.Hour)
		expect(t, r.messages(), "problem held "+k.Device.Short())
		s.mu.Lock()
		s.broken = nil
		s.mu.Unlock()
		pass(time.Minute)
		expect(t, r.messages(), "problem held "+k.Device.Short(), "resolved held "+k.Device.Short())
	})
}

func TestEveryReceiverGetsAllAndOneThatIsDownHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, up, down := newSource(), newDisk(), newReceiver("up"), newReceiver("down")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{up, down}, After: time.Minute})
		down.set(errors.New("connection refused"))
		k := Key{Device: deviceID("a"), Kind: fleet.WaitFailed}
		s.begin(k)
		pass(2 * time.Minute)
		s.end(k)
		pass(time.Hour)
		want := []string{"problem failed " + k.Device.Short(), "resolved failed " + k.Device.Short()}
		expect(t, up.messages(), want...)
		expect(t, down.messages())
		got := n.Receivers()
		if got[0] != (fleet.Receiver{Name: "up"}) || got[1].Waiting != 2 ||
			got[1].Trouble != "the receiver cannot be told: connection refused" || got[1].Since.IsZero() {
			t.Errorf("receivers: %+v", got)
		}
		if tries := len(down.attempts()); tries < 10 || tries > 40 {
			t.Errorf("the receiver that is down was tried %d times in an hour", tries)
		}
		down.set(nil)
		pass(10 * time.Minute)
		expect(t, down.messages(), want...)
		if got := n.Receivers()[1]; got != (fleet.Receiver{Name: "down"}) {
			t.Errorf("afterwards: %+v", got)
		}
	})
}

func TestAReceiverThatAsksForTimeGetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, r := newSource(), newDisk(), newReceiver("r")
		r.set(&LaterError{After: 4 * time.Minute, Err: errors.New("busy")})
		start(t, Options{Source: s, Store: d, Senders: []Sender{r}, After: time.Minute})
		s.begin(Key{Device: deviceID("a"), Kind: fleet.WaitFailed})
		pass(20 * time.Minute)
		tries := r.attempts()
		if len(tries) < 3 {
			t.Fatalf("%d attempts", len(tries))
		}
		for i := range tries[1:] {
			if pause := tries[i+1].Sub(tries[i]); pause < 4*time.Minute {
				t.Errorf("attempt %d came after %s", i+1, pause)
			}
		}
	})
}

func TestARefusedMessageIsShownAtOnceAndHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, r := newSource(), newDisk(), newReceiver("r")
		bad, good := Key{Device: deviceID("a"), Kind: fleet.WaitFailed},
			Key{Device: deviceID("b"), Kind: fleet.WaitFailed}
		r.refuse = func(m Message) error {
			if m.DeviceID == bad.Device && m.Type == fleet.NoticeProblem {
				return &RejectedError{Reason: "it answers 422", Answer: "no such field"}
			}
			return nil
		}
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{r}, After: time.Minute})
		s.begin(bad)
		pass(2 * time.Minute)
		got := n.Receivers()[0]
		if got.Waiting != 0 || got.Trouble != "a message was given up: the receiver refuses the message: it answers 422" {
			t.Errorf("the receiver: %+v", got)
		}
		log := d.log[fleet.DefaultChannel]
		if len(log) != 1 || log[0].Accepted ||
			log[0].Answer != "r: the receiver refuses the message: it answers 422: no such field" {
			t.Errorf("the log: %+v", log)
		}
		s.begin(good)
		s.end(bad)
		pass(2 * time.Minute)
		expect(t, r.messages(), "resolved failed "+bad.Device.Short(), "problem failed "+good.Device.Short())
		if tries := len(r.attempts()); tries != 3 {
			t.Errorf("%d attempts", tries)
		}
		if got := n.Receivers()[0]; got != (fleet.Receiver{Name: "r"}) {
			t.Errorf("afterwards: %+v", got)
		}
	})
}

func TestAReceiverThatIsGoneIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, old := newSource(), newDisk(), newReceiver("old")
		old.set(errors.New("connection refused"))
		_, stop := start(t, Options{Source: s, Store: d, Senders: []Sender{old}, After: time.Minute})
		s.begin(Key{Device: deviceID("a"), Kind: fleet.WaitFailed})
		pass(2 * time.Minute)
		stop()
		if len(d.outbox["old"]) != 1 {
			t.Fatalf("%d messages wait", len(d.outbox["old"]))
		}
		_, stop = start(t, Options{Source: s, Store: d, Senders: []Sender{newReceiver("new")}})
		pass(time.Minute)
		stop()
		if len(d.outbox["old"]) != 0 {
			t.Errorf("%d messages wait for a receiver that is gone", len(d.outbox["old"]))
		}
	})
}

func TestManyProblemsAtOnceArriveInOrderOfDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, r := newSource(), newDisk(), newReceiver("r")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{r}, After: time.Minute})
		const devices = window + 500
		for i := range devices {
			s.begin(Key{Device: deviceID(fmt.Sprint(i)), Kind: fleet.WaitUnreachable})
		}
		pass(2 * time.Minute)
		for i := range devices {
			s.end(Key{Device: deviceID(fmt.Sprint(i)), Kind: fleet.WaitUnreachable})
		}
		pass(time.Hour)
		checkDelivery(t, d.announced(), r.messages(), 2*devices)
		if got := n.Receivers()[0]; got != (fleet.Receiver{Name: "r"}) || len(r.messages()) != 2*devices {
			t.Errorf("%+v after %d messages", got, len(r.messages()))
		}
	})
}

// checkDelivery: every announced message arrived; those that came more than once are the same; and about each device
// none came after a later one.
func checkDelivery(t *testing.T, announced, got []Message, atLeast int) {
	t.Helper()
	if len(announced) < atLeast {
		t.Errorf("only %d messages were announced, want at least %d", len(announced), atLeast)
	}
	place, byID := map[string]int{}, map[string]Message{}
	for i, m := range announced {
		if _, twice := byID[m.ID]; twice {
			t.Errorf("message %s was announced twice", m.ID)
		}
		place[m.ID], byID[m.ID] = i, m
	}
	arrived, latest := map[string]bool{}, map[fleet.DeviceID]int{}
	for _, m := range got {
		if byID[m.ID] != m {
			t.Errorf("got %+v, announced as %+v", m, byID[m.ID])
		}
		arrived[m.ID] = true
		if at := place[m.ID]; at < latest[m.DeviceID] {
			t.Errorf("device %s: message %d came after %d", m.DeviceID.Short(), at, latest[m.DeviceID])
		} else {
			latest[m.DeviceID] = at
		}
	}
	for _, m := range announced {
		if !arrived[m.ID] {
			t.Errorf("message %s (%s %s) never arrived", m.ID, m.Type, m.DeviceID.Short())
		}
	}
}

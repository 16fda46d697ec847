package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

func compare(a, b fleet.DeviceID) int { return cmp.Compare(a, b) }

// slowConfig reads the configuration and keeps it to itself for a while.
type slowConfig struct {
	*fake
	read, answer chan struct{}
}

func (s *slowConfig) Config(ctx context.Context) ([]byte, error) {
	text, err := s.fake.Config(ctx)
	close(s.read)
	<-s.answer
	return text, err
}

func TestObservationsAreWrittenInGroups(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		for n := range 100 {
			w.m.outbox.add(fleet.Observation{Device: id(n), Status: &fleet.Status{Uptime: 1}}, false)
			w.m.outbox.add(fleet.Observation{Device: id(n), Version: &fleet.Version{Version: "v1"}}, false)
			w.m.outbox.add(fleet.Observation{Device: id(n), Status: &fleet.Status{Uptime: 2}}, false)
		}
		synctest.Wait()
		if len(w.groupSizes()) != 0 {
			t.Fatal("nobody waited for gatherTime")
		}
		pass(gatherFor)
		if len(w.groupSizes()) != 1 || w.groupSizes()[0] != 100 {
			t.Fatalf("groups of %v, want one of 100", w.groupSizes())
		}
		for _, o := range w.observations() {
			if o.Status.Uptime != 2 || o.Version == nil {
				t.Fatalf("kept %+v", o)
			}
		}
	})
}

func TestALargeCrowdDoesNotWait(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		for n := range 3 * groupSize {
			w.m.outbox.add(fleet.Observation{Device: id(n), LastSeen: time.Now()}, false)
		}
		synctest.Wait()
		if len(w.observations()) < groupSize {
			t.Fatalf("%d written at once", len(w.observations()))
		}
		pass(gatherFor)
		if len(w.observations()) != 3*groupSize {
			t.Fatalf("%d written, want %d", len(w.observations()), 3*groupSize)
		}
		for _, n := range w.groupSizes() {
			if n > groupSize {
				t.Fatalf("a group of %d", n)
			}
		}
	})
}

func configOf(text string, folders ...string) *fleet.ObservedConfig {
	c := &fleet.ObservedConfig{JSON: []byte(text), Digest: text}
	for _, f := range folders {
		c.Folders = append(c.Folders, fleet.FolderLabel{Folder: f})
	}
	return c
}

func TestConfigurationsGoAtOnceAndNoneIsLost(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.set(func() { w.sinkErr = errors.New("the disk is full") })
		d := id(1)
		w.m.outbox.add(fleet.Observation{Device: d, Summaries: []fleet.FolderSummary{{Folder: "a"}, {Folder: "b"}}}, false)
		w.m.outbox.add(fleet.Observation{Device: d, Config: configOf("one", "b")}, true)
		w.m.outbox.add(fleet.Observation{Device: d, Config: configOf("two", "b")}, false)
		synctest.Wait()
		w.m.outbox.add(fleet.Observation{Device: d, Summaries: []fleet.FolderSummary{{Folder: "b", Sequence: 5}}}, false)
		w.m.outbox.add(fleet.Observation{Device: d, Config: configOf("three", "b")}, true)
		if len(w.announced()) != 0 {
			t.Fatal("announced before it was kept")
		}
		pass(10 * time.Second)
		w.set(func() { w.sinkErr = nil })
		pass(time.Minute)
		var kept []string
		for _, o := range w.observations() {
			kept = append(kept, fmt.Sprint(o.Config.Digest, len(o.Summaries)))
		}
		if got := fmt.Sprint(kept, w.announced()); got != "[one1 two1 three0] [one three]" {
			t.Fatalf("kept and announced %s", got)
		}
		if w.observations()[1].Summaries[0].Sequence != 5 {
			t.Fatalf("kept %+v", w.observations()[1])
		}
	})
}

func TestWhatIsLeftIsWrittenAtTheEnd(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.m.outbox.add(fleet.Observation{Device: id(1), LastSeen: time.Now()}, false)
		w.stop()
		if len(w.observations()) != 1 {
			t.Fatalf("%d observations kept", len(w.observations()))
		}
	})
}

func TestARemovedDeviceIsNotWrittenAnyMore(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.set(func() { w.sinkErr = errors.New("busy") })
		b := w.m.outbox
		b.add(fleet.Observation{Device: id(1), Config: configOf("one")}, true)
		b.add(fleet.Observation{Device: id(2), Config: configOf("two")}, true)
		group := b.takeGroup()
		b.forget(id(1))
		b.putBack(group)
		if len(b.waiting) != 1 || len(b.waiting[id(2)]) != 1 {
			t.Fatalf("waiting: %v", b.waiting)
		}
		b.forget(id(2))
		if len(b.waiting) != 0 || b.bytes != 0 {
			t.Fatalf("%d devices and %d bytes wait", len(b.waiting), b.bytes)
		}
		pass(time.Minute)
		if len(w.observations()) != 0 || len(w.announced()) != 0 {
			t.Fatal("it was written")
		}
	})
}

func TestWatchersWaitWhileTooMuchIsWaiting(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.set(func() { w.sinkErr = errors.New("down") })
		b := w.m.outbox
		b.add(fleet.Observation{Device: id(1), Config: &fleet.ObservedConfig{JSON: make([]byte, maxWaiting)}}, false)
		got := make(chan error, 1)
		go func() { got <- b.room(t.Context()) }()
		pass(time.Minute)
		if len(got) != 0 {
			t.Fatal("there is room beyond the bound")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.room(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		w.set(func() { w.sinkErr = nil })
		pass(time.Minute)
		if err := <-got; err != nil {
			t.Fatal(err)
		}
	})
}

func TestAnObservationThatTheStoreNeverTakesHoldsUpNobody(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		poison := id(7)
		w.set(func() { w.refuse = poison })
		for n := range 50 {
			w.m.outbox.add(fleet.Observation{Device: id(n), LastSeen: time.Now()}, false)
		}
		pass(time.Second)
		if n := len(w.observations()); n != 49 {
			t.Fatalf("%d kept beside the one that cannot be, want 49", n)
		}
		for range 10 { // others go on, and the one is given up
			w.m.outbox.add(fleet.Observation{Device: id(1), LastSeen: time.Now()}, false)
			pass(time.Minute)
		}
		w.m.outbox.mu.Lock()
		defer w.m.outbox.mu.Unlock()
		if n, bytes := len(w.m.outbox.waiting), w.m.outbox.bytes; n != 0 || bytes != 0 {
			t.Fatalf("%d devices and %d bytes still wait", n, bytes)
		}
	})
}

func TestWhileTheStoreIsDownNothingIsDropped(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.set(func() { w.sinkErr = errors.New("down") })
		for n := range 50 {
			w.m.outbox.add(fleet.Observation{Device: id(n), LastSeen: time.Now()}, false)
		}
		pass(time.Hour)
		w.set(func() { w.sinkErr = nil })
		pass(time.Minute)
		if n := len(w.observations()); n != 50 {
			t.Fatalf("%d kept, want 50", n)
		}
	})
}

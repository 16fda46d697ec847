package event

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

func deviceID(name string) fleet.DeviceID { return fleet.DeviceIDOf(sha256.Sum256([]byte(name))) }

func subscribe(t *testing.T, h *Hub, f Filter, after int64) *Subscription {
	t.Helper()
	s, err := h.Subscribe(f, after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func publish(t *testing.T, h *Hub, typ Type, device fleet.DeviceID, data any) {
	t.Helper()
	if err := h.Publish(typ, device, data); err != nil {
		t.Fatal(err)
	}
}

// read collects n events.
func read(t *testing.T, s *Subscription, n int) []*Event {
	t.Helper()
	var all []*Event
	for len(all) < n {
		batch, err := s.Next(context.Background())
		if err != nil {
			t.Fatalf("after %d of %d events: %v", len(all), n, err)
		}
		all = append(all, batch...)
	}
	if len(all) != n {
		t.Fatalf("got %d events, want %d", len(all), n)
	}
	return all
}

// nothing checks that no event comes within an hour (of synctest's clock).
func nothing(t *testing.T, s *Subscription) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if got, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %d events, %v; want none", len(got), err)
	}
}

func data(events []*Event) []string {
	var all []string
	for _, e := range events {
		all = append(all, string(e.Data))
	}
	return all
}

func TestEventsArriveInOrderWithGrowingIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(Options{Tags: func(fleet.DeviceID) []fleet.Tag { return []fleet.Tag{"a", "b"} }})
		publish(t, h, TypeDevice, deviceID("before"), "not seen")
		s := subscribe(t, h, Filter{}, Latest)
		nothing(t, s)
		for i := range 3 {
			publish(t, h, TypeStatus, deviceID("x"), i)
		}
		got := read(t, s, 3)
		for i, e := range got {
			if e.ID != got[0].ID+int64(i) || e.Type != TypeStatus || e.Device != deviceID("x") || !e.Time.Equal(time.Now()) ||
				!slices.Equal(e.Tags, []fleet.Tag{"a", "b"}) || string(e.Data) != fmt.Sprint(i) {
				t.Errorf("event %d: %+v", i, e)
			}
		}
		if id := got[2].ID; id > 1<<53 || id < time.Now().Add(-2*time.Hour).UnixMicro() {
			t.Errorf("ID %d", id)
		}
	})
}

func TestFiltersPickByTypeDeviceAndTag(t *testing.T) {
	a, b := deviceID("a"), deviceID("b")
	tags := map[fleet.DeviceID][]fleet.Tag{a: {"red"}, b: {"red", "blue"}}
	for name, c := range map[string]struct {
		filter Filter
		want   []string
	}{
		"all":    {Filter{}, []string{"device a", "status a", "status b", "folder b", "rollout"}},
		"a type": {Filter{Types: []Type{TypeStatus}}, []string{"status a", "status b"}},
		"two types": {Filter{Types: []Type{TypeStatus, TypeRollout}},
			[]string{"status a", "status b", "rollout"}},
		"a device": {Filter{Devices: []fleet.DeviceID{a}}, []string{"device a", "status a"}},
		"two devices": {Filter{Devices: []fleet.DeviceID{a, b}},
			[]string{"device a", "status a", "status b", "folder b"}},
		"a tag": {Filter{Tags: []fleet.Tag{"blue"}}, []string{"status b", "folder b"}},
		"a tag of all": {Filter{Tags: []fleet.Tag{"red", "green"}},
			[]string{"device a", "status a", "status b", "folder b"}},
		"type and tag":            {Filter{Types: []Type{TypeStatus}, Tags: []fleet.Tag{"blue"}}, []string{"status b"}},
		"device without that tag": {Filter{Devices: []fleet.DeviceID{a}, Tags: []fleet.Tag{"blue"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := NewHub(Options{Tags: func(id fleet.DeviceID) []fleet.Tag { return tags[id] }})
				live := subscribe(t, h, c.filter, Latest)
				first := h.next
				publish(t, h, TypeDevice, a, "device a")
				publish(t, h, TypeStatus, a, "status a")
				publish(t, h, TypeStatus, b, "status b")
				publish(t, h, TypeFolder, b, "folder b")
				publish(t, h, TypeRollout, "", "rollout")
				var want []string
				for _, text := range c.want {
					want = append(want, fmt.Sprintf("%q", text))
				}
				for _, s := range []*Subscription{live, subscribe(t, h, c.filter, first-1)} {
					if got := data(read(t, s, len(want))); !slices.Equal(got, want) {
						t.Errorf("got %v, want %v", got, want)
					}
					nothing(t, s)
				}
			})
		})
	}
}

func TestAReaderThatComesBackGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(Options{})
		for i := range 10 {
			publish(t, h, TypeStatus, "", i)
		}
		for skip := range 11 {
			s := subscribe(t, h, Filter{}, h.first-1+int64(skip))
			if got := read(t, s, 10-skip); len(got) > 0 && string(got[0].Data) != fmt.Sprint(skip) {
				t.Errorf("after %d events: %v", skip, data(got))
			}
			nothing(t, s)
		}
	})
}

func TestAGapIsToldAndTheStreamGoesOnAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(Options{Events: 10})
		s := subscribe(t, h, Filter{Types: []Type{TypeStatus}}, Latest)
		start := h.next
		for i := range 25 {
			publish(t, h, TypeStatus, "", i)
		}
		got := read(t, s, 11)
		checkMissed(t, got[0], start, start+14)
		if want := "15 16 17 18 19 20 21 22 23 24"; strings.Join(data(got[1:]), " ") != want {
			t.Errorf("got %v", data(got[1:]))
		}
		nothing(t, s)
		back := subscribe(t, h, Filter{}, got[0].ID) // with the ID of the gap
		if got := read(t, back, 10); string(got[0].Data) != "15" {
			t.Errorf("got %v", data(got))
		}
	})
}

func checkMissed(t *testing.T, e *Event, from, to int64) {
	t.Helper()
	var gap Gap
	if err := json.Unmarshal(e.Data, &gap); err != nil || e.Type != TypeMissed || gap != (Gap{from, to}) || e.ID != to {
		t.Errorf("got %s event %d with %s, %v; want missed %d to %d", e.Type, e.ID, e.Data, err, from, to)
	}
}

func TestAnIDFromBeforeARestartOrFromNowhereIsAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := NewHub(Options{})
		publish(t, before, TypeStatus, "", "old")
		last := before.next - 1
		before.Close()
		<-time.After(time.Second)
		h := NewHub(Options{})
		if h.next <= last {
			t.Fatalf("the new hub starts at %d, the old one ended at %d", h.next, last)
		}
		publish(t, h, TypeStatus, "", "new")
		for name, c := range map[string]struct{ after, from int64 }{
			"before the restart": {last, last + 1}, "the very first": {0, 1}, "negative": {-7, 0},
			"the future": {h.next + 5, 0},
		} {
			got := read(t, subscribe(t, h, Filter{}, c.after), 2)
			if checkMissed(t, got[0], c.from, h.first-1); string(got[1].Data) != `"new"` {
				t.Errorf("%s: got %v", name, data(got))
			}
		}
	})
}

// The connection breaks between the first block, which only has an ID, and the first batch.
func TestAReaderThatWasNotToldOfAGapIsToldWhenItComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(Options{})
		publish(t, h, TypeStatus, "", "new")
		for _, after := range []int64{h.next + 1000, 0, -1} {
			s := subscribe(t, h, Filter{}, after)
			id := s.Cursor()
			s.Close()
			got := read(t, subscribe(t, h, Filter{}, id), 2)
			checkMissed(t, got[0], 1, h.first-1)
		}
	})
}

func TestAReaderOfRareEventsMissesNothingInAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(Options{Events: 10})
		s := subscribe(t, h, Filter{Types: []Type{TypePending}}, Latest)
		nothing(t, s)
		for i := range 1000 {
			publish(t, h, TypeStatus, "", i)
		}
		publish(t, h, TypePending, "", "rare")
		if got := read(t, s, 1); string(got[0].Data) != `"rare"` {
			t.Errorf("got %v", data(got))
		}
	})
}

func TestTheRingIsBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(Options{Bytes: 1 << 20})
		slow := subscribe(t, h, Filter{}, Latest)
		large := strings.Repeat("x", 60_000)
		for range 100 {
			publish(t, h, TypeStatus, "", large)
		}
		kept, total := 0, 0
		for _, e := range h.ring {
			if e != nil {
				kept, total = kept+1, total+e.size()
			}
		}
		if total > 1<<20 || total != h.bytes || kept != 17 || int64(kept) != h.next-h.first {
			t.Errorf("%d events with %d bytes are kept, %d counted", kept, total, h.bytes)
		}
		for left := 18; left > 0; { // the gap and what is left, in batches of bounded size
			batch, err := slow.Next(t.Context())
			size := 0
			for _, e := range batch {
				size += e.size()
			}
			if left -= len(batch); err != nil || size > maxBatchBytes {
				t.Fatalf("a batch of %d bytes, %v", size, err)
			}
		}
		nothing(t, slow)
	})
}

func TestWhatCannotBeAnEventIsRefused(t *testing.T) {
	h := NewHub(Options{})
	if err := h.Publish(TypeStatus, "", strings.Repeat("x", maxDataBytes)); err == nil {
		t.Error("too large an event was taken")
	}
	if err := h.Publish(TypeStatus, "", func() {}); err == nil {
		t.Error("a function was taken for an event")
	}
	if h.first != h.next {
		t.Error("a refused event is in the ring")
	}
}

func TestABurstIsOneBatchAndAQuietStreamIsImmediate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(Options{Gather: 20 * time.Millisecond})
		s := subscribe(t, h, Filter{}, Latest)
		start := time.Now()
		publish(t, h, TypeStatus, "", 0)
		read(t, s, 1)
		if waited := time.Since(start); waited != 0 {
			t.Errorf("the first event took %s", waited)
		}
		go func() {
			for i := range 10 {
				publish(t, h, TypeStatus, "", i)
				<-time.After(time.Millisecond)
			}
		}()
		batch, err := s.Next(t.Context())
		if err != nil || len(batch) != 10 || time.Since(start) != 20*time.Millisecond {
			t.Errorf("got %d events after %s, %v; want 10 after 20ms", len(batch), time.Since(start), err)
		}
	})
}

func TestClosingEndsReadersAndRefusesNewOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(Options{Subscribers: 3})
		var ended sync.WaitGroup
		for range 2 {
			s := subscribe(t, h, Filter{}, Latest)
			ended.Go(func() {
				if _, err := s.Next(t.Context()); !errors.Is(err, ErrClosed) {
					t.Errorf("got %v", err)
				}
			})
		}
		third := subscribe(t, h, Filter{}, Latest)
		if _, err := h.Subscribe(Filter{}, Latest); fleet.CodeOf(err) != fleet.CodeTooMany {
			t.Errorf("a fourth reader: %v", err)
		}
		third.Close()
		third.Close()
		if _, err := third.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("after its own close: %v", err)
		}
		subscribe(t, h, Filter{}, Latest)
		synctest.Wait()
		h.Close()
		h.Close()
		ended.Wait()
		if _, err := h.Subscribe(Filter{}, Latest); fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Errorf("a reader after the end: %v", err)
		}
		if err := h.Publish(TypeStatus, "", 1); err != nil || len(h.subscribers) != 0 {
			t.Errorf("publish after the end: %v, %d readers left", err, len(h.subscribers))
		}
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(Options{})
		s := subscribe(t, h, Filter{}, Latest)
		for _, before := range []int{0, 1} { // waiting for an event, and gathering after one
			for range before {
				publish(t, h, TypeStatus, "", 1)
				read(t, s, 1)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestTypesAreParsed(t *testing.T) {
	for _, typ := range Types {
		if got, err := ParseType(string(typ)); err != nil || got != typ {
			t.Errorf("%s: %s, %v", typ, got, err)
		}
	}
	for _, text := range []string{"", "Device", "missed", "all"} {
		if _, err := ParseType(text); fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), "rollout") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Writers, readers of every speed and readers that come and go: every reader sees its events once, in order, or is
// told of the gap.
func TestManyWritersAndReadersLoseNothingUnsaid(t *testing.T) {
	h := NewHub(Options{Events: 500, Gather: time.Millisecond})
	const writers, each = 4, 2500
	var reading, writing sync.WaitGroup
	var seen atomic.Int64
	for i := range 20 {
		s := subscribe(t, h, Filter{}, Latest)
		last := h.next - 1
		reading.Go(func() {
			for round := 0; ; round++ {
				batch, err := s.Next(context.Background())
				if err != nil {
					return
				}
				last = follow(t, batch, last)
				seen.Add(int64(len(batch)))
				if i%2 == 0 && round%7 == 0 { // comes back with the last ID it saw
					s.Close()
					if s, err = h.Subscribe(Filter{}, last); err != nil {
						return
					}
				}
			}
		})
	}
	for range writers {
		writing.Go(func() {
			for n := range each {
				if err := h.Publish(TypeStatus, "", n); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	final := subscribe(t, h, Filter{}, 0)
	for last := int64(0); last != h.next-1; {
		batch, err := final.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		last = follow(t, batch, last)
	}
	h.Close()
	reading.Wait()
	if seen.Load() == 0 {
		t.Error("nobody saw anything")
	}
}

// follow checks that a batch goes on where the reader was, and gives where it is now.
func follow(t *testing.T, batch []*Event, last int64) int64 {
	t.Helper()
	for _, e := range batch {
		if e.Type == TypeMissed {
			var gap Gap
			if err := json.Unmarshal(e.Data, &gap); err != nil || gap.From != last+1 || gap.To < gap.From {
				t.Errorf("after %d: gap %+v, %v", last, gap, err)
			}
		} else if e.ID != last+1 {
			t.Errorf("after %d comes %d", last, e.ID)
		}
		last = e.ID
	}
	return last
}

// BenchmarkFanOut publishes 10,000 events a second to 100 readers, each of which gets every event, and says what that
// costs. One operation is one event.
func BenchmarkFanOut(b *testing.B) {
	const readers, aSecond = 100, 10_000
	h := NewHub(Options{})
	var reading sync.WaitGroup
	var missed, got, slowest atomic.Int64
	for range readers {
		s, err := h.Subscribe(Filter{}, Latest)
		if err != nil {
			b.Fatal(err)
		}
		left := b.N
		reading.Go(func() {
			for left > 0 {
				batch, err := s.Next(context.Background())
				if err != nil {
					b.Error(err)
					return
				}
				if batch[0].Type == TypeMissed {
					missed.Add(1)
					return
				}
				left -= len(batch)
				got.Add(int64(len(batch)))
				slowest.Store(max(slowest.Load(), int64(time.Since(batch[0].Time))))
			}
		})
	}
	status := map[string]any{"device": deviceID("x"), "state": "online", "since": "2026-11-20T12:00:00Z"}
	device := deviceID("x")
	used := cpuTime(b)
	b.ResetTimer()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	start := time.Now()
	for n := 0; n < b.N; <-tick.C {
		for due := min(b.N, int(time.Since(start).Seconds()*aSecond)+1); n < due; n++ {
			if err := h.Publish(TypeDevice, device, status); err != nil {
				b.Fatal(err)
			}
		}
	}
	reading.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric((cpuTime(b)-used).Seconds()/b.Elapsed().Seconds(), "cores")
	b.ReportMetric(float64(got.Load())/float64(b.N), "deliveries/event")
	b.ReportMetric(float64(missed.Load()), "missed")
	b.ReportMetric(float64(slowest.Load())/1e6, "slowest-ms")
}

// cpuTime is what this process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

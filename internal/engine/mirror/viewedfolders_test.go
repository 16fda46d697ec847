package mirror

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// callsLike counts the calls that begin so.
func callsLike(calls []string, prefix string) (n int) {
	for _, call := range calls {
		if strings.HasPrefix(call, prefix) {
			n++
		}
	}
	return n
}

func TestFiguresAreYoungWhileSomebodyLooks(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a", "b")
		d := w.put(1, f)
		pass(5 * time.Second)
		f.take()
		w.m.View(d, "a", "no such folder")
		for range 200 {
			pass(100 * time.Millisecond)
			if age := time.Since(w.snapshot(d).Summaries["a"].UpdatedAt); age > 3*time.Second {
				t.Fatalf("figures are %s old", age)
			}
			w.m.View(d, "a")
		}
		calls := f.take()
		if n := callsLike(calls, "summary a"); n < 7 || n > 20 {
			t.Errorf("the folder was read %d times in 20 s", n)
		}
		if n := callsLike(calls, "summary b"); n > 0 {
			t.Errorf("a folder at which nobody looks was read %d times", n)
		}
		if f.overlapped() {
			t.Error("two requests ran at a time")
		}
		pass(viewedFor + 3*time.Second)
		f.take()
		pass(10 * statusEvery)
		if calls := f.take(); callsLike(calls, "summary") > 0 || callsLike(calls, "events") > 30 {
			t.Errorf("nobody looks any more, and it was asked %q", calls)
		}
	})
}

func TestLooksAreForgottenWithoutAPoll(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		f.take()
		for range 100 {
			w.m.View(d, "of no such name")
			pass(100 * time.Millisecond)
		}
		if n := callsLike(f.take(), "events"); n > 30 {
			t.Errorf("looks at a folder that there is not made %d polls in 10 s", n)
		}
		w.m.View(id(9), "a") // no such device
		many := make([]string, 1000)
		for i := range many {
			many[i] = fmt.Sprint("folder ", i)
		}
		w.m.View(d, many...)
		if n := len(w.m.watcher(d).viewedUntil); n > maxViewed {
			t.Errorf("%d viewed folders are kept", n)
		}
	})
}

func TestLookingIsBounded(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		const devices = 40
		var folders []string
		for i := range 50 {
			folders = append(folders, fmt.Sprint("folder ", i))
		}
		for n := range devices {
			w.put(n, newFake(n, folders...))
		}
		pass(time.Minute)
		for n := range devices {
			w.daemons[id(n)].take()
		}
		const seconds = 60
		for range seconds {
			for n := range devices {
				w.m.View(id(n), folders...)
			}
			pass(time.Second)
		}
		read := 0
		for n := range devices {
			read += callsLike(w.daemons[id(n)].take(), "summary")
		}
		if most := viewedPerSecond * (seconds + 2); read > most {
			t.Errorf("%d readings, at most %d may be", read, most)
		}
	})
}

func TestFailedItemsAreReadWhereTheyAreNotKnown(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a", "b", "c")
		f.summaries = map[string]fleet.FolderSummary{"a": {State: "idle", Failed: 150}, "b": {State: "idle", Failed: 1},
			"c": {State: "", Failed: 1}}
		f.items = map[string][]fleet.FailedItem{"a": failed(100)}
		d := w.put(1, f)
		const call = "failed items of a, page 1 of 100"
		if s := w.snapshot(d); len(s.FailedItems["a"]) != 100 || s.FailedItems["b"] != nil {
			t.Fatalf("items %v", s.FailedItems)
		}
		pass(10 * time.Minute)
		calls := f.take()
		if n := callsLike(calls, call); n != 1 {
			t.Errorf("known items were read %d times", n)
		}
		if n := callsLike(calls, "failed items of b"); n < 2 || n > 12 {
			t.Errorf("items that are not told were asked for %d times in 10 minutes", n)
		}
		if n := callsLike(calls, "failed items of c"); n > 0 {
			t.Errorf("those of a paused folder were asked for %d times", n)
		}
		f.set("failed items of a, page 1 of 100", errors.New("the agent does not pass this on"))
		for range 30 {
			w.m.View(d, "a")
			pass(time.Second)
		}
		if n := callsLike(f.take(), call); n < 2 || n > 4 {
			t.Errorf("while somebody looks they were read %d times in 30 s", n)
		}
		if s := w.wantConnection(d, fleet.Online); !slices.Equal(s.FailedItems["a"], failed(100)) {
			t.Error("items are forgotten because they were not told again")
		}
	})
}

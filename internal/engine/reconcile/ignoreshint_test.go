package reconcile_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// hintPause is the shortest time between two readings because a folder changed its state.
const hintPause = 5 * time.Second

// Patterns that a person took away at the daemon stayed unseen until they were read in turn, although the folder had
// been scanned because of it.
func TestAFolderThatChangesItsStateHasItsPatternsRead(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, photos, tmpl(3, fleet.OpSet, "ignores.photos", `["*.tmp"]`))
		changed, scanned := map[string]time.Time{}, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) // by a clock that is slow
		b.daemon.known.FolderChanged = func(folder string) time.Time { return changed[folder] }
		b.start()
		defer func() { b.stop() }()
		patterns := func() string {
			b.daemon.mu.Lock()
			defer b.daemon.mu.Unlock()
			return fmt.Sprint(b.daemon.ignores["photos"])
		}
		if patterns() != "[*.tmp]" {
			t.Fatalf("got %s", patterns())
		}
		<-time.After(10 * time.Second)
		b.daemon.mu.Lock()
		b.daemon.ignores["photos"] = nil
		b.daemon.mu.Unlock()
		b.engine.FoldersSeen(b.id)
		synctest.Wait()
		if patterns() != "[]" {
			t.Error("they are read although no folder changed its state")
		}
		changed["photos"] = scanned
		b.engine.FoldersSeen(b.id)
		<-time.After(hintPause)
		synctest.Wait()
		if patterns() != "[*.tmp]" {
			t.Errorf("after the folder was scanned got %s", patterns())
		}
	})
}

// A folder that changes its state all the time has its patterns read once in a while.
func TestABusyFolderHasItsPatternsReadNotWithEachEvent(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, photos, tmpl(3, fleet.OpSet, "ignores.photos", `["*.tmp"]`))
		scanned := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
		b.daemon.known.FolderChanged = func(string) time.Time { return scanned }
		b.start()
		defer func() { b.stop() }()
		<-time.After(10 * time.Second)
		reads := func() int {
			b.daemon.mu.Lock()
			defer b.daemon.mu.Unlock()
			return b.daemon.ignoresRead
		}
		before, began := reads(), time.Now()
		for range 300 {
			scanned = scanned.Add(time.Second)
			b.engine.FoldersSeen(b.id)
			<-time.After(100 * time.Millisecond)
			synctest.Wait()
		}
		most := int(time.Since(began)/hintPause) + 1
		if got := reads() - before; got < 2 || got > most {
			t.Errorf("they were read %d times, want 2 to %d", got, most)
		}
	})
}

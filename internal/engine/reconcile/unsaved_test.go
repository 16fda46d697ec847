package reconcile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// notSaved is how a daemon answers whose disk is full; the number is in the name of a temporary file.
func notSaved(number int) error {
	return &fleet.Error{Code: fleet.CodeUnavailable, Err: fleet.ErrNotSaved,
		Message: fmt.Sprintf("the daemon could not answer (500): write .syncthing.tmp.%d: no space left on device", number)}
}

// fullDisk has every write take effect and be answered with 500, until the returned function is called.
func (b *bench) fullDisk() (freed func()) {
	writes := 0
	b.daemon.before = func(d *daemon, call string) error {
		writes++
		if strings.Contains(call, "maxSendKbps") {
			d.editLocked("options.maxSendKbps", "500")
		}
		return notSaved(writes)
	}
	return func() {
		b.daemon.mu.Lock()
		defer b.daemon.mu.Unlock()
		b.daemon.before = nil
	}
}

var slower = tmpl(2, fleet.OpSet, "options.maxSendKbps", "500")

// The write that has a daemon save what it has had no intent and no fresh read before it, and nothing read it back.
func TestSavingAgainIsRecordedAsEveryWrite(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, slower)
		b.fullDisk()
		b.start()
		defer b.stop()
		b.want("options.maxSendKbps", "500")
		b.wantState(fleet.ConfigPending, "no space left")
		reads, saves := 0, 0
		b.daemon.mu.Lock()
		before := b.daemon.reads
		b.daemon.before = func(d *daemon, call string) error {
			saves++
			open, err := d.store.OpenIntents(t.Context())
			if err != nil || len(open) != 1 {
				t.Errorf("%d intents are open during %s, %v", len(open), call, err)
			}
			reads = d.reads - before
			d.editLocked("options.maxRecvKbps", "77") // as a person does at the same time
			return nil
		}
		b.daemon.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		b.wantState(fleet.ConfigInSync, "")
		b.want("options.maxRecvKbps", "77")
		if saves != 1 || reads == 0 {
			t.Errorf("%d writes that save, %d fresh reads before", saves, reads)
		}
		b.daemon.mu.Lock()
		defer b.daemon.mu.Unlock()
		if b.daemon.reads-before < 2 {
			t.Error("it was not read back")
		}
		if got := outcomesOf(b.store.outcomes()); got != "[partial applied]" {
			t.Errorf("outcomes are %s", got)
		}
	})
}

// The number of equal answers began anew with each process, and one of a real daemon never equalled another: the name
// of a temporary file is in it.
func TestEqualAnswersAreCountedInAllProcesses(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, slower)
		b.fullDisk()
		for process := range 4 { // of two or three writes each
			b.start()
			time.Sleep(1500 * time.Millisecond)
			synctest.Wait()
			if process == 0 {
				b.wantState(fleet.ConfigPending, "no space left")
			}
			b.stop()
		}
		b.wantState(fleet.ConfigFailed, "cannot save its configuration")
	})
}

// A daemon that cannot save ignore patterns was pending for good.
func TestIgnorePatternsThatAreNotSavedCount(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "ignores.photos-x4kd", `["*.tmp"]`))
		freed := b.fullDisk()
		b.start()
		defer b.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		b.wantState(fleet.ConfigFailed, "no space left")
		freed()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		b.wantState(fleet.ConfigInSync, "")
	})
}

// The time in which a device could not be reached was known to one process only, and a pass during it ended the
// consent.
func TestAConsentLastsADayInWhichTheDeviceIsReached(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		b.step = func(string) {
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			b.store.fail = func(string) error { return errors.New("killed") }
		}
		closed := len(b.store.closed)
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("folders.made")); err == nil {
			t.Fatal("it was not killed")
		}
		b.stop()
		b.step, b.store.fail, b.store.closed = nil, nil, b.store.closed[:closed]
		b.daemon.online = false
		for range 3 { // processes
			b.start()
			time.Sleep(20 * time.Hour)
			b.engine.ConfigObserved(b.id)
			synctest.Wait()
			b.stop()
		}
		b.daemon.online = true
		b.start()
		b.want("folders.made", "absent")
		b.wantState(fleet.ConfigUnmanaged, "")
	})
}

// Where the answer is lost, or Muster crashes before the stop is durable, nothing says that the daemon did not save. It
// comes back with what it had saved, a value that Muster wrote earlier: that is no person's, and is corrected.
func TestWhatADaemonDidNotSaveWithoutSayingSoIsWrittenAgain(t *testing.T) {
	for name, killed := range map[string]bool{"the answer is lost": false, "a crash after the answer": true} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				const key = "options.maxSendKbps"
				b := newBench(t, tmpl(2, fleet.OpSet, key, "400"))
				b.daemon.edit(key, "12")
				if _, err := b.daemon.Config(t.Context(), b.id); err != nil {
					t.Fatal(err)
				}
				b.start()
				defer func() { b.stop() }()
				b.want(key, "400")
				b.daemon.mu.Lock()
				b.daemon.before = func(d *daemon, _ string) error {
					d.before = nil
					d.editLocked(key, "500") // in memory only
					if !killed {
						return unreachable()
					}
					b.store.mu.Lock()
					defer b.store.mu.Unlock()
					b.store.fail = func(string) error { return errors.New("killed") }
					return notSaved(1)
				}
				b.daemon.mu.Unlock()
				b.changed(slower)
				if killed {
					b.stop()
					b.store.fail = nil
					b.start()
				}
				b.want(key, "500")
				if len(b.store.stops[b.id]) > 0 {
					t.Fatalf("a stop was kept: %+v", b.store.stops[b.id])
				}
				b.daemon.edit(key, "400") // its next start
				b.seen()
				time.Sleep(time.Minute)
				synctest.Wait()
				b.want(key, "500")
				b.wantState(fleet.ConfigInSync, "")
				b.changed()
				b.want(key, "12")
				b.wantState(fleet.ConfigUnmanaged, "")
			})
		})
	}
}

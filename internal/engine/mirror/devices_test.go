package mirror

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

func TestAPutTakesEffectAtOnce(t *testing.T) {
	change := map[string]func(*fleet.Registered){
		"address":    func(d *fleet.Registered) { d.APIAddress = "elsewhere.example" },
		"port":       func(d *fleet.Registered) { d.APIPort = 9000 },
		"API key":    func(d *fleet.Registered) { d.APIKey = fleet.NewSecret("another") },
		"allowPlain": func(d *fleet.Registered) { d.Settings.AllowPlain = true },
		"pin":        func(d *fleet.Registered) { d.Settings.Pin = "sha256:bb" },
	}
	for name, edit := range change {
		t.Run(name+" while in a long pause", func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				f := newFake(1)
				f.fail["status"] = errCut
				d := w.put(1, f)
				pass(10 * time.Minute)
				f.take()
				f.set("status", nil)
				edited, now := device(1), time.Now()
				edit(&edited)
				w.m.Put(edited, false)
				synctest.Wait()
				if s := w.wantConnection(d, fleet.Online); !s.Since.Equal(now) {
					t.Fatalf("online %s later", s.Since.Sub(now))
				}
			})
		})
		t.Run(name+" while followed", func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				f := newFake(1, "a")
				d := w.put(1, f)
				pass(time.Minute)
				f.take()
				f.mu.Lock()
				f.hang["status"] = true
				f.mu.Unlock()
				edited := device(1)
				edited.Settings.Pin = "sha256:aa" // the store has it by now
				edit(&edited)
				w.m.Put(edited, false)
				s := w.wantConnection(d, fleet.Unreachable)
				if s.Status == nil || len(s.Summaries) != 1 {
					t.Fatal("what was known is forgotten")
				}
				synctest.Wait()
				wantCalls(t, f.take(), "status")
				if f.overlapped() || f.closes() != 1 {
					t.Fatalf("the old watcher still asks beside the new one, or was not closed: %d", f.closes())
				}
				target := w.dialled()[len(w.dialled())-1]
				if name != "pin" && target.Pin != "sha256:aa" {
					t.Fatalf("the pin that was learnt is lost: %q", target.Pin)
				}
				if name == "pin" && target.Pin != "sha256:bb" {
					t.Fatalf("the pin that a person set is not used: %q", target.Pin)
				}
			})
		})
	}
}

func TestAPutThatChangesNothingForTheConnectionChangesNothing(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		w.put(1, f)
		f.take()
		same := device(1)
		same.Label, same.Tags, same.UpdatedAt = "another", []fleet.Tag{"x"}, time.Now()
		w.m.Put(same, false)
		same.Settings.Pin = "sha256:aa" // what the watcher itself learnt comes back from the store
		w.m.Put(same, false)
		w.m.Put(same, false)
		synctest.Wait()
		if got := f.take(); len(got) > 0 || f.closes() > 0 {
			t.Fatalf("contacted anew: %v", got)
		}
		same.Settings.Pin = "" // a person forgets the pin: what answers now is to be trusted anew
		w.m.Put(same, false)
		synctest.Wait()
		if len(w.dialled()) != 2 || w.dialled()[1].Pin != "" {
			t.Fatalf("dialled %+v", w.dialled())
		}
	})
}

func TestAPinThatWasKeptIsForgottenWhenTheRegistryHasItNoMore(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		d := w.put(1, newFake(1))
		pass(time.Second)
		w.m.Put(device(1), false)
		synctest.Wait()
		if all := w.dialled(); len(all) != 2 || all[1].Pin != "" {
			t.Fatalf("dialled %+v", all)
		}
		w.wantConnection(d, fleet.Online)
		pass(time.Second)
		if last := w.observations()[len(w.observations())-1]; last.Proven == nil || last.Proven.Fingerprint != "sha256:aa" {
			t.Fatalf("what was proven then is not kept: %+v", last)
		}
	})
}

func TestAPinThatIsNotKeptYetSurvivesAPut(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.set(func() { w.sinkErr = errors.New("the disk is full") })
		w.put(1, newFake(1))
		pass(time.Minute)
		w.m.Put(device(1), false)
		synctest.Wait()
		if got := len(w.dialled()); got != 1 {
			t.Fatalf("contacted anew, %d times in all", got)
		}
		moved := device(1)
		moved.APIAddress = "elsewhere.example"
		w.m.Put(moved, false)
		synctest.Wait()
		if got := w.dialled()[1]; got.Pin != "sha256:aa" {
			t.Fatalf("what was learnt is lost: %+v", got)
		}
		w.set(func() { w.sinkErr = nil })
		pass(time.Minute)
		w.m.Put(moved, false) // the registry had it, and has it no more
		synctest.Wait()
		if all := w.dialled(); len(all) != 3 || all[2].Pin != "" {
			t.Fatalf("dialled %+v", all)
		}
	})
}

func TestManyPutsInARowEndWithTheLast(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		for port := 1000; port < 1050; port++ {
			edited := device(1)
			edited.APIPort = port
			w.m.Put(edited, false)
		}
		synctest.Wait()
		if s := w.wantConnection(d, fleet.Online); s.Address != "daemon.example:1049" || f.overlapped() {
			t.Fatalf("at %s", s.Address)
		}
	})
}

func TestRemoveEndsEverythingAtOnce(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		w.m.Remove(d)
		synctest.Wait()
		if w.m.Snapshot(d) != nil || len(w.m.Snapshots()) != 0 || f.closes() == 0 {
			t.Fatal("the device is still there")
		}
		f.mu.Lock()
		running := f.running
		f.mu.Unlock()
		if running != 0 {
			t.Fatal("its poll still hangs")
		}
		kept := len(w.observations())
		f.take()
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
		pass(5 * time.Minute)
		if len(w.observations()) != kept || len(f.take()) > 0 {
			t.Fatal("something about it is still kept or asked")
		}
		if _, err := w.m.Daemon(d); fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Fatalf("got %v", err)
		}
		if _, err := w.m.ReadNow(t.Context(), d); fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Fatalf("got %v", err)
		}
		w.m.Remove(d)
		w.m.Retry(d)
		w.put(1, f)
		if s := w.wantConnection(d, fleet.Online); s.Device != d {
			t.Fatal("it cannot come back")
		}
	})
}

func TestPausedDevicesAreNotWatched(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		f.take()
		w.m.Put(device(1), true)
		pass(10 * time.Minute)
		s := w.wantConnection(d, fleet.Unreachable)
		if s.Reason != "the device is not watched (mode paused)" || s.Status == nil || len(f.take()) > 0 {
			t.Fatalf("%+v", s)
		}
		w.m.Put(device(1), false)
		synctest.Wait()
		w.wantConnection(d, fleet.Online)
	})
}

func TestLastKnownValuesAreThereBeforeFirstContact(t *testing.T) {
	d := id(1)
	seen := time.Date(2026, 11, 1, 2, 3, 4, 0, time.UTC)
	f := newFake(1, "a")
	reading, err := readFake(d, f.document())
	if err != nil {
		t.Fatal(err)
	}
	seed := map[fleet.DeviceID]Snapshot{d: {Status: &fleet.Status{MyID: d, CreatedAt: seen}, Digest: reading.Digest,
		LastSeen:  seen,
		Summaries: map[string]fleet.FolderSummary{"a": {Folder: "a", GlobalBytes: 11, CreatedAt: seen}}}}
	inWorld(t, seed, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		f.hang["status"] = true
		w.put(1, f)
		s := w.wantConnection(d, fleet.Unreachable)
		if s.Device != d || s.Status == nil || s.Summaries["a"].GlobalBytes != 11 || !s.LastSeen.Equal(seen) {
			t.Fatalf("%+v", s)
		}
		f.mu.Lock()
		f.hang["status"] = false
		f.mu.Unlock()
		f.breakConnection()
		pass(3 * time.Second)
		s = w.wantConnection(d, fleet.Online)
		if len(w.announced()) != 0 {
			t.Fatal("a configuration that the store has was announced as new")
		}
		if !s.Status.CreatedAt.Equal(seen) || !s.Summaries["a"].CreatedAt.Equal(seen) || s.Summaries["a"].GlobalBytes != 0 {
			t.Fatalf("%+v", s)
		}
		w.put(2, newFake(2))
		if s := w.snapshot(id(2)); s.Device != id(2) {
			t.Fatalf("%+v", s)
		}
	})
}

func TestADeviceNeverSeenSaysSo(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		f.hang["status"] = true
		w.wantConnection(w.put(1, f), fleet.NeverSeen)
	})
}

func TestDevicesPutBeforeTheStartAreWatchedFromThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		m := New(Options{Dial: func(Target) Daemon { return f }, Sink: &world{}, Read: readFake})
		m.Put(device(1), false)
		edited := device(1)
		edited.APIPort = 1
		m.Put(edited, false)
		m.Put(device(2), false)
		m.Remove(id(2))
		synctest.Wait()
		if len(f.take()) != 0 {
			t.Fatal("a watcher runs before Run")
		}
		w := &world{t: t, m: m, done: make(chan error, 1)}
		ctx, cancel := contextOf(t)
		w.cancel = cancel
		go func() { w.done <- m.Run(ctx) }()
		synctest.Wait()
		if s := w.wantConnection(id(1), fleet.Online); s.Address != "daemon.example:1" {
			t.Fatalf("%+v", s)
		}
		w.stop()
		m.Put(device(3), false)
		synctest.Wait()
		if s := m.Snapshot(id(3)); s == nil || s.Connection != fleet.NeverSeen {
			t.Fatal("a watcher started after the end")
		}
	})
}

func TestSnapshotsAreInTheOrderOfTheirIDs(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		for n := range 20 {
			w.put(n, newFake(n))
		}
		all := w.m.Snapshots()
		if len(all) != 20 || !slices.IsSortedFunc(all, func(a, b *Snapshot) int { return compare(a.Device, b.Device) }) {
			t.Fatalf("%d snapshots", len(all))
		}
	})
}

func TestTheConfigurationAskedForLaterCounts(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		pass(time.Second)
		slow := &slowConfig{fake: f, read: make(chan struct{}), answer: make(chan struct{})}
		watch := w.m.watcher(d)
		done := make(chan error, 1)
		go func() {
			_, _, err := watch.readConfig(t.Context(), slow, true)
			done <- err
		}()
		<-slow.read // the slow reading has what was there before the change
		pass(time.Millisecond)
		f.change(fakeFolder{ID: "a", Note: "changed"})
		fresh, err := w.m.ReadNow(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		close(slow.answer)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if got := w.snapshot(d).Digest; got != fresh.Digest || len(w.announced()) != 1 {
			t.Fatalf("an older reading replaced a newer one; announced %q", w.announced())
		}
	})
}

func TestErrorsOfNoKindAreTold(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		f.fail["version"] = errors.New("secret internals")
		s := w.wantConnection(w.put(1, f), fleet.Unreachable)
		if s.Reason != "the daemon could not be followed" {
			t.Fatalf("%q", s.Reason)
		}
	})
}

// A device may be put anew at any moment, also between a reading and its being kept.
func TestAConfigurationThatIsReadWhileTheDeviceIsPutIsKept(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		var once sync.Once
		armed := false
		w.m.o.Changed = func(_ *Snapshot, a Aspect) {
			if armed && a&ConfigChanged != 0 {
				once.Do(func() {
					w.m.Put(device(1), true)
					w.m.Put(device(1), false)
				})
			}
		}
		d := w.put(1, f)
		pass(time.Minute)
		armed = true
		f.change(fakeFolder{ID: "a"}, fakeFolder{ID: "b"})
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
		pass(time.Minute)
		s := w.snapshot(d)
		kept := slices.ContainsFunc(w.observations(), func(o fleet.Observation) bool {
			return o.Config != nil &&
				o.Config.Digest == s.Digest
		})
		if !kept || s.Unstored || s.Connection != fleet.Online || len(s.Folders) != 2 {
			t.Fatalf("kept: %t, %+v", kept, s)
		}
	})
}

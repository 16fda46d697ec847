package mirror

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

const poll = "events since 0 limit 250 wait 50s"

// firstContact is what a daemon with these folders is asked when it is reached.
func firstContact(folders ...string) []string {
	calls := []string{"status", "events since 0 limit 1 wait 0s", "version", "config", "connections"}
	for _, folder := range folders {
		calls = append(calls, "summary "+folder)
	}
	return append(calls, "pending", poll)
}

func TestFirstContactReadsEverythingOnceAfterTheEventsWereAskedFor(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a", "b")
		f.folders[1].Size = 7
		d := w.put(1, f)
		wantCalls(t, f.take(), firstContact("a", "b")...)
		s := w.wantConnection(d, fleet.Online)
		if s.Status == nil || s.Status.StartTime != "first" || s.Version == nil || s.Version.Device != d || s.Digest == "" ||
			len(s.Summaries) != 2 || s.Summaries["b"].GlobalBytes != 7 || s.Summaries["b"].Device != d ||
			s.Address != "daemon.example:8384" || s.FoundBy != "record" || s.LastSeen.IsZero() || !s.NextTry.IsZero() {
			t.Fatalf("snapshot %+v", s)
		}
		if !slices.Equal(s.Folders, []fleet.FolderLabel{{Folder: "a", Label: "Label of a"},
			{Folder: "b", Label: "Label of b"}}) {
			t.Fatalf("folders %v", s.Folders)
		}
		pass(time.Second)
		var kept fleet.Observation
		for _, o := range w.observations() {
			kept = merge(fleet.Observation{Device: kept.Device, Status: kept.Status, Version: kept.Version,
				Summaries: kept.Summaries, Proven: kept.Proven}, o)
		}
		if kept.Status == nil || kept.Version == nil || len(kept.Summaries) != 2 || kept.Proven == nil ||
			kept.Proven.Fingerprint != "sha256:aa" {
			t.Fatalf("kept %+v", w.observations())
		}
		if len(w.announced()) != 1 || w.keptBefore()[0] == 0 {
			t.Fatalf("a configuration was announced %d times, before it was kept: %v", len(w.announced()), w.keptBefore())
		}
		if got := w.changed(d); got != ConnectionChanged|StatusChanged|FoldersChanged|ConfigChanged {
			t.Fatalf("changed %b", got)
		}
	})
}

func TestAnEventBetweenPrimingAndReadingIsNotLost(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		gate := make(chan struct{})
		f.gate["config"] = gate
		d := w.put(1, f)
		f.emit(fleet.DaemonEvent{Type: "FolderSummary", Folder: "a", Summary: &fleet.FolderSummary{GlobalBytes: 99}})
		close(gate)
		synctest.Wait()
		if got := w.wantConnection(d, fleet.Online).Summaries["a"].GlobalBytes; got != 99 {
			t.Fatalf("%d bytes, want the event's 99", got)
		}
	})
}

// A plan after a restart must judge paths as before: what the daemon says of its machine is kept.
func TestWhereADaemonHasItsOwnFilesIsKept(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		f.directories = []string{"/var/lib/st"}
		d := w.put(1, f)
		if got := w.snapshot(d).Version.Directories; !slices.Equal(got, f.directories) {
			t.Errorf("the snapshot has %q", got)
		}
		pass(time.Minute)
		kept := slices.ContainsFunc(w.observations(), func(o fleet.Observation) bool {
			return o.Version != nil && slices.Equal(o.Version.Directories, f.directories)
		})
		if !kept {
			t.Error("no observation has them")
		}
	})
}

// A daemon before 2.0 names its home for a short time after its start. One that runs longer than Muster was forgotten.
func TestWhatADaemonNamedAtAnEarlierStartIsForgotten(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		f.directories, f.home = nil, "/home/sample/st"
		d := w.put(1, f)
		want := func(asked int, home string) {
			t.Helper()
			pass(5 * time.Minute)
			if got := w.wantConnection(d, fleet.Online).Version.Directories; !slices.Equal(got, []string{home}) {
				t.Errorf("got %q, want %s", got, home)
			}
			if got := len(f.times("home")); got != asked {
				t.Errorf("it was asked %d times, want %d", got, asked)
			}
			if got := last(w.observations()).Directories; !slices.Equal(got, []string{home}) {
				t.Errorf("%q is kept", got)
			}
		}
		want(1, "/home/sample/st")
		f.breakConnection()
		want(1, "/home/sample/st") // the same start: it is not asked again
		f.says("")
		f.restart("second")
		f.breakConnection()
		want(2, "/home/sample/st") // too late
		f.says("/home/sample/elsewhere")
		f.restart("third")
		f.breakConnection()
		want(3, "/home/sample/elsewhere")
		f.set("home", errCut)
		f.restart("fourth")
		f.breakConnection()
		want(4, "/home/sample/elsewhere") // it is followed all the same
		f.set("home", nil)
		f.breakConnection()
		want(5, "/home/sample/elsewhere")
	})
}

// last is the version that was kept last.
func last(observations []fleet.Observation) (version fleet.Version) {
	for _, o := range observations {
		if o.Version != nil {
			version = *o.Version
		}
	}
	return version
}

func TestAtRestPollsAndStatusTakeTurns(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		f.take()
		before := w.snapshot(d).LastSeen
		const minutes = 10
		pass(minutes*time.Minute + time.Second)
		calls := f.take()
		count := map[string]int{}
		for _, c := range calls {
			count[c]++
		}
		if count["status"] != minutes || count[poll] != minutes || count["events since 0 limit 250 wait 10s"] != minutes ||
			count["conflicts since 0"] != 1 || len(calls) != 3*minutes+1 {
			t.Fatalf("in %d quiet minutes the daemon was asked %v", minutes, count)
		}
		if f.overlapped() {
			t.Fatal("two requests ran at the same time")
		}
		if seen := w.snapshot(d).LastSeen; seen.Sub(before) < (minutes-1)*time.Minute {
			t.Fatalf("last seen moved by %s", seen.Sub(before))
		}
		if w.snapshot(d).Status.UpdatedAt.Equal(w.snapshot(d).Status.CreatedAt) {
			t.Fatal("the status was not renewed")
		}
	})
}

func TestConfigSavedTwiceIsOneConfiguration(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		pass(time.Second)
		first := w.snapshot(d).Digest
		f.take()
		f.change(fakeFolder{ID: "a", Label: "new"})
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
		pass(time.Second)
		wantCalls(t, f.take(), "config", "events since 1 limit 250 wait 50s")
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
		pass(5 * time.Second)
		if len(w.announced()) != 2 || !strings.Contains(w.announced()[1], `"new"`) {
			t.Fatalf("announced %q, want the first and the changed one", w.announced())
		}
		s := w.snapshot(d)
		if s.Digest == first || s.Folders[0].Label != "new" || s.Summaries["a"].Device != d {
			t.Fatalf("snapshot %+v", s)
		}
		configs := 0
		for _, o := range w.observations() {
			if o.Config != nil {
				configs++
			}
		}
		if configs != 2 {
			t.Fatalf("%d configurations were kept, want 2", configs)
		}
	})
}

func TestANewFolderIsReadAndARemovedOneForgotten(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a", "b")
		d := w.put(1, f)
		f.take()
		f.change(fakeFolder{ID: "b", Label: "Label of b"}, fakeFolder{ID: "c"})
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"}, fleet.DaemonEvent{Type: "StateChanged", Folder: "c",
			State: "scanning"})
		pass(gatherTime)
		wantCalls(t, f.take(), "config", "summary c", "events since 2 limit 250 wait 50s")
		s := w.snapshot(d)
		if _, there := s.Summaries["a"]; there || len(s.Summaries) != 2 {
			t.Fatalf("summaries %v", s.Summaries)
		}
		f.change(fakeFolder{ID: "b", Label: "Label of b", Paused: true}, fakeFolder{ID: "c"})
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
		pass(gatherTime)
		wantCalls(t, f.take(), "config", "summary b", "events since 3 limit 250 wait 50s")
	})
}

func TestFoldersThatComeAndGoLeaveNothing(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		for n := range 50 {
			f.change(fakeFolder{ID: fmt.Sprint(n)})
			f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
			pass(5 * time.Second)
		}
		if s := w.snapshot(d); len(s.Folders) != 1 || len(s.Summaries) != 1 {
			t.Fatalf("%d folders, %d summaries", len(s.Folders), len(s.Summaries))
		}
		if got := w.m.watcher(d).summarised; len(got) != 1 {
			t.Fatalf("%d folders are remembered", len(got))
		}
		for n := range 50 {
			f.change(fakeFolder{ID: fmt.Sprint("broken ", n)})
			f.set(fmt.Sprint("summary broken ", n), errors.New("nonsense"))
			f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
			pass(time.Minute)
		}
		if got := w.m.watcher(d).summarised; len(got) > 1 {
			t.Fatalf("%d folders that could not be read are remembered", len(got))
		}
	})
}

func TestAFolderPausedByUsIsReadTooAlthoughWeReadTheConfigurationFirst(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		pass(time.Second)
		f.take()
		f.change(fakeFolder{ID: "a", Label: "Label of a", Paused: true})
		config, err := w.m.ReadNow(t.Context(), d)
		if err != nil || config.Digest != w.snapshot(d).Digest {
			t.Fatalf("read %+v, %v", config, err)
		}
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
		pass(time.Second)
		wantCalls(t, f.take(), "config", "config", "summary a", "events since 1 limit 250 wait 50s")
		if len(w.announced()) != 1 {
			t.Fatalf("what the caller read itself was announced: %q", w.announced())
		}
		if taken := look(w, func() []string { return slices.Clone(w.taken) }); len(taken) != 2 || taken[1] != config.Digest {
			t.Fatalf("told that these were kept: %q", taken)
		}
		if last := w.observations()[len(w.observations())-1]; last.Device != d {
			t.Fatalf("kept %+v", last)
		}
		kept := slices.ContainsFunc(w.observations(), func(o fleet.Observation) bool {
			return o.Config != nil &&
				o.Config.Digest == config.Digest
		})
		if !kept {
			t.Fatal("what the caller read was not kept")
		}
	})
}

func TestEventsOfFoldersAreUsedInsteadOfAsking(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a", "b")
		d := w.put(1, f)
		f.take()
		created := w.snapshot(d).Summaries["a"].CreatedAt
		pass(3 * time.Second)
		step := func(e fleet.DaemonEvent) fleet.FolderSummary {
			f.emit(e)
			pass(gatherTime)
			return w.snapshot(d).Summaries["a"]
		}
		s := step(fleet.DaemonEvent{Type: "FolderSummary", Folder: "a",
			Summary: &fleet.FolderSummary{GlobalBytes: 42, State: "syncing"}})
		if s.GlobalBytes != 42 || s.State != "syncing" || s.Device != d || s.Folder != "a" || !s.CreatedAt.Equal(created) ||
			!s.UpdatedAt.After(created) {
			t.Fatalf("after a summary: %+v", s)
		}
		s = step(fleet.DaemonEvent{Type: "StateChanged", Folder: "a", State: "error", Error: "folder path missing"})
		if s.State != "error" || s.Error != "folder path missing" || s.GlobalBytes != 42 {
			t.Fatalf("after an error: %+v", s)
		}
		s = step(fleet.DaemonEvent{Type: "StateChanged", Folder: "a", State: "scanning"})
		if s.State != "scanning" || s.Error != "" {
			t.Fatalf("after the error: %+v", s)
		}
		step(fleet.DaemonEvent{Type: "StateChanged", Folder: "unknown", State: "idle"})
		if len(w.snapshot(d).Summaries) != 2 {
			t.Fatal("a folder that the device does not have got a summary")
		}
		for _, call := range f.take() {
			if !strings.HasPrefix(call, "events") && call != "status" {
				t.Fatalf("the daemon was asked for %s", call)
			}
		}
	})
}

// A folder that comes to rest is asked for, unless its summary is told: that it has ignore patterns now, no event
// says.
func TestAFolderThatComesToRestIsAskedForUnlessItIsTold(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "patterns", "files", "other")
		w.put(1, f)
		f.take()
		for _, folder := range []string{"patterns", "files"} {
			for _, state := range []string{"scanning", "idle"} {
				f.emit(fleet.DaemonEvent{Type: "StateChanged", Folder: folder, State: state})
			}
		}
		f.emit(fleet.DaemonEvent{Type: "FolderSummary", Folder: "files",
			Summary: &fleet.FolderSummary{GlobalBytes: 42, State: "idle"}})
		pass(5 * time.Minute)
		var asked []string
		for _, call := range f.take() {
			if strings.HasPrefix(call, "summary") {
				asked = append(asked, call)
			}
		}
		if want := []string{"summary patterns"}; !slices.Equal(asked, want) {
			t.Errorf("the daemon was asked for %v, want %v", asked, want)
		}
	})
}

// Folders that come to rest all the time are asked for now and then.
func TestFoldersThatNeverRestCostLittle(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		w.put(1, f)
		f.take()
		for range 600 {
			f.emit(fleet.DaemonEvent{Type: "StateChanged", Folder: "a", State: "scanning"},
				fleet.DaemonEvent{Type: "StateChanged", Folder: "a", State: "idle"})
			pass(100 * time.Millisecond)
		}
		asked := 0
		for _, call := range f.take() {
			if strings.HasPrefix(call, "summary") {
				asked++
			}
		}
		if asked < 5 || asked > 13 {
			t.Errorf("in a minute the folder was asked for %d times", asked)
		}
	})
}

func TestWhatComesRightAfterAnEventIsAskedForTogether(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		f.take()
		for _, state := range []string{"scan-waiting", "scanning", "idle"} {
			f.emit(fleet.DaemonEvent{Type: "StateChanged", Folder: "a", State: state})
			pass(gatherTime / 4)
		}
		if s := w.snapshot(d).Summaries["a"]; s.State != "scan-waiting" {
			t.Fatalf("the first is not seen at once: %+v", s)
		}
		pass(2 * gatherTime)
		wantCalls(t, f.take(), "events since 1 limit 250 wait 50s", "events since 3 limit 250 wait 5s")
		if s := w.snapshot(d).Summaries["a"]; s.State != "idle" {
			t.Fatalf("%+v", s)
		}
	})
}

func TestASnapshotNeverChanges(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		before := w.m.Snapshot(d)
		f.emit(fleet.DaemonEvent{Type: "FolderSummary", Folder: "a", Summary: &fleet.FolderSummary{GlobalBytes: 5}})
		synctest.Wait()
		if before.Summaries["a"].GlobalBytes != 0 || w.m.Snapshot(d).Summaries["a"].GlobalBytes != 5 {
			t.Fatal("a reader's snapshot changed under it, or the new one did not")
		}
	})
}

func TestAJumpInTheNumbersMeansReadAgain(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a", "b")
		w.put(1, f)
		f.take()
		f.emit(fleet.DaemonEvent{ID: 1, Type: "DeviceConnected"}, fleet.DaemonEvent{ID: 3, Type: "DeviceConnected"})
		pass(gatherTime)
		wantCalls(t, f.take(), "config", "summary a", "summary b", "events since 3 limit 250 wait 50s")
		f.emit(fleet.DaemonEvent{ID: 900, Type: "DeviceConnected"})
		pass(gatherTime)
		wantCalls(t, f.take(), "config", "summary a", "summary b", "events since 900 limit 250 wait 50s")
	})
}

func TestMoreEventsThanOneAnswerHoldsAreAJump(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		w.put(1, f)
		f.take()
		many := make([]fleet.DaemonEvent, 3*eventLimit)
		for i := range many {
			many[i].Type = "DeviceConnected"
		}
		f.emit(many...)
		pass(gatherTime)
		wantCalls(t, f.take(), "config", "summary a", fmt.Sprintf("events since %d limit 250 wait 50s", len(many)))
	})
}

func TestNumbersThatRunBackwardsAreNotBelieved(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		f.mu.Lock()
		f.script = [][]fleet.DaemonEvent{{{ID: 5, Type: "x"}, {ID: 4, Type: "x"}}}
		f.wake()
		f.mu.Unlock()
		synctest.Wait()
		s := w.wantConnection(d, fleet.Unreachable)
		if !strings.Contains(s.Reason, "backwards") || s.NextTry.IsZero() {
			t.Fatalf("%+v", s)
		}
		pass(2 * time.Second)
		w.wantConnection(d, fleet.Online)
	})
}

func TestARestartStartsOver(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		f.emit(fleet.DaemonEvent{Type: "DeviceConnected"})
		pass(gatherTime)
		f.take()
		f.restart("second") // the connection survives, as behind a proxy: the poll now waits in vain
		pass(time.Minute + gatherTime)
		got := f.take()
		want := append([]string{"status"}, firstContact("a")...)
		if len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
			t.Fatalf("the daemon was asked %q, want at the end %q", got, want)
		}
		w.wantConnection(d, fleet.Online)
		f.emit(fleet.DaemonEvent{Type: "FolderSummary", Folder: "a", Summary: &fleet.FolderSummary{GlobalBytes: 3}})
		pass(gatherTime)
		if w.snapshot(d).Summaries["a"].GlobalBytes != 3 {
			t.Fatal("events after the restart are not seen")
		}
	})
}

func TestABrokenConnectionStartsOver(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		pass(2 * time.Minute)
		f.take()
		f.breakConnection()
		synctest.Wait()
		s := w.wantConnection(d, fleet.Unreachable)
		if s.Status == nil || s.Digest == "" || len(s.Summaries) != 1 {
			t.Fatal("what was known is forgotten with the connection")
		}
		if wait := time.Until(s.NextTry); wait < time.Second || wait > 2*time.Second {
			t.Fatalf("the first pause is %s", wait)
		}
		pass(2 * time.Second)
		wantCalls(t, f.take(), firstContact("a")...)
		w.wantConnection(d, fleet.Online)
		if len(w.dialled()) != 1 {
			t.Fatalf("dialled %d times: the client, with its session and identity, was thrown away", len(w.dialled()))
		}
	})
}

func TestWhatADaemonSaysDecidesTheState(t *testing.T) {
	for code, want := range map[fleet.Code]fleet.Connection{
		fleet.CodeUnavailable: fleet.Unreachable, fleet.CodeUnbelievable: fleet.Unreachable,
		fleet.CodeKeyRefused:  fleet.KeyRefused,
		fleet.CodeWrongDevice: fleet.IdentityMismatch, fleet.CodeWrongPin: fleet.PinMismatch,
		fleet.CodeUnconfirmed: fleet.Unconfirmed,
	} {
		t.Run(string(code), func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				f := newFake(1, "a")
				f.fail["status"] = fmt.Errorf("wrapped: %w", &fleet.Error{Code: code, Message: "why", Hint: "what to do"})
				d := w.put(1, f)
				s := w.wantConnection(d, want)
				if s.Reason != "why" || s.Next != "what to do" || !s.LastSeen.IsZero() {
					t.Fatalf("%+v", s)
				}
				if _, err := w.m.Daemon(d); fleet.CodeOf(err) != fleet.CodeUnavailable {
					t.Fatalf("a connection to it: %v", err)
				}
				if _, err := w.m.ReadNow(t.Context(), d); fleet.CodeOf(err) != fleet.CodeUnavailable {
					t.Fatalf("its configuration: %v", err)
				}
				for _, call := range f.take() {
					if call != "status" {
						t.Fatalf("it was asked for %s", call)
					}
				}
				since := s.Since
				pass(30 * time.Second)
				if got := w.snapshot(d).Since; !got.Equal(since) {
					t.Fatal("the state seems to begin with every attempt")
				}
				f.set("status", nil)
				pass(time.Minute)
				w.wantConnection(d, fleet.Online)
				if got, err := w.m.Daemon(d); err != nil || got != Daemon(f) {
					t.Fatalf("got %v, %v", got, err)
				}
			})
		})
	}
}

func TestADeviceThatNobodyFindsIsNotFoundUntilSomebodyDoes(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		w.resolveWith(func(d fleet.Device) (Found, error) { return Found{}, fleet.NotFoundf("nobody has seen it") })
		f := newFake(1)
		w.set(func() { w.daemons[id(1)] = f })
		registered := device(1)
		registered.APIAddress = ""
		w.m.Put(registered, false)
		pass(5 * time.Minute)
		s := w.wantConnection(id(1), fleet.NotFound)
		if s.Reason != "nobody has seen it" || s.Address != "" || len(f.take()) > 0 {
			t.Fatalf("%+v", s)
		}
		w.resolveWith(func(fleet.Device) (Found, error) {
			return Found{Host: "2001:db8::7", By: "local", SyncAddresses: []string{"tcp://[2001:db8::7]:22000"}}, nil
		})
		w.m.Retry(id(1))
		synctest.Wait()
		s = w.wantConnection(id(1), fleet.Online)
		target := w.dialled()[0]
		if s.Address != "[2001:db8::7]:8384" || s.FoundBy != "local" || target.Introduced != fleet.ByAnybody ||
			target.SyncAddresses[0] != "tcp://[2001:db8::7]:22000" {
			t.Fatalf("%+v by %+v", s, target)
		}
	})
}

func TestWithoutDiscoveryAnAddressIsNeeded(t *testing.T) {
	_, err := Explicit{}.Resolve(t.Context(), fleet.Device{}, false)
	var e *fleet.Error
	if !errors.As(err, &e) || e.Code != fleet.CodeNotFound || e.Hint == "" {
		t.Fatalf("got %v", err)
	}
}

func TestAnOldDaemonIsReadTheOldWay(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		f.old = true
		d := w.put(1, f)
		if s := w.wantConnection(d, fleet.Online); !s.TooOld || len(s.Summaries) != 1 {
			t.Fatalf("%+v", s)
		}
	})
}

func TestAnUnusableConfigurationReplacesNothing(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		d := w.put(1, f)
		good := w.snapshot(d)
		w.set(func() { w.unusable = true })
		f.change(fakeFolder{ID: "b"})
		f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
		synctest.Wait()
		s := w.wantConnection(d, fleet.Unreachable)
		if s.Digest != good.Digest || len(s.Folders) != 1 || len(s.Summaries) != 1 ||
			s.Reason != "not a usable configuration" {
			t.Fatalf("%+v", s)
		}
	})
}

func TestOneFolderThatCannotBeReadIsLeftOut(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a", "b", "c")
		f.fail["summary a"] = errCut
		f.fail["summary b"] = fleet.NotFoundf("gone")
		d := w.put(1, f)
		if s := w.wantConnection(d, fleet.Online); len(s.Summaries) != 1 || s.Summaries["c"].Device != d {
			t.Fatalf("%v", s.Summaries)
		}
		f.set("summary c", errCut)
		f.set("summary b", errCut)
		f.emit(fleet.DaemonEvent{ID: 9})
		synctest.Wait()
		w.wantConnection(d, fleet.Unreachable)
	})
}

// After a person forgot the pin, only an address that a person typed is trusted on first use.
func TestAForgottenPinIsNotLearntFromADiscoveryServer(t *testing.T) {
	for introduced, want := range map[fleet.Introduction]fleet.Introduction{
		fleet.ByServer: fleet.ByAnybody, fleet.ByPerson: fleet.ByPerson, fleet.ByAnybody: fleet.ByAnybody,
	} {
		inWorld(t, nil, func(t *testing.T, w *world) {
			w.resolveWith(func(fleet.Device) (Found, error) { return Found{Host: "192.0.2.7", Introduced: introduced}, nil })
			w.set(func() { w.daemons[id(1)] = newFake(1) })
			d := device(1)
			d.Settings.PinOrigin = fleet.PinForgotten
			w.m.Put(d, false)
			synctest.Wait()
			if got := w.dialled()[0].Introduced; got != want {
				t.Errorf("found on the word of %q, dialled on that of %q", introduced, got)
			}
			d.Settings.PinOrigin, d.Settings.Pin = fleet.PinNone, "sha256:bb"
			w.m.Put(d, false)
			synctest.Wait()
			if got := w.dialled()[1].Introduced; got != introduced {
				t.Errorf("with a pin: dialled on the word of %q, found on that of %q", got, introduced)
			}
		})
	}
}

// The certificate of another daemon is not offered to be trusted.
func TestWhatIsShownIsRememberedUnlessItIsAnotherDaemons(t *testing.T) {
	for code, want := range map[fleet.Code]string{
		fleet.CodeWrongPin: "sha256:aa", fleet.CodeUnconfirmed: "sha256:aa", fleet.CodeKeyRefused: "sha256:aa",
		fleet.CodeWrongDevice: "",
	} {
		inWorld(t, nil, func(t *testing.T, w *world) {
			f := newFake(1)
			f.fail["status"] = &fleet.Error{Code: code, Message: "why", Hint: "what to do"}
			d := w.put(1, f)
			shown := w.snapshot(d).Shown
			if shown.Fingerprint != want || (want != "") != (shown.Address == "daemon.example:8384" &&
				shown.FoundBy == "record") {
				t.Errorf("%s: shown %+v", code, shown)
			}
			f.set("status", nil)
			pass(time.Minute)
			if s := w.snapshot(d); s.Proven.Fingerprint != "sha256:aa" || s.Shown.Fingerprint != "sha256:aa" {
				t.Errorf("%s: proven by %+v", code, s.Proven)
			}
		})
	}
}

// TestEachSnapshotIsToldThoughTheNextOneIsThere: who asked for the snapshot of a changed device got the next one, and a
// device that was in the configuration for a moment was not seen.
func TestEachSnapshotIsToldThoughTheNextOneIsThere(t *testing.T) {
	var m *Mirror
	var told []*Snapshot
	id, peer := fleet.DeviceIDOf([32]byte{1}), fleet.DeviceIDOf([32]byte{2})
	have := func(peers ...fleet.DeviceID) {
		m.watcher(id).update(func(s *Snapshot) Aspect {
			s.ConfiguredPeers = fleet.PeersOf(peers)
			return ConfigChanged
		})
	}
	m = New(Options{Changed: func(s *Snapshot, aspect Aspect) {
		if aspect != ConfigChanged {
			return
		}
		if told = append(told, s); len(told) == 1 {
			have() // before the first one is looked at
		}
	}})
	m.Put(fleet.Registered{Device: fleet.Device{ID: id}}, true)
	have(peer)
	if len(told) != 2 || !told[0].ConfiguredPeers.Has(peer) || told[1].ConfiguredPeers.Has(peer) {
		t.Errorf("told are %+v", told)
	}
}

package mirror

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

type fields = map[string]any

func pendingEvent(t *testing.T, kind string, data any) fleet.DaemonEvent {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return fleet.DaemonEvent{Type: kind, Data: text}
}

func (f *fake) setPending(pending ...fleet.Pending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = pending
}

// pending is what is pending, in short.
func (w *world) pending() string {
	names := map[fleet.DeviceID]string{id(8): "other", id(9): "third"}
	var all []string
	for _, p := range w.m.Pending() {
		all = append(all, strings.TrimSpace(names[p.From]+" "+p.Folder))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestWhatIsPendingIsReadOnceAndThenItsEventsTell(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		other, third := id(8), id(9)
		f := newFake(1)
		f.setPending(fleet.Pending{From: other, Name: "new"}, fleet.Pending{From: third, Folder: "p"})
		d := w.put(1, f)
		want := func(when, want string, changed bool) {
			t.Helper()
			pass(2 * time.Second)
			if got := w.pending(); got != want {
				t.Errorf("%s: got %q, want %q", when, got, want)
			}
			if got := w.changed(d)&fleet.PendingChanged != 0; got != changed {
				t.Errorf("%s: announced %v", when, got)
			}
			w.set(func() { maps.DeleteFunc(w.changes, func(fleet.DeviceID, Aspect) bool { return true }) })
		}
		want("read", "other, third p", true)
		if p := w.m.Pending()[0]; p.Device != d {
			t.Errorf("got %+v", p)
		}
		f.emit(pendingEvent(t, devicesChanged, fields{"removed": []fields{{"deviceID": other}},
			"added": []fields{{"deviceID": third, "name": "x"}}}))
		want("devices changed", "third, third p", true)
		f.emit(pendingEvent(t, foldersChanged, fields{"added": []fields{
			{"deviceID": other, "folderID": "p", "receiveEncrypted": "true"}, {"deviceID": other, "folderID": "q"}}}))
		want("folders came", "other p, other q, third, third p", true)
		if !slices.ContainsFunc(w.m.Pending(), func(p fleet.Pending) bool { return p.Encrypted && p.Folder == "p" }) {
			t.Errorf("got %+v", w.m.Pending())
		}
		f.emit(pendingEvent(t, foldersChanged, fields{"removed": []fields{{"folderID": "p"}}}))
		want("a folder is gone everywhere", "other q, third", true)
		f.emit(pendingEvent(t, foldersChanged, fields{"removed": []fields{{"folderID": "unknown", "deviceID": "nonsense"}}}),
			fleet.DaemonEvent{Type: devicesChanged, Data: []byte("[1]")})
		want("nothing new", "other q, third", false)
		w.m.PendingAnswered(fleet.Pending{Device: d, From: third})
		want("accepted", "other q", true)
		if n := len(f.times("pending")); n != 1 {
			t.Errorf("read %d times", n)
		}
		f.setPending()
		f.breakConnection()
		pass(10 * time.Second)
		want("contacted again", "", true)
	})
}

// Of an event with too much data nothing is kept, and missing events may be about what is pending.
func TestWhatEventsDoNotTellIsReadAgain(t *testing.T) {
	for name, event := range map[string]fleet.DaemonEvent{
		"too much data":   {Type: foldersChanged},
		"events are lost": {ID: 900, Type: "StateChanged"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				f := newFake(1)
				w.put(1, f)
				pass(time.Second)
				f.setPending(fleet.Pending{From: id(8), Folder: "a"})
				f.emit(event)
				pass(2 * statusEvery)
				if got, reads := w.pending(), len(f.times("pending")); got != "other a" || reads != 2 {
					t.Errorf("got %q after %d readings", got, reads)
				}
			})
		})
	}
}

func TestADaemonThatDoesNotTellWhatIsPendingIsFollowedAndReadAgain(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		f.setPending(fleet.Pending{From: id(8)})
		f.set("pending", &fleet.Error{Code: fleet.CodeUnavailable, Message: "too busy"})
		d := w.put(1, f)
		pass(10 * statusEvery)
		w.wantConnection(d, fleet.Online)
		if n := len(f.times("pending")); n < 9 || n > 11 {
			t.Errorf("read %d times in ten minutes", n)
		}
		f.set("pending", nil)
		pass(2 * statusEvery)
		n := len(f.times("pending"))
		pass(10 * statusEvery)
		if got := w.pending(); got != "other" || len(f.times("pending")) != n {
			t.Errorf("got %q, and %d more readings", got, len(f.times("pending"))-n)
		}
	})
}

// An event from before the reading is applied after it, with all that came after that event.
func TestAnEventDuringTheReadingIsNotLost(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		gate := make(chan struct{})
		f.gate["pending"] = gate
		w.put(1, f)
		f.emit(pendingEvent(t, devicesChanged, fields{"added": []fields{{"deviceID": id(8)}, {"deviceID": id(9)}}}))
		f.emit(pendingEvent(t, devicesChanged, fields{"removed": []fields{{"deviceID": id(9)}}}))
		close(gate)
		pass(2 * time.Second)
		if got := w.pending(); got != "other" {
			t.Errorf("got %q", got)
		}
	})
}

func TestAHostileDaemonFillsNothing(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		w.put(1, f)
		var many []fields
		for n := range maxPending + 10 {
			many = append(many, fields{"deviceID": id(8), "folderID": fmt.Sprint(n),
				"folderLabel": strings.Repeat("x", 2*maxPendingText)})
		}
		f.emit(pendingEvent(t, foldersChanged, fields{"added": many}))
		synctest.Wait()
		pass(time.Second)
		all := w.m.Pending()
		if len(all) != maxPending || len(all[0].FolderLabel) != maxPendingText {
			t.Errorf("got %d with labels of %d bytes", len(all), len(all[0].FolderLabel))
		}
	})
}

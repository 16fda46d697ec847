package mirror

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

func failed(n int) []fleet.FailedItem {
	var items []fleet.FailedItem
	for i := range n {
		items = append(items, fleet.FailedItem{Path: fmt.Sprintf("file %d", i), Text: "permission denied"})
	}
	return items
}

func TestFailedItemsOutliveSummaries(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a", "b")
		d := w.put(1, f)
		step := func(e fleet.DaemonEvent) Snapshot {
			e.Folder = "a"
			f.emit(e)
			pass(gatherTime)
			return w.snapshot(d)
		}
		step(fleet.DaemonEvent{Type: "FolderErrors", Failed: 700, Items: failed(2)})
		s := step(fleet.DaemonEvent{Type: "FolderSummary", Summary: &fleet.FolderSummary{Failed: 700, State: "idle"}})
		if got := s.Summaries["a"]; got.Failed != 700 || got.Error != "" || !slices.Equal(s.FailedItems["a"], failed(2)) {
			t.Fatalf("after a summary: %+v, %+v", got, s.FailedItems)
		}
		s = step(fleet.DaemonEvent{Type: "StateChanged", State: "error", Error: "folder path missing",
			At: time.Unix(1e9, 0).UTC()})
		if got := s.Summaries["a"]; got.Failed != 700 || got.Error != "folder path missing" ||
			!got.StateChanged.Equal(time.Unix(1e9, 0)) || len(s.FailedItems["a"]) != 2 {
			t.Fatalf("after an error of the folder: %+v, %+v", got, s.FailedItems)
		}
		s = step(fleet.DaemonEvent{Type: "FolderErrors", Failed: 1, Items: failed(1)})
		if got := s.Summaries["a"]; got.Failed != 1 || len(s.FailedItems["a"]) != 1 {
			t.Fatalf("after other errors: %+v, %+v", got, s.FailedItems)
		}
		s = step(fleet.DaemonEvent{Type: "FolderSummary", Summary: &fleet.FolderSummary{State: "idle"}})
		if s.FailedItems != nil || s.Summaries["a"].InError() {
			t.Fatalf("after the errors: %+v, %+v", s.Summaries["a"], s.FailedItems)
		}
	})
}

func TestFailedItemsOfOneDeviceAreBounded(t *testing.T) {
	var s Snapshot
	for i := range 50 {
		setFailedItems(&s, fmt.Sprint("folder ", i), failed(100))
	}
	kept := 0
	for _, items := range s.FailedItems {
		for _, item := range items {
			kept += item.Size()
		}
	}
	if kept > maxItemBytes || kept < maxItemBytes*9/10 {
		t.Errorf("%d bytes are kept", kept)
	}
	setFailedItems(&s, "folder 0", nil)
	if s.FailedItems["folder 0"] != nil {
		t.Error("errors that are gone are kept")
	}
}

func TestASummaryThatCannotBeTrueIsNotKnown(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a", "b", "c")
		unbelievable := &fleet.Error{Code: fleet.CodeUnbelievable, Message: "it holds a negative counter"}
		f.set("summary a", unbelievable)
		f.set("summary b", unbelievable)
		d := w.put(1, f)
		known := func() string {
			s := w.wantConnection(d, fleet.Online)
			var ids []string
			for _, label := range s.Folders {
				if _, is := s.Summaries[label.Folder]; is {
					ids = append(ids, label.Folder)
				}
			}
			return strings.Join(ids, "")
		}
		if got := known(); got != "c" {
			t.Fatalf("summaries of %q are known", got)
		}
		f.set("summary a", nil)
		f.emit(
			fleet.DaemonEvent{Type: "ConfigSaved"},
			fleet.DaemonEvent{Type: "FolderSummary", Folder: "c", Error: "negative"},
		)
		pass(gatherTime)
		if got := known(); got != "ac" {
			t.Fatalf("after it mended its ways, summaries of %q are known", got)
		}
		f.emit(fleet.DaemonEvent{Type: "FolderSummary", Folder: "c", Error: "negative"})
		pass(gatherTime)
		if got := known(); got != "a" {
			t.Fatalf("after an event that is not believed, summaries of %q are known", got)
		}
	})
}

func TestToWhomADaemonIsConnected(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1, "a")
		f.connected = []fleet.DeviceID{id(2), id(3)}
		d := w.put(1, f)
		want := func(when string, peers ...int) {
			t.Helper()
			s := w.snapshot(d)
			for n := range 6 {
				if got := s.IsConnected(id(n)); got != slices.Contains(peers, n) {
					t.Errorf("%s, device %d is connected: %v", when, n, got)
				}
			}
		}
		want("after first contact", 2, 3)
		f.take()
		f.emit(fleet.DaemonEvent{Type: "DeviceConnected", Peer: id(4)}, fleet.DaemonEvent{Type: "DeviceConnected"})
		pass(gatherTime)
		want("after a connection", 2, 3, 4)
		f.emit(
			fleet.DaemonEvent{Type: "DeviceDisconnected", Peer: id(2)},
			fleet.DaemonEvent{Type: "DeviceDisconnected", Peer: id(3)},
		)
		pass(gatherTime)
		want("after disconnections", 4)
		if calls := f.take(); slices.Contains(calls, "connections") {
			t.Errorf("all connections were read at once: %q", calls)
		}
		f.mu.Lock()
		f.connected = []fleet.DeviceID{id(3), id(4)} // another connection to it was left
		f.mu.Unlock()
		pass(statusEvery)
		want("after the next status", 3, 4)
		f.take()
		pass(10 * statusEvery)
		if calls := f.take(); slices.Contains(calls, "connections") {
			t.Errorf("at rest it was asked %q", calls)
		}
		f.set("connections", &fleet.Error{Code: fleet.CodeNotFound, Message: "the agent does not pass this on"})
		f.breakConnection()
		pass(time.Minute)
		s := w.wantConnection(d, fleet.Online)
		want("where it does not say")
		if s.KnowsConnected() {
			t.Error("its connections count as known")
		}
	})
}

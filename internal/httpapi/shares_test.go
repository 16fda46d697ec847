package httpapi

import (
	"context"
	"net/http"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// sharing plays configurations.
type sharing map[fleet.DeviceID]*fleet.FolderShare

func (s sharing) FolderShare(_ context.Context, id fleet.DeviceID, folder string) (*fleet.FolderShare, error) {
	if folder != "photos" {
		return nil, nil //nolint:nilnil // as the interface says
	}
	return s[id], nil
}

// withShares is a world in which two devices share a folder, one of them with a third that does not share it back.
func withShares(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	outside := fleet.DeviceIDOf([32]byte{9})
	shares := sharing{
		idA: {Type: "sendreceive", Path: "~/p", Peers: []fleet.FolderPeer{{Device: idA}, {Device: idB}, {Device: idC},
			{Device: outside, Encrypted: true}}},
		idB: {Type: "receiveonly", Paused: true, Peers: []fleet.FolderPeer{{Device: idA}, {Device: idB}}},
	}
	folders := []fleet.FolderLabel{{Folder: "photos", Label: "Photos"}}
	snapshots := map[fleet.DeviceID]*fleet.Snapshot{
		idA: {Connection: fleet.Online, Digest: "a", Folders: folders, Summaries: map[string]fleet.FolderSummary{
			"photos": {GlobalBytes: 1000, NeedBytes: 1, NeedFiles: 1, State: "syncing"}}},
		idB: {Connection: fleet.Online, Digest: "b", Folders: folders, Summaries: map[string]fleet.FolderSummary{
			"photos": {GlobalBytes: 1000}}},
		idC: {Connection: fleet.Unreachable, Digest: "c", Folders: []fleet.FolderLabel{{Folder: "music"}}},
	}
	w.with(func(o *Options) {
		o.Shares = shares
		o.Inventory = NewInventory(InventoryOptions{State: w.fakes.State, Common: func() any { return nil },
			Snapshot: func(id fleet.DeviceID) *fleet.Snapshot { return snapshots[id] }})
	})
	for id, label := range map[fleet.DeviceID]string{idA: "a", idB: "b", idC: "zebra"} {
		w.device(id, label)
	}
	return w
}

func TestSharesThatOnlyOneSideHasAreNamed(t *testing.T) {
	w := withShares(t)
	got := read[[]api.FolderShare](w, Prefix+"/folders/photos/shares")
	if len(got) != 2 || got[0].Label != "a" || !got[0].Known || got[0].Path != "~/p" || !got[1].Paused {
		t.Fatalf("got %+v", got)
	}
	sides := map[string]string{}
	for _, peer := range got[0].Peers {
		sides[peer.Label] = peer.Side
		if peer.Encrypted != (peer.Side == "unmanaged") {
			t.Errorf("got %+v", peer)
		}
	}
	if len(sides) != 3 || sides["b"] != "both" || sides["zebra"] != "onlyHere" || sides[""] != "unmanaged" {
		t.Errorf("got %v", sides)
	}
	first := w.do(call{method: http.MethodGet, path: Prefix + "/folders/photos/shares?limit=1"})
	if link := first.Header.Get("Link"); link == "" {
		t.Error("the first of two pages has no way to the second")
	}
	rest := read[[]api.FolderShare](w, Prefix+"/folders/photos/shares?limit=1&after="+got[0].DeviceID)
	if len(rest) != 1 || rest[0].DeviceID != got[1].DeviceID {
		t.Errorf("got %+v", rest)
	}
	w.problem(http.StatusNotFound, call{method: http.MethodGet, path: Prefix + "/folders/absent/shares"})
}

func TestOneAnswerHasFoldersByDevice(t *testing.T) {
	w := withShares(t)
	got := read[api.FolderMatrix](w, Prefix+"/overview/matrix")
	if len(got.Devices) != 3 || len(got.Folders) != 2 || got.Folders[1].Folder != "photos" ||
		len(got.Folders[1].Cells) != 2 {
		t.Fatalf("got %+v", got)
	}
	behind, paused, music := got.Folders[1].Cells[0], got.Folders[1].Cells[1], got.Folders[0].Cells[0]
	if behind != (api.MatrixCell{Device: 0, State: "outOfSync", Completion: 99, NeedBytes: 1}) ||
		paused.State != "paused" || paused.Completion != 100 || music.State != "unknown" || music.Device != 2 {
		t.Errorf("got %+v", got.Folders)
	}
	one := read[api.FolderMatrix](w, Prefix+"/overview/matrix?q=zebra")
	if len(one.Devices) != 1 || len(one.Folders) != 1 {
		t.Errorf("got %+v", one)
	}
}

package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"muster/api"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// sharing is a world with configurations that share one folder.
type sharing struct {
	*world
	shares    map[fleet.DeviceID]*fleet.FolderShare
	snapshots map[fleet.DeviceID]*fleet.Snapshot
	broken    fleet.DeviceID // its configuration has no usable folders
	reads     atomic.Int64   // configurations that were read whole
}

func (s *sharing) FolderShare(_ context.Context, id fleet.DeviceID, folder string) (*fleet.FolderShare, error) {
	if folder != "photos" {
		return nil, nil //nolint:nilnil // as the interface says
	}
	return s.shares[id], nil
}

func (s *sharing) DeviceShares(_ context.Context, id fleet.DeviceID,
	more func(fleet.FolderShare) bool) (string, error) {
	s.reads.Add(1)
	if share := s.shares[id]; share != nil {
		more(*share)
	}
	if id == s.broken {
		return s.snapshots[id].Digest, &fleet.Error{Code: fleet.CodeUnbelievable}
	}
	return s.snapshots[id].Digest, nil
}

// change gives a device another configuration, which shares the folder with these.
func (s *sharing) change(id fleet.DeviceID, digest string, peers ...fleet.DeviceID) {
	share, snapshot := fleet.FolderShare{Folder: "photos"}, *s.snapshots[id]
	for _, peer := range peers {
		share.Peers = append(share.Peers, fleet.FolderPeer{Device: peer})
	}
	snapshot.Digest = digest
	s.shares[id], s.snapshots[id] = &share, &snapshot
}

const oneSidedPath = Prefix + "/overview/one-sided-shares"

// oneSided are the labels of both sides of each share, one share after the other.
func (s *sharing) oneSided() []string {
	s.t.Helper()
	got := []string{}
	for _, share := range read[[]api.OneSidedShare](s.world, oneSidedPath) {
		got = append(got, share.Label+" "+share.PeerLabel)
	}
	return got
}

// withShares is a world in which two devices share a folder, one of them with a third that does not share it back.
func withShares(t *testing.T) *sharing {
	t.Helper()
	w := &sharing{world: newWorld(t)}
	outside := fleet.DeviceIDOf([32]byte{9})
	w.shares = map[fleet.DeviceID]*fleet.FolderShare{
		idA: {Folder: "photos", Type: "sendreceive", Path: "~/p", Peers: []fleet.FolderPeer{{Device: idA}, {Device: idB},
			{Device: idC}, {Device: outside, Encrypted: true}}},
		idB: {Folder: "photos", Type: "receiveonly", Paused: true, Peers: []fleet.FolderPeer{{Device: idA}, {Device: idB}}},
	}
	folders := []fleet.FolderLabel{{Folder: "photos", Label: "Photos"}}
	w.snapshots = map[fleet.DeviceID]*fleet.Snapshot{
		idA: {Connection: fleet.Online, Digest: "a", Folders: folders, Summaries: map[string]fleet.FolderSummary{
			"photos": {GlobalBytes: 1000, NeedBytes: 1, NeedFiles: 1, State: "syncing"}}},
		idB: {Connection: fleet.Online, Digest: "b", Folders: folders, Summaries: map[string]fleet.FolderSummary{
			"photos": {GlobalBytes: 1000}}},
		idC: {Connection: fleet.Unreachable, Digest: "c", Folders: []fleet.FolderLabel{{Folder: "music"}}},
	}
	w.lookAt(func(id fleet.DeviceID) *fleet.Snapshot { return w.snapshots[id] },
		func(o *view.Options) { o.Shares = w })
	for id, label := range map[fleet.DeviceID]string{idA: "a", idB: "b", idC: "zebra"} {
		w.device(id, label)
	}
	return w
}

func TestSharesThatOnlyOneSideHasAreNamed(t *testing.T) {
	w := withShares(t)
	got := read[[]api.FolderShare](w.world, Prefix+"/folders/photos/shares")
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
	rest := read[[]api.FolderShare](w.world, Prefix+"/folders/photos/shares?limit=1&after="+got[0].DeviceID)
	if len(rest) != 1 || rest[0].DeviceID != got[1].DeviceID {
		t.Errorf("got %+v", rest)
	}
	w.problem(http.StatusNotFound, call{method: http.MethodGet, path: Prefix + "/folders/absent/shares"})
}

func TestOneAnswerHasTheOneSidedSharesOfTheFleet(t *testing.T) {
	w := withShares(t)
	want := api.OneSidedShare{Folder: "photos", FolderLabel: "Photos", DeviceID: string(idA), Label: "a",
		PeerID: string(idC), PeerLabel: "zebra"}
	for query, count := range map[string]int{"": 1, "?q=ZEBRA": 1, "?q=nobody": 0, "?q=phot&limit=1": 1, "?tag=absent": 0,
		"?after=" + string(idA) + "+" + string(idB) + "+photos": 1,
		"?after=" + string(idA) + "+" + string(idC) + "+photos": 0} {
		got := read[[]api.OneSidedShare](w.world, oneSidedPath+query)
		if len(got) != count || count == 1 && got[0] != want {
			t.Errorf("%s: got %+v", query, got)
		}
	}
	first := w.do(call{method: http.MethodGet, path: oneSidedPath})
	again := w.do(call{method: http.MethodGet, path: oneSidedPath,
		header: http.Header{"If-None-Match": {first.Header.Get("ETag")}}})
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("got %d for what nothing changed of", again.StatusCode)
	}
}

func TestOneSidedSharesOfAScopeNameNobodyOutside(t *testing.T) {
	w := withShares(t)
	token, _, err := w.setup.Tokens.Create(t.Context(), fleet.Token{Name: "scoped", Role: fleet.RoleViewer,
		Scope: fleet.ScopeOf([]fleet.Tag{"in"})})
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		resp := w.do(call{method: http.MethodGet, path: oneSidedPath, token: token})
		var got []api.OneSidedShare
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp.StatusCode, err)
		}
		return len(got)
	}
	w.put(Prefix+"/devices/"+string(idA)+"/tags/in", "")
	if got := count(); got != 0 {
		t.Errorf("got %d shares with a device outside", got)
	}
	w.put(Prefix+"/devices/"+string(idC)+"/tags/in", "")
	if got := count(); got != 1 {
		t.Errorf("got %d shares of two devices inside", got)
	}
}

func TestOneSidedSharesFollowWhatDevicesAreSeenWith(t *testing.T) {
	w := withShares(t)
	check := func(reads int64, want ...string) {
		t.Helper()
		w.reads.Store(0)
		if got := w.oneSided(); !slices.Equal(got, want) || w.reads.Load() != reads {
			t.Errorf("got %q with %d configurations read, want %q with %d", got, w.reads.Load(), want, reads)
		}
	}
	check(3, "a zebra")
	check(0, "a zebra")
	w.change(idC, "c2", idC, idA)
	check(1)
	w.change(idB, "b2")
	check(1, "a b")
	w.broken = idB
	w.change(idB, "b3")
	check(1)
	check(0)
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/devices/" + string(idA)})
	check(0)
}

func TestOneAnswerHasFoldersByDevice(t *testing.T) {
	w := withShares(t)
	got := read[api.FolderMatrix](w.world, Prefix+"/overview/matrix")
	if len(got.Devices) != 3 || len(got.Folders) != 2 || got.Folders[1].Folder != "photos" ||
		len(got.Folders[1].Cells) != 2 {
		t.Fatalf("got %+v", got)
	}
	behind, paused, music := got.Folders[1].Cells[0], got.Folders[1].Cells[1], got.Folders[0].Cells[0]
	if behind.Completion == nil || *behind.Completion != 99 || behind.State != "syncing" || behind.NeedBytes != 1 ||
		paused.State != "paused" || music.State != "unknown" || music.Device != 2 {
		t.Errorf("got %+v", got.Folders)
	}
	// A paused folder, and one of which nothing was read, were 100 % complete.
	if paused.Completion != nil || music.Completion != nil {
		t.Errorf("a paused folder has %v percent, an unknown one %v", paused.Completion, music.Completion)
	}
	one := read[api.FolderMatrix](w.world, Prefix+"/overview/matrix?q=zebra")
	if len(one.Devices) != 1 || len(one.Folders) != 1 {
		t.Errorf("got %+v", one)
	}
}

func TestAMatrixIsReadPageByPage(t *testing.T) {
	w := withShares(t)
	labels := []string{}
	for next := Prefix + "/overview/matrix?limit=2&folderLimit=1&sort=-label"; next != ""; {
		page := read[api.FolderMatrix](w.world, next)
		for _, d := range page.Devices {
			labels = append(labels, d.Label)
		}
		if len(page.Folders) != 1 || page.MatchedDevices != 3 || page.MoreDevices != 3-len(page.Devices) ||
			page.MoreFolders != page.MatchedFolders-1 {
			t.Errorf("%s: got %+v", next, page)
		}
		link := w.do(call{method: http.MethodGet, path: next}).Header.Get("Link")
		next, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
	}
	if !slices.Equal(labels, []string{"zebra", "b", "a"}) {
		t.Errorf("page by page: %v", labels)
	}
	found := read[api.FolderMatrix](w.world, Prefix+"/overview/matrix?folder=PHOTO")
	if len(found.Devices) != 3 || len(found.Folders) != 1 || found.Folders[0].Folder != "photos" {
		t.Errorf("got %+v", found)
	}
	for _, query := range []string{"folderLimit=0", "folderLimit=501", "folderOffset=-1", "sort=size", "device=" +
		string(idA)} {
		resp := w.do(call{method: http.MethodGet, path: Prefix + "/overview/matrix?" + query, invented: true})
		if resp.StatusCode != http.StatusUnprocessableEntity && resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", query, resp.StatusCode)
		}
	}
}

func TestSharesAreReadWithTheFirstPeersOnly(t *testing.T) {
	w := withShares(t)
	path := Prefix + "/folders/photos/shares"
	few := read[[]api.FolderShare](w.world, path+"?peers=1")
	if len(few) != 2 || len(few[0].Peers) != 1 || few[0].Peers[0].Label != "zebra" || few[0].PeerCount != 3 ||
		few[1].PeerCount != 1 {
		t.Errorf("got %+v", few)
	}
	sided := read[[]api.FolderShare](w.world, path+"?side=onlyHere")
	if len(sided) != 1 || sided[0].Label != "a" || len(sided[0].Peers) != 1 || sided[0].PeerCount != 1 {
		t.Errorf("got %+v", sided)
	}
	w.change(idA, "a2", idB)
	if got := w.get(path + "?side=onlyHere"); got != "[]" {
		t.Errorf("where both sides agree: %s", got)
	}
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: path + "?side=both"})
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: path + "?peers=0"})
}

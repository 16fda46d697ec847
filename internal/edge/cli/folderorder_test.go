package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/api"
)

// folderOf is a server whose devices have a folder; it keeps the orders.
func folderOf(t *testing.T, standings ...api.FolderStanding) (address string, given *[]api.NewOrder) {
	t.Helper()
	given = &[]api.NewOrder{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = standings
		switch path := strings.TrimPrefix(r.URL.Path, "/api/v1/"); {
		case r.Method == http.MethodPost:
			var order api.NewOrder
			if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
				t.Error(err)
			}
			*given = append(*given, order)
			answer = api.Order{ID: 7, Type: *order.Type, Status: "done", Reason: "told to", Done: 1,
				Devices: []api.OrderDevice{{DeviceID: order.Devices[0], State: "done"}}}
		case path == "devices":
			answer = []api.Device{{DeviceID: idNAS, Label: "nas"}, {DeviceID: idLaptop, Label: "laptop"}}
		case strings.HasPrefix(path, "devices/"):
			answer = api.Device{DeviceID: strings.TrimPrefix(path, "devices/")}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, given
}

// Nobody is asked to agree to a loss of files whose number was not said, and no more than that are agreed to.
func TestWhatChangesFilesSaysHowManyAndAgreesToNoMore(t *testing.T) {
	sender := api.FolderStanding{DeviceID: idNAS, Folder: "docs", State: "outOfSync", Type: "sendonly", NeedItems: 11,
		NeedDeletes: 1, Peers: api.FolderPeers{Shared: 3}}
	receiver := api.FolderStanding{DeviceID: idLaptop, Folder: "docs", State: "localChanges", Type: "receiveonly",
		LocalItems: 5}
	address, given := folderOf(t, sender, receiver)
	at := []string{"--server", address, "--token", "x"}
	code, out, errs := run(t, append([]string{"folder", "override", "docs"}, at...)...)
	if code != exitRefused || len(*given) > 0 || !strings.Contains(errs, "nothing was changed") ||
		!strings.Contains(out, "nas (P56IOI7): overwrites, or takes away, 12 items that were changed elsewhere, "+
			"on 3 other devices\n") || !strings.Contains(out, "There is no way back") {
		t.Errorf("got %d and\n%s%s%v", code, out, errs, *given)
	}
	code, out, errs = run(t, append([]string{"folder", "revert", "docs", "-y"}, at...)...)
	if code != exitDone || !strings.Contains(out, "laptop (AIR6LPZ): undoes what was done to 5 items on this device") {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
	if code, _, errs := run(t, append([]string{"folder", "override", "docs", "-y"}, at...)...); code != exitDone {
		t.Errorf("got %d %s", code, errs)
	}
	if len(*given) != 2 {
		t.Fatalf("got %+v", *given)
	}
	for i, want := range []struct {
		kind, device string
		most         int64
	}{{"revert", idLaptop, 5}, {"override", idNAS, 12}} {
		got := (*given)[i]
		if *got.Type != want.kind || len(got.Devices) != 1 || got.Devices[0] != want.device || got.MaxItems != want.most ||
			got.Folder != "docs" {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestAFolderIsNotOverriddenOrRevertedOnOldFigures(t *testing.T) {
	unknown := api.FolderStanding{DeviceID: idNAS, Folder: "docs", State: "unknown", Type: "sendonly", NeedItems: 1}
	first := api.FolderStanding{DeviceID: idNAS, Folder: "docs", State: "outOfSync", Type: "sendonly", NeedItems: 1}
	second := first
	second.DeviceID = idLaptop
	for name, test := range map[string]struct {
		standings []api.FolderStanding
		args      string
		want      string
	}{
		"not online":   {[]api.FolderStanding{unknown}, "override docs -y", "nothing of the folder"},
		"two senders":  {[]api.FolderStanding{first, second}, "override docs -y", "Name the one whose files are right"},
		"another type": {[]api.FolderStanding{first}, "revert docs -y", "receive-only"},
		"not there": {[]api.FolderStanding{first}, "revert docs -y --device " + idLaptop,
			"no such device has the folder"},
		"paused before": {[]api.FolderStanding{{DeviceID: idNAS, Paused: true}}, "pause docs -y", "paused there already"},
		"not paused":    {[]api.FolderStanding{first}, "resume docs -y", "not paused there"},
	} {
		address, given := folderOf(t, test.standings...)
		args := append([]string{"folder"}, strings.Fields(test.args)...)
		code, _, errs := run(t, append(args, "--server", address, "--token", "x")...)
		if !refuses(code) || !strings.Contains(errs, test.want) || len(*given) > 0 {
			t.Errorf("%s: got %d, %s and %v", name, code, errs, *given)
		}
	}
}

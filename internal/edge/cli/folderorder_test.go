package cli

import (
	"bytes"
	"context"
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

// receivers is a server with three devices whose folders an order can revert. At the second it answers as told.
func receivers(t *testing.T, atSecond func(http.ResponseWriter)) (address string, given *int) {
	t.Helper()
	given = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = []api.Device{}
		switch {
		case r.Method == http.MethodPost:
			if *given++; *given == 2 {
				atSecond(w)
				return
			}
			answer = api.Order{ID: int64(*given), Type: "revert", Status: "done", Reason: "told to revert"}
		case strings.Contains(r.URL.Path, "/folders/"):
			standings := []api.FolderStanding{}
			for _, id := range []string{idNAS, idLaptop, idThird} {
				standings = append(standings, api.FolderStanding{DeviceID: id, Folder: "docs", State: "localChanges",
					Type: "receiveonly", LocalItems: 5})
			}
			answer = standings
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, given
}

const idThird = "MFZWI3D-BONSGYC-YLTMRWG-C43ENR5-QXGZDMM-FZWI3DP-BONSGYY-LTMRWAD"

func failedOrder(w http.ResponseWriter) {
	_ = json.NewEncoder(w).Encode(api.Order{ID: 2, Type: "revert", Status: "failed", Reason: "the folder is busy."})
}

// Of an order that ended at one of several devices nothing said which were not told, and JSON was several documents.
func TestARevertOfSeveralDevicesSaysWhichWereNotTold(t *testing.T) {
	address, given := receivers(t, failedOrder)
	code, out, errs := run(t, "folder", "revert", "docs", "-y", "-o", "json", "--server", address, "--token", "x")
	var orders []api.Order
	var problem api.Problem
	if err := json.Unmarshal([]byte(out), &orders); err != nil || len(orders) != 2 || orders[1].Status != "failed" {
		t.Errorf("got %v and %s", err, out)
	}
	_, last, _ := strings.Cut(errs, "{") // what the order does on which device stands before
	if err := json.Unmarshal([]byte("{"+last), &problem); err != nil || code != exitFailed ||
		problem.Status != http.StatusConflict || *given != 2 ||
		!strings.Contains(problem.Detail, "the folder is busy; not told: "+idThird[:7]) {
		t.Errorf("got %d, %v, %d orders and %s", code, err, *given, errs)
	}
	address, given = receivers(t, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", api.ProblemType)
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"type": "urn:muster:problem:conflict", "status": 409, "detail": "another order"}`))
	})
	code, out, errs = run(t, "folder", "revert", "docs", "-y", "--server", address, "--token", "x")
	if code != exitRefused || !strings.Contains(out, "told to revert") || *given != 2 ||
		!strings.Contains(errs, idLaptop[:7]+": another order; not told: "+idThird[:7]) {
		t.Errorf("got %d, %d orders and\n%s%s", code, *given, out, errs)
	}
}

func TestAnInterruptedRevertSaysWhichWereNotTold(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	address, given := receivers(t, func(w http.ResponseWriter) {
		_ = json.NewEncoder(w).Encode(api.Order{ID: 2, Type: "revert", Status: "running"})
		interrupt()
	})
	var out, errs bytes.Buffer
	code := Run(ctx, []string{"folder", "revert", "docs", "-y", "--server", address, "--token", "x"},
		Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, "test")
	if code != exitInterrupted || *given != 2 || !strings.Contains(errs.String(), "not told: "+idThird[:7]) {
		t.Errorf("got %d, %d orders and\n%s%s", code, *given, &out, &errs)
	}
}

// Orders that nobody waits for are carried out eight at a time: the ninth was refused, and the rest not told.
func TestARevertOfSeveralDevicesWaits(t *testing.T) {
	address, given := receivers(t, failedOrder)
	code, _, errs := run(t, "folder", "revert", "docs", "-y", "--no-wait", "--server", address, "--token", "x")
	if code != exitUsage || *given != 0 || !strings.Contains(errs, "--no-wait is for one device") {
		t.Errorf("got %d, %d orders and %s", code, *given, errs)
	}
}

// To programs an order that failed was an internal error of the server.
func TestAnOrderThatFailsIsNoInternalError(t *testing.T) {
	address, _ := serving(t, map[string]any{"devices": []api.Device{{DeviceID: idNAS, Label: "nas"}},
		"devices/" + idNAS: api.Device{DeviceID: idNAS, Label: "nas"}, "devices/" + idNAS + "/orders/rescan": api.Order{ID: 1,
			Type: "rescan", Status: "failed", Reason: "the folder is paused"}})
	code, _, errs := run(t, "device", "rescan", idNAS, "-o", "json", "--server", address, "--token", "x")
	var got api.Problem
	if err := json.Unmarshal([]byte(errs), &got); err != nil || code != exitFailed || got.Status != http.StatusConflict ||
		got.Type != "urn:muster:problem:conflict" || got.Detail != "the folder is paused" {
		t.Errorf("got %d, %v and %s", code, err, errs)
	}
}

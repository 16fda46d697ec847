package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"muster/api"
)

// orderly is a server with two devices that takes orders and deletions.
type orderly struct {
	mu    sync.Mutex // guards the rest
	query string     // of the last inventory
	given api.NewOrder
	calls []string // requests that change something
}

func (o *orderly) start(t *testing.T, devices ...api.InventoryDevice) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		path := strings.TrimPrefix(r.URL.Path, "/api/v1/")
		if r.Method != http.MethodGet {
			o.calls = append(o.calls, r.Method+" "+path)
		}
		var answer any
		switch {
		case path == "inventory":
			o.query = r.URL.RawQuery
			answer = api.Inventory{Total: 9, Matched: len(devices), Devices: devices}
		case r.Method == http.MethodDelete && strings.HasSuffix(path, idNAS):
			w.Header().Set("Content-Type", api.ProblemType)
			w.WriteHeader(http.StatusConflict)
			answer = api.Problem{Status: http.StatusConflict, Detail: "it is in use"}
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
			return
		default:
			if r.Method == http.MethodPost {
				if err := json.NewDecoder(r.Body).Decode(&o.given); err != nil && path == "orders" {
					t.Error(err)
				}
			}
			answer = api.Order{ID: 7, Type: "rescan", Status: "failed", Done: 1, Reason: "ended at the second",
				Devices: []api.OrderDevice{{DeviceID: idNAS, State: "done"}, {DeviceID: idLaptop, State: "failed"}}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

var twoRows = []api.InventoryDevice{{DeviceID: idNAS, Label: "nas"}, {DeviceID: idLaptop, Label: "laptop"}}

// A device that got the tag after the question would have been told as well.
func TestAnOrderIsForTheDevicesThatWereShown(t *testing.T) {
	var o orderly
	address := o.start(t, twoRows...)
	code, out, errs := run(
		t,
		"device",
		"rescan",
		"--tag",
		"site",
		"--filter",
		"state=held",
		"--filter",
		"version=<2",
		"-y",
		"--server",
		address,
		"--token",
		"x",
	)
	const want = "  nas (P56IOI7)\n  laptop (AIR6LPZ)\n1/2 P56IOI7: done\n2/2 AIR6LPZ: failed\n"
	if code != exitFailed || out != want || !strings.Contains(errs, "ended at the second") {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
	if o.query != "state=held&tag=site&version=%3C2" {
		t.Errorf("asked for %s", o.query)
	}
	if len(o.given.Devices) != 2 || o.given.Devices[0] != idNAS || o.given.Devices[1] != idLaptop ||
		*o.given.Type != "rescan" {
		t.Errorf("ordered %+v", o.given)
	}
}

func TestAnOrderGoesOnOnlyWhereThatIsAskedFor(t *testing.T) {
	for _, goOn := range []bool{false, true} {
		var o orderly
		args := []string{"device", "restart", "--tag", "site", "-y", "--server", o.start(t, twoRows...), "--token", "x"}
		if goOn {
			args = append(args, "--go-on")
		}
		if run(t, args...); o.given.GoOn != goOn {
			t.Errorf("--go-on %v: ordered %+v", goOn, o.given)
		}
	}
}

func TestDevicesThatAreOnlyPickedAreNotToldWithoutAnAnswer(t *testing.T) {
	for _, verb := range []string{"restart", "rescan", "pause", "resume", "upgrade", "delete"} {
		var o orderly
		address := o.start(t, twoRows...)
		code, out, errs := run(t, "device", verb, "--tag", "site", "--server", address, "--token", "x")
		if code != exitRefused || !strings.Contains(out, "2 devices") || !strings.Contains(out, "  laptop (AIR6LPZ)\n") ||
			!strings.Contains(errs, "nothing was changed") || len(o.calls) > 0 {
			t.Errorf("%s: got %d and\n%s%s%v", verb, code, out, errs, o.calls)
		}
	}
}

func TestWhatMayPickEveryDeviceIsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"":                                    "no device is named",
		"nas --tag site":                      "picked by flags as well",
		"--tag=":                              "--tag is blank",
		"--filter=":                           "--filter is blank",
		"--filter state=":                     "--filter state is blank",
		"--filter staet=held":                 "Did you mean sta",
		"--filter state:held":                 "is no filter",
		"--filter held":                       "is no filter",
		"--filter stale=7d --filter stale=1d": "stale twice",
		"--filter disk-below=0":               "no percentage",
		"--filter search=a --filter search=b --yes": "search twice",
	} {
		var o orderly
		address := o.start(t, twoRows...)
		words := append([]string{"device", "restart"}, strings.Fields(args)...)
		code, _, errs := run(t, append(words, "--server", address, "--token", "x")...)
		if code != exitUsage || !strings.Contains(errs, want) || len(o.calls) > 0 {
			t.Errorf("%s: got %d, %s and %v", args, code, errs, o.calls)
		}
	}
	for args, want := range map[string]string{
		"folder revert docs -y --device=":  "--device is blank",
		"folder pause docs -y --tag=":      "--tag is blank",
		"device restart nas -y --context=": "--context is blank",
	} {
		var o orderly
		o.start(t, twoRows...)
		if code, _, errs := run(t, strings.Fields(args)...); code == exitDone || !strings.Contains(errs, want) ||
			len(o.calls) > 0 {
			t.Errorf("%s: got %d, %s and %v", args, code, errs, o.calls)
		}
	}
	var o orderly
	address := o.start(t)
	code, _, errs := run(t, "device", "restart", "-y", "--tag", "none", "--server", address, "--token", "x")
	if code != exitRefused || !strings.Contains(errs, "no device is picked: --tag 'none'") || len(o.calls) > 0 {
		t.Errorf("got %d and %s", code, errs)
	}
}

func TestADeletionOfSeveralNamesThoseThatFailed(t *testing.T) {
	var o orderly
	address := o.start(t, twoRows...)
	code, out, errs := run(t, "device", "delete", "-y", "--tag", "site", "-o", "name", "--server", address, "--token", "x")
	if code != exitFailed || out != idLaptop+"\n" || !strings.Contains(errs, "1 of 2 devices were not deleted") ||
		!strings.Contains(errs, "nas (P56IOI7): it is in use") {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
	code, _, errs = run(t, "device", "delete", "-y", "--tag", "site", "-o", "json", "--server", address, "--token", "x")
	if code != exitFailed || !strings.Contains(errs, "urn:muster:problem:conflict") ||
		!strings.Contains(errs, "it is in use") {
		t.Errorf("got %d and %s", code, errs)
	}
}

func TestTheListOfDevicesTakesTheFiltersOfOtherCommands(t *testing.T) {
	var o orderly
	address := o.start(t, twoRows...)
	code, _, errs := run(
		t,
		"device",
		"list",
		"--tag",
		"a",
		"--filter",
		"tag=b",
		"--filter",
		"os=linux",
		"--filter",
		"behind",
		"--filter",
		"folder-state=stopped",
		"--filter",
		"waiting=any",
		"--filter",
		"disk-below=10%",
		"--server",
		address,
		"--token",
		"x",
	)
	const want = "diskBelow=10&folderState=behind&folderState=stalled&folderState=syncing&" +
		"folderState=failedItems&folderState=outOfSync&folderState=stopped&os=linux&" +
		"tag=a&tag=b&waiting=any"
	if code != exitDone || o.query != want {
		t.Errorf("got %d, %s%s", code, errs, o.query)
	}
}

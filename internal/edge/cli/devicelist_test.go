package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
)

// serving is a server with these answers; asked is the last request for each path.
func serving(t *testing.T, answers map[string]any) (address string, asked map[string]string) {
	t.Helper()
	asked = map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api/v1/")
		asked[path] = r.URL.RawQuery
		if answers[path] == nil {
			w.WriteHeader(http.StatusNotFound)
		}
		if err := json.NewEncoder(w).Encode(answers[path]); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestDevicesAreListedAsTheFiltersAskFor(t *testing.T) {
	free, since := 7, api.Time{Time: time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)}
	address, asked := serving(t, map[string]any{"inventory": api.Inventory{Total: 9, Matched: 3,
		Devices: []api.InventoryDevice{{DeviceID: idNAS, Label: "nas\x1b[31m", Connection: "online", Configuration: "held",
			Version: "v2.1.3", OS: "linux", Folders: api.FolderCounts{"all": 4, "upToDate": 1, "failedItems": 1, "behind": 2},
			NeedBytes: 3 << 29, Tags: []string{"home", "lima"}, DiskFree: &free, Since: &since}, {DeviceID: idLaptop}}}})
	code, out, errs := run(t, "device", "list", "--server", address, "--token", "x", "--tag", "home", "--tag", "a,b",
		"--state", "held", "--waiting", "any", "--sort", "-needBytes", "-q", "n", "--limit", "2")
	const want = "DEVICE              CONNECTION  CONFIGURATION  FOLDERS                      TO GO    TAGS        " +
		"VERSION  DISK FREE  SINCE\n" +
		"nas�[31m (P56IOI7)  online      held           4, 1 failed items, 2 behind  1.5 GiB  home, lima  " +
		"v2.1.3   7 %        2026-11-22 12:00:00\n" +
		"AIR6LPZ                                        0                            -        -           " +
		"-        -          -\n" +
		"3 of 9 devices, the first 2 shown.\n"
	if code != exitDone || errs != "" || out != want {
		t.Errorf("got %d and\n%s%swant\n%s", code, out, errs, want)
	}
	if got := asked["inventory"]; got != "limit=2&q=n&sort=-needBytes&state=held&tag=home&tag=a%2Cb&waiting=any" {
		t.Errorf("asked for %s", got)
	}
}

// The command line had other columns than the table of the console.
func TestTheColumnsAreThoseOfTheConsole(t *testing.T) {
	page, err := os.ReadFile("../../../web/src/pages/devices/Devices.tsx")
	if err != nil {
		t.Fatal(err)
	}
	usual := regexp.MustCompile(`(?m)^const usual = \[(.*)\];$`).FindSubmatch(page)
	if usual == nil {
		t.Fatal("the page has no usual columns")
	}
	var titles, usualTitles []string
	for _, column := range regexp.MustCompile(`\bid: "(\w+)",\s+title: "([^"]+)"`).FindAllSubmatch(page, -1) {
		title := strings.ToUpper(string(column[2]))
		titles = append(titles, title)
		if strings.Contains(string(usual[1]), `"`+string(column[1])+`"`) {
			usualTitles = append(usualTitles, title)
		}
	}
	var ours, oursUsual []string
	for _, column := range deviceColumns {
		if column.title != "WAITS" && column.title != "ID" { // the page has a filter and a link for these
			ours = append(ours, column.title)
		}
		if column.usual {
			oursUsual = append(oursUsual, column.title)
		}
	}
	if !slices.Equal(ours, titles) || !slices.Equal(oursUsual, usualTitles) {
		t.Errorf("the command line has %q, usually %q; the console %q, usually %q", ours, oursUsual, titles, usualTitles)
	}
}

// A label that two devices have was printed, and no command took it.
func TestNamesOfDevicesCanBeGivenBack(t *testing.T) {
	var rows []api.InventoryDevice
	var devices []api.Device
	for _, d := range []api.Device{{DeviceID: idNAS, Label: "nas"}, {DeviceID: idLaptop, Label: "twin"},
		{DeviceID: "other", Label: "twin"}, {DeviceID: "hyphen", Label: "-x"}, {DeviceID: "bell", Label: "b\a"},
		{DeviceID: "blank"}, {DeviceID: "disguised", Label: idNAS}} {
		devices = append(devices, d)
		if d.DeviceID != "other" { // the filter leaves this one out
			rows = append(rows, api.InventoryDevice{DeviceID: d.DeviceID, Label: d.Label, Connection: "online"})
		}
	}
	address, _ := serving(t, map[string]any{"inventory": api.Inventory{Devices: rows}, "devices": devices})
	_, out, errs := run(t, "device", "list", "--server", address, "--token", "x", "-o", "name")
	if want := "nas\n" + idLaptop + "\nhyphen\nbell\nblank\ndisguised\n"; out != want {
		t.Errorf("got %s%s, want %s", out, errs, want)
	}
}

func TestDevicesAreListedForPrograms(t *testing.T) {
	address, _ := serving(t, map[string]any{"inventory": api.Inventory{Devices: []api.InventoryDevice{
		{DeviceID: idNAS, Label: "nas", Connection: "online"}, {DeviceID: idLaptop}}}})
	_, out, _ := run(t, "device", "list", "--server", address, "--token", "x", "-o", "json")
	var devices []api.InventoryDevice
	if err := json.Unmarshal([]byte(out), &devices); err != nil || len(devices) != 2 || devices[0].Connection != "online" {
		t.Errorf("got %s, %v", out, err)
	}
}

// A mistyped tag gave an empty list without a word.
func TestATagThatNoDeviceHasIsNamedWithTheNearest(t *testing.T) {
	tags := []api.TagOverview{{Tag: "site:berlin", Devices: 3}, {Tag: "site:bern", Templates: []int64{1}},
		{Tag: "lima", Devices: 1}}
	address, _ := serving(t, map[string]any{"inventory": api.Inventory{Total: 9}, "devices": []api.Device{},
		"overview/tags": tags})
	at := []string{"--server", address, "--token", "x"}
	for tag, want := range map[string]string{
		"site:ber": "no device has the tag \"site:ber\"; did you mean \"site:berlin\"?\n",
		"unused":   "no device has the tag \"unused\"\n",
		"lima":     "",
	} {
		for _, args := range [][]string{{"--tag", tag, "-o", "name"}, {"--filter", "tag=" + tag, "-o", "json"}} {
			code, _, errs := run(t, append(append([]string{"device", "list"}, args...), at...)...)
			if code != exitDone || errs != want {
				t.Errorf("%v: got %d and %s", args, code, errs)
			}
		}
		code, _, errs := run(t, append([]string{"device", "rescan", "--tag", tag}, at...)...)
		if code != exitRefused || !strings.Contains(errs, "no device is picked: --tag '"+tag+"'\n"+want+"`muster device") {
			t.Errorf("rescan --tag %s: got %d and %s", tag, code, errs)
		}
	}
}

// --columns was ignored where the list is for programs.
func TestColumnsPickTheFieldsForSpreadsheets(t *testing.T) {
	address, asked := serving(t, map[string]any{"inventory": api.Inventory{Devices: []api.InventoryDevice{
		{DeviceID: idNAS, Label: "nas", Version: "v2.1.3", OS: "linux", Arch: "arm64"}}}})
	list := []string{"device", "list", "--server", address, "--token", "x"}
	_, out, errs := run(t, append(list, "-o", "csv", "--columns", "version,device,system,id")...)
	if want := "version,label,deviceID,os,arch\nv2.1.3,nas," + idNAS + ",linux,arm64\n"; out != want {
		t.Errorf("got %s%s, want %s", out, errs, want)
	}
	_, usual, _ := run(t, append(list, "-o", "csv")...)
	if _, out, _ := run(t, append(list, "-o", "csv", "--columns", "all")...); out != usual ||
		!strings.Contains(out, ",needUnknown,") {
		t.Errorf("all columns are %s, want %s", out, usual)
	}
	delete(asked, "inventory")
	for _, how := range []string{"json", "yaml", "name"} {
		code, out, errs := run(t, append(list, "-o", how, "--columns", "device")...)
		if code != exitUsage || out != "" || !strings.Contains(errs, "--columns is for tables, and not for -o "+how) ||
			asked["inventory"] != "" {
			t.Errorf("-o %s: got %d and %s%s", how, code, out, errs)
		}
	}
}

func TestWhatWaitsIsShownWithTheCommandsThatSolveIt(t *testing.T) {
	address, _ := serving(t, map[string]any{"waiting": api.Waiting{Devices: 2, Groups: []api.WaitingGroup{
		{
			Cause:       "pinMismatch",
			Severity:    "critical",
			Reason:      "another certificate is shown",
			Next:        "Compare it.",
			DeviceCount: 2,
			Devices:     []api.WaitingDevice{{DeviceID: idNAS, Label: "nas", Values: map[string]string{"deviceID": idNAS}}},
			Actions: []api.WaitingAction{
				{Name: "trust", Role: "admin", Each: true, Command: "muster device trust {deviceID}"},
			},
		},
		{
			Cause:    "impairment",
			Severity: "warning",
			Subject:  "backup",
			Reason:   "the disk is full",
		}}}, "devices": []api.Device{}, "overview": api.Overview{}})
	code, out, errs := run(t, "waiting", "--server", address, "--token", "x")
	const want = "critical, pinMismatch\n  On 2 devices (nas (P56IOI7), 1 more)\n  another certificate is shown\n" +
		"  Compare it.\n" +
		"  trust (role admin): muster device trust P56IOI7   and likewise for each of the others\n\n" +
		"warning, impairment: backup\n  the disk is full\n"
	if code != exitDone || errs != "" || out != want {
		t.Errorf("got %d and\n%s%swant\n%s", code, out, errs, want)
	}
	address, _ = serving(t, map[string]any{"waiting": api.Waiting{}, "overview": api.Overview{}})
	if _, out, _ := run(t, "waiting", "--server", address, "--token", "x"); out != "Nothing waits for a person.\n" {
		t.Errorf("got %s", out)
	}
}

func TestWhyShowsWhereAValueComesFrom(t *testing.T) {
	at := api.Time{Time: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	why := api.Why{Key: "options.maxSendKbps", Value: raw("7"), Observed: raw("5"), Base: raw("0"), Origin: "template",
		Reason: `template 3 "quick" sets it. The daemon has not got this yet`,
		Steps: []api.WhyStep{
			{WhyTemplate: api.WhyTemplate{Template: 3, Label: "quick", Priority: 20, Op: "merge", At: "options",
				Line: 2, Tags: []string{"home"}, Vars: []api.WhyVar{{Name: "up", Value: raw("7"), Tag: "home"}},
				SavedBy: "anna", SavedAt: &at}, From: raw("0"), To: raw("7")},
		},
		Conflicts: []string{"template 3 has the last word"}}
	address, asked := serving(t, map[string]any{"devices/" + idNAS: api.Device{DeviceID: idNAS, Label: "nas"},
		"devices/" + idNAS + "/why": why, "devices": []api.Device{}})
	code, out, errs := run(t, "why", idNAS, "options.maxSendKbps", "--server", address, "--token", "x")
	want := "options.maxSendKbps on nas (P56IOI7): 7\n  The daemon has: 5\n" +
		"  Template 3 \"quick\" sets it. The daemon has not got this yet.\n  Without Muster: 0\n" +
		"  template 3 \"quick\", priority 20, merge at options, line 2: 7\n    by tag home, last changed by anna, saved " +
		at.Local().Format("2006-01-02 15:04:05 MST") +
		"\n    reads the var up of tag home: 7\n  template 3 has the last word\n"
	if code != exitDone || errs != "" || out != want {
		t.Errorf("got %d and\n%s%swant\n%s", code, out, errs, want)
	}
	if asked["devices/"+idNAS+"/why"] != "key=options.maxSendKbps" {
		t.Errorf("asked for %v", asked)
	}
}

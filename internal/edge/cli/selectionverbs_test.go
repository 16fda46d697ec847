package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"

	"muster/api"
)

// forOneDevice are the commands that are told a device and take no --filter, and why.
var forOneDevice = map[string]string{
	"muster device get":        "it shows one device; device list shows many",
	"muster device edit":       "label, address and key are those of one device; tag, vars and settings take several",
	"muster device rename":     "a label is that of one device",
	"muster device set-key":    "an API key is that of one daemon",
	"muster device config":     "it prints one configuration",
	"muster device revocation": "it prints one certificate",
	"muster device at-risk":    "all daemons that share with the device are asked",
	"muster device disks":      "it shows one device; device list --disk-below shows many",
	"muster device log":        "it prints one log",
	"muster status":            "it shows one device, or all with trouble; device list shows those of a filter",
	"muster why":               "it explains one value on one device",
	"muster apply":             "a plan is applied by its digest, which is that of one device; consent is for many",
	"muster enrollment accept": "the devices are not registered yet: they have no tags and no states",
	"muster enrollment reject": "the devices are not registered yet: they have no tags and no states",
	"muster enrollment forget": "the devices are not registered yet: they have no tags and no states",
	"muster revocation delete": "the devices need not be registered: they have no tags and no states",
	"muster revision list":     "revisions are numbered by device",
	"muster revision show":     "revisions are numbered by device",
	"muster revision diff":     "revisions are numbered by device",
	"muster revision restore":  "revisions are numbered by device",
	"muster events":            "--device narrows down a list",
	"muster doctor":            "it looks at one machine",
	"muster folder failed":     "--device narrows down a list",
	"muster folder conflicts":  "--device narrows down a list",
	"muster template evaluate": "it shows one value; device list --filter names devices for it",
	"muster audit list":        "--device narrows down a list",
	"muster audit export":      "--device narrows down a list",
	"muster route set":         "its flags say of which devices people are told",
	"muster silence add":       "its flags say of which devices nobody is told",
	"muster stop":              "with --tag it sets the mode of the tag; device settings --mode takes --filter",
	"muster resume":            "with --tag it sets the mode of the tag; device settings --mode takes --filter",
}

// The settings of a hundred devices were changed by a loop in the shell, because the command took one.
func TestEveryCommandForDevicesTakesSeveralByTagAndFilter(t *testing.T) {
	unused := map[string]bool{}
	for command := range forOneDevice {
		unused[command] = true
	}
	picked := 0
	var walk func(node *kong.Node)
	walk = func(node *kong.Node) {
		for _, child := range node.Children {
			walk(child)
		}
		if len(node.Children) > 0 || !isToldADevice(node) {
			return
		}
		command, flags := node.FullPath(), map[string]*kong.Flag{}
		for _, flag := range node.Flags {
			flags[flag.Name] = flag
		}
		delete(unused, command)
		takes := flags["tag"] != nil && flags["filter"] != nil && flags["filter"].IsCumulative()
		switch reason := forOneDevice[command]; {
		case takes && reason != "":
			t.Errorf("%s takes --tag and --filter and is excused: %s", command, reason)
		case takes:
			picked++
		case reason == "":
			t.Errorf("%s takes devices: embed selecting or picking, or name it in forOneDevice with the reason", command)
		}
	}
	walk(allNodes(t))
	for command := range unused {
		t.Errorf("%s is excused, and takes no device", command)
	}
	if picked < 15 {
		t.Errorf("only %d commands take --tag and --filter", picked)
	}
}

// isToldADevice reports whether a command has an argument or a flag for devices.
func isToldADevice(node *kong.Node) bool {
	for _, argument := range node.Positional {
		if argument.Name == "device" {
			return true
		}
	}
	for _, flag := range node.Flags {
		if flag.Name == "device" {
			return true
		}
	}
	return false
}

// changeable is a server with two devices that keeps what is sent to it. It refuses settings of the NAS.
type changeable struct {
	mu    sync.Mutex // guards the rest
	sent  []string   // requests that change something, with their bodies
	query string     // of the last inventory
}

func (c *changeable) start(t *testing.T) (flags []string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		path := strings.TrimPrefix(r.URL.Path, "/api/v1/")
		var body json.RawMessage
		if r.Method != http.MethodGet {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			if path != "plan" {
				c.sent = append(c.sent, r.Method+" "+path+" "+string(body))
			}
		}
		var answer any
		switch {
		case path == "inventory":
			c.query = r.URL.RawQuery
			answer = api.Inventory{Matched: 2, Devices: twoRows}
		case path == "devices":
			answer = []api.Device{{DeviceID: idNAS, Label: "nas"}, {DeviceID: idLaptop, Label: "laptop"}}
		case strings.HasSuffix(path, "/vars"):
			answer = map[string]any{"vars": map[string]int{"kept": 1}}
		case r.Method == http.MethodPut && strings.Contains(path, idNAS):
			w.Header().Set("Content-Type", api.ProblemType)
			w.WriteHeader(http.StatusConflict)
			answer = api.Problem{Status: http.StatusConflict, Detail: "it is in doubt"}
		case strings.HasSuffix(path, "/settings"):
			answer = api.DeviceSettings{Mode: "observe", Way: "auto"}
		case path == "plan":
			answer = api.WhatIfPlan{Generation: 3}
		default:
			answer = api.AppliedChanges{Generation: 4}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return []string{"--server", server.URL, "--token", "x"}
}

func TestSettingsOfSeveralDevicesAreChangedAfterAnAnswer(t *testing.T) {
	var c changeable
	at := c.start(t)
	change := append(strings.Fields("device settings --filter os=linux --mode observe -o table"), at...)
	code, out, errs := run(t, change...)
	if code != exitRefused || len(c.sent) > 0 || !strings.Contains(out, "  nas (P56IOI7)\n  laptop (AIR6LPZ)\n") ||
		!strings.Contains(out+errs, "Change the settings of 2 devices?") || c.query != "os=linux" {
		t.Errorf("got %d, %v and\n%s%s", code, c.sent, out, errs)
	}
	code, out, errs = run(t, append(change, "--yes")...)
	if code != exitFailed || len(c.sent) != 2 || !strings.Contains(out, "laptop (AIR6LPZ)  observe  auto") ||
		!strings.Contains(errs, "1 of 2 devices keep their settings") || !strings.Contains(errs, "it is in doubt") {
		t.Errorf("got %d, %v and\n%s%s", code, c.sent, out, errs)
	}
	code, out, errs = run(t, append(strings.Fields("device settings nas laptop"), at...)...)
	if code != exitDone || strings.Count(out, "mode: observe") != 2 || !strings.Contains(out, idLaptop) {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
}

func TestSeveralDevicesAreRevokedAndGetVarsInOneChange(t *testing.T) {
	for args, want := range map[string][]string{
		"device revoke --tag gone":             {"Revoke 2 devices?", `"device":"` + idNAS, `"device":"` + idLaptop},
		"device revoke nas laptop":             {"Revoke 2 devices?", `"device":"` + idNAS, `"device":"` + idLaptop},
		"device vars --filter os=linux site=b": {"Change the vars of 2 devices?", `"site":"b"`, `"kept":1`, idLaptop},
	} {
		var c changeable
		at := c.start(t)
		code, out, errs := run(t, append(strings.Fields(args), at...)...)
		if code != exitRefused || len(c.sent) > 0 || !strings.Contains(out+errs, want[0]) {
			t.Errorf("%s: got %d, %v and\n%s%s", args, code, c.sent, out, errs)
		}
		code, out, errs = run(t, append(append(strings.Fields(args), "--yes"), at...)...)
		if code != exitDone || len(c.sent) != 1 {
			t.Fatalf("%s: got %d, %v and\n%s%s", args, code, c.sent, out, errs)
		}
		for _, text := range want[1:] {
			if !strings.Contains(c.sent[0], text) {
				t.Errorf("%s: sent %s, want %s", args, c.sent[0], text)
			}
		}
	}
	for args, want := range map[string]string{
		"device vars":                           "no device is named",
		"device vars --tag site":                "no var is given",
		"device vars laptop --tag site a=1":     "sets nothing and takes nothing out",
		"device trust --tag a --fingerprint 00": "that of one device",
		"folder pause docs --device a --tag b":  "picked as well",
	} {
		var c changeable
		at := c.start(t)
		if code, _, errs := run(t, append(strings.Fields(args), at...)...); code != exitUsage ||
			!strings.Contains(errs, want) || len(c.sent) > 0 {
			t.Errorf("%s: got %d, %v, %s", args, code, c.sent, errs)
		}
	}
}

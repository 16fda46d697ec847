package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
)

// labelsServer has devices, and keeps the labels that are stored.
func labelsServer(t *testing.T, devices ...api.Device) (address string, stored *[]string) {
	t.Helper()
	stored = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var value any = devices
		switch id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; {
		case r.Method == http.MethodPut:
			var put api.PutDevice
			_ = json.NewDecoder(r.Body).Decode(&put)
			*stored = append(*stored, *put.Label)
			value = api.Device{DeviceID: id, Label: *put.Label}
		case id != "devices":
			value = devices[0]
		}
		_ = json.NewEncoder(w).Encode(value)
	}))
	t.Cleanup(server.Close)
	return server.URL, stored
}

// `muster status vm` answered "vm may be vm, VMxxxxx": the label was as good as the first letters of any ID.
func TestAnExactLabelWinsOverTheFirstLettersOfAnID(t *testing.T) {
	two := []api.Device{{DeviceID: "VMABCDE-1", Label: "nas"}, {DeviceID: "ZZZ", Label: "vm"}}
	for name, want := range map[string]string{"vm": "ZZZ", "VM": "VMABCDE-1", "vma": "VMABCDE-1"} {
		address, _ := labelsServer(t, two...)
		server, err := client.New(address, "x")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := deviceNamed(t.Context(), server, name); err != nil || got.DeviceID != want {
			t.Errorf("%s: got %q, %v; want %s", name, got.DeviceID, err, want)
		}
	}
	address, _ := labelsServer(t, append(two, api.Device{DeviceID: "YYY", Label: "vm"})...)
	code, _, errs := run(t, "device", "get", "vm", "--token", "x", "--server", address)
	if code == exitDone || !strings.Contains(errs, "YYY") || !strings.Contains(errs, "VMABCDE") {
		t.Errorf("two with the label: got %d, %q", code, errs)
	}
}

// A mistyped label was answered by advice to read the list of all devices.
func TestTheNearestLabelIsNamedWhereNoDeviceHasOne(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := []api.Device{}
		if r.URL.Query().Get("q") == "" {
			all = append(all, api.Device{DeviceID: idNAS, Label: "karst-desk-035"},
				api.Device{DeviceID: idLaptop, Label: "nas"})
		}
		_ = json.NewEncoder(w).Encode(all)
	}))
	t.Cleanup(server.Close)
	for name, want := range map[string]string{"karst-dek-035": "Did you mean \"karst-desk-035\"? `muster device list`",
		"elsewhere": "begins so\n`muster device list` lists all"} {
		code, _, errs := run(t, "device", "get", name, "--token", "x", "--server", server.URL)
		if code != exitRefused || !strings.Contains(errs, want) {
			t.Errorf("%s: got %d, %s", name, code, errs)
		}
	}
}

func TestTheNumberOfARolloutIsAskedFor(t *testing.T) {
	code, _, errs := run(t, "rollout", "undo", "Osaka", "--token", "x", "--server", "http://127.0.0.1:1")
	if code != exitUsage ||
		!strings.Contains(errs, "\"Osaka\" is no number of a rollout; `muster rollout list` shows them") {
		t.Errorf("got %d, %s", code, errs)
	}
}

// `muster revocation delete vm` named no device while the ID of another revoked one began with VM. A whole ID is never
// a label: who enrols a device chooses its label.
func TestAnExactLabelOfARevokedDeviceWinsOverTheFirstLettersOfAnID(t *testing.T) {
	all := []api.Revocation{{DeviceID: "VMABCDE-1", Label: "nas"}, {DeviceID: "ZZZ", Label: "vm"}, {DeviceID: idNAS},
		{DeviceID: "YYY", Label: idNAS}, {DeviceID: "TWO-1", Label: "two"}, {DeviceID: "TWO-2", Label: "two"}}
	for name, want := range map[string]string{"vm": "ZZZ", "VM": "VMABCDE-1", "vma": "VMABCDE-1", idNAS: idNAS,
		idLaptop: "", "": "", "two": "TWO-1 TWO-2", "two-2": "TWO-2"} {
		var got []string
		for _, r := range revocationsNamed(all, name) {
			got = append(got, r.DeviceID)
		}
		if ids := strings.Join(got, " "); ids != want {
			t.Errorf("%q: got %q, want %q", name, ids, want)
		}
	}
}

// A second device got the label of the first without a word, and no command could name either by it.
func TestASecondEqualLabelIsAskedAbout(t *testing.T) {
	nas := api.Device{DeviceID: idNAS, Label: "nas"}
	key := write(t, t.TempDir(), "key", "k")
	home := daemonHome(t, "127.0.0.1:8384")
	for name, args := range map[string][]string{
		"add":    {"device", "add", idLaptop, "--label", "nas", "--key-file", key},
		"edit":   {"device", "edit", idLaptop, "--label", "nas"},
		"enroll": {"enroll", "--home", home, "--label", "nas", "--no-pin", "--wait", "0s"},
	} {
		for _, agreed := range []bool{false, true} {
			laptop := api.Device{DeviceID: idLaptop, Label: "laptop"}
			address, stored := labelsServer(t, laptop, nas)
			all := append(args, "--token", "x", "--server", address)
			if agreed {
				all = append(all, "--yes")
			}
			code, out, errs := run(t, all...)
			const told = "P56IOI7 has the label \"nas\" already, so commands could not tell the two apart by it."
			if !strings.Contains(out+errs, told) || strings.Contains(errs, "Warning: "+told) != agreed ||
				strings.Contains(out+errs, "[y/N]") == agreed || (code == exitDone) != agreed ||
				(len(*stored) == 1) != agreed {
				t.Errorf("%s, agreed %v: got %d, %q, %q, stored %q", name, agreed, code, out, errs, *stored)
			}
		}
	}
}

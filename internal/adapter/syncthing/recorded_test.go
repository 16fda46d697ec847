package syncthing

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

func recorded(t *testing.T, version, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", version, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const recordedID fleet.DeviceID = "A63LLS4-BCHH43Z-OP4FMIV-INY4ZQQ-KF3EX6C-7YRZOWO-R2YVEU2-MPEQVQW"

func TestStatusOfEveryVersion(t *testing.T) {
	for version, want := range map[string]fleet.Status{
		"1.12.1": {MyID: recordedID, Alloc: 30618136, DiscoveryEnabled: true, GoRoutines: 49, PathSeparator: "/",
			Sys:   75120640,
			Tilde: "/home/user", Uptime: 1635, StartTime: "2026-11-20T10:11:12.345678901+01:00"},
		"1.19.2": {MyID: recordedID, Alloc: 38803360, GoRoutines: 66, PathSeparator: "/", Sys: 56472840,
			Tilde: "/home/user", Uptime: 4, StartTime: "2026-11-21T00:27:58Z"},
		"2.1.3": {MyID: recordedID, Alloc: 61263800, DiscoveryEnabled: true, DiscoveryMethods: 3, GoRoutines: 113,
			PathSeparator: `\`, Sys: 92274688, Tilde: `C:\Users\anna`, Uptime: 57421, StartTime: "2026-11-20T08:15:30Z",
			AddressFixed: true},
	} {
		t.Run(version, func(t *testing.T) {
			got, err := parseStatus(recorded(t, version, "status.json"), &DefaultLimits)
			if err != nil || got != want {
				t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

func TestVersionOfEveryVersion(t *testing.T) {
	for version, want := range map[string]fleet.Version{
		"1.12.1": {Arch: "arm", Codename: "Fermium Flea", OS: "linux", Version: "v1.12.1",
			LongVersion: `syncthing v1.12.1 "Fermium Flea" (go1.15.5 linux-arm) teamcity@build.syncthing.net 2020-12-06 12:46:27 UTC`},
		"1.19.2": {Arch: "amd64", Codename: "Fermium Flea", OS: "linux", Version: "v1.19.2-ds1",
			LongVersion: `syncthing v1.19.2-ds1 "Fermium Flea" (go1.19.8 linux-amd64) debian@debian 2023-04-09 10:47:16 UTC [stnoupgrade]`},
		"2.1.3": {Arch: "arm64", Codename: "Hafnium Hornet", OS: "windows", Version: "v2.1.3",
			LongVersion: `syncthing v2.1.3 "Hafnium Hornet" (go1.26.2 windows-arm64) builder@github.syncthing.net 2026-07-07 06:42:11 UTC`},
	} {
		t.Run(version, func(t *testing.T) {
			got, err := parseVersion(recorded(t, version, "version.json"), &DefaultLimits)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

func TestSummaryOfEveryVersion(t *testing.T) {
	for file, want := range map[string]fleet.FolderSummary{
		"1.12.1/summary.json": {GlobalBytes: 384, GlobalDirectories: 1, GlobalFiles: 2, LocalBytes: 384, LocalDirectories: 1,
			LocalFiles:  2,
			InSyncBytes: 384, InSyncFiles: 2, Sequence: 3, Version: 3, State: "idle",
			StateChanged: time.Date(2026, 11, 20, 9, 11, 15, 100_000_000, time.UTC)},
		"1.19.2/summary.json": {GlobalBytes: 5, GlobalFiles: 1, LocalBytes: 5, LocalFiles: 1, InSyncBytes: 5, InSyncFiles: 1,
			IgnorePatterns: true, Sequence: 1, Version: 1, State: "idle",
			StateChanged: time.Date(2026, 11, 21, 0, 28, 1, 0, time.UTC)},
		"1.19.2/summary-broken.json": {State: "error", Error: "folder path missing",
			StateChanged: time.Date(2026, 11, 21, 0, 28, 2, 0, time.UTC)},
		"2.1.3/summary.json": {GlobalBytes: 9007199254740993, GlobalDeleted: 4, GlobalDirectories: 3, GlobalFiles: 12,
			GlobalSymlinks: 1,
			LocalBytes:     4096, LocalDeleted: 2, LocalDirectories: 3, LocalFiles: 10, LocalSymlinks: 1, InSyncFiles: 10,
			NeedBytes: 512, NeedDeletes: 1, NeedFiles: 2, Sequence: 77, Version: 77, State: "idle",
			Failed: 2, StateChanged: time.Date(2026, 11, 20, 22, 59, 59, 123_456_789, time.UTC),
			Indexes: fleet.PeersOf([]fleet.DeviceID{"OJ7IX4N-QV3UE4P-6MFMXF2-PTITOD7-IAT5DKP-L74LPVY-JAPFO2W-DEBHKQO"})},
	} {
		t.Run(file, func(t *testing.T) {
			want.Folder = "photos"
			got, err := parseSummary("photos", recorded(t, filepath.Dir(file), filepath.Base(file)), &DefaultLimits)
			if err != nil || got != want {
				t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

func TestEventsOfEveryVersion(t *testing.T) {
	t.Run("1.19.2", func(t *testing.T) {
		events, err := parseEvents(recorded(t, "1.19.2", "events.json"), &DefaultLimits)
		if err != nil || len(events) < 10 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		seen := map[string]bool{}
		for i, e := range events {
			seen[e.Type] = true
			if e.ID != int64(i+1) {
				t.Errorf("event %d has number %d", i+1, e.ID)
			}
			if e.Type == "ConfigSaved" && e.Data != nil {
				t.Error("the data of a ConfigSaved, with its secrets, was kept")
			}
			if e.Type == "FolderSummary" && e.Folder == "photos" && (e.Summary == nil || e.Summary.GlobalFiles != 1) {
				t.Errorf("summary %+v", e.Summary)
			}
			if e.Type == "StateChanged" && e.Folder == "broken" && e.State == "error" && e.Error != "folder path missing" {
				t.Errorf("folder broken went to error: %q", e.Error)
			}
			if e.Type == "DeviceConnected" && e.Peer == "" {
				t.Errorf("a device connected, and which is not told: %+v", e)
			}
		}
		for _, kind := range []string{"ConfigSaved", "FolderSummary", "StateChanged", "DeviceConnected"} {
			if !seen[kind] {
				t.Errorf("the recording holds no %s", kind)
			}
		}
	})
	t.Run("2.1.3", func(t *testing.T) {
		events, err := parseEvents(recorded(t, "2.1.3", "events.json"), &DefaultLimits)
		if err != nil || len(events) != 5 {
			t.Fatalf("%d events, %v", len(events), err)
		}
		if e := events[0]; e.Folder != "photos" || e.State != "scanning" || e.Error != "" ||
			!e.At.Equal(time.Date(2026, 11, 20, 23, 10, 0, 0, time.UTC)) {
			t.Errorf("StateChanged: %+v", e)
		}
		items := []fleet.FailedItem{{Path: "a/b", Text: "permission denied"}, {Path: "c", Text: "disk full"}}
		if e := events[1]; e.Folder != "photos" || e.Failed != 2 || !slices.Equal(e.Items, items) {
			t.Errorf("FolderErrors: %+v", e)
		}
		if e := events[2]; !bytes.Contains(e.Data, []byte("tablet")) {
			t.Errorf("PendingDevicesChanged: %s", e.Data)
		}
		if e := events[3]; e.Summary == nil || e.Summary.NeedFiles != 1 || e.Summary.State != "syncing" {
			t.Errorf("FolderSummary: %+v", e.Summary)
		}
	})
}

func TestIgnoresThatCannotBeReadAreNotEmpty(t *testing.T) {
	for file, want := range map[string]struct {
		lines []string
		code  fleet.Code
	}{
		"1.19.2/ignores.json":               {[]string{"*.tmp", "// x", "(?i)y"}, ""},
		"2.1.3/ignores-bad-pattern.json":    {[]string{"[", "*.tmp"}, ""},
		"2.1.3/ignores-unknown-folder.json": {nil, fleet.CodeUnavailable},
	} {
		t.Run(file, func(t *testing.T) {
			got, err := parseIgnores(recorded(t, filepath.Dir(file), filepath.Base(file)), &DefaultLimits)
			if fleet.CodeOf(err) != want.code || !slices.Equal(got, want.lines) {
				t.Fatalf("got %q, %v", got, err)
			}
		})
	}
	if got, err := parseIgnores([]byte(`{"expanded":null,"ignore":null}`), &DefaultLimits); err != nil || got == nil ||
		len(got) != 0 {
		t.Fatalf("a folder without patterns: %q, %v", got, err)
	}
}

func TestConfigIsGivenAsItIs(t *testing.T) {
	f := newFake(t, fakeOptions{})
	want := recorded(t, "1.19.2", "config.json")
	f.handle("/rest/config", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(want) })
	c := newClient(t, f.target(), Limits{})
	if got, err := c.Config(t.Context()); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
	}
	for name, body := range map[string]string{"a list": "[]", "half": `{"a":`, "text": `"x"`, "nothing": "",
		"HTML": "<html>"} {
		f.answer("/rest/config", body)
		_, err := c.Config(t.Context())
		if fleet.CodeOf(err) != fleet.CodeUnbelievable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADaemonBefore112IsReadTheOldWay(t *testing.T) {
	f := newFake(t, fakeOptions{})
	f.handle("/rest/config", func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) })
	f.answer("/rest/system/config", `{"version":32}`)
	c := newClient(t, f.target(), Limits{})
	_, err := c.Config(t.Context())
	wantCode(t, err, fleet.CodeUnsupported)
	if got, err := c.SystemConfig(t.Context()); err != nil || string(got) != `{"version":32}` {
		t.Fatalf("%s, %v", got, err)
	}
}

func TestRequestsForFoldersAreEscaped(t *testing.T) {
	f := newFake(t, fakeOptions{})
	const id = "a b/c?d#e%f+g&h=ü\n"
	var folders []string
	note := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			folders = append(folders, r.URL.Query().Get("folder"))
			_, _ = io.WriteString(w, body)
		}
	}
	f.handle("/rest/db/status", note(`{}`))
	f.handle("/rest/db/ignores", note(`{"ignore":[]}`))
	c := newClient(t, f.target(), Limits{})
	if _, err := c.Summary(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ignores(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := c.SetIgnores(t.Context(), id, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{id, id, id}; !slices.Equal(folders, want) {
		t.Fatalf("asked for %q", folders)
	}
}

func TestEventsAreAskedForWithTheFixedMask(t *testing.T) {
	f := newFake(t, fakeOptions{})
	var asked string
	f.handle("/rest/events", func(w http.ResponseWriter, r *http.Request) {
		asked = fmt.Sprint(r.URL.Query()["events"], r.URL.Query()["since"], r.URL.Query()["limit"], r.URL.Query()["timeout"])
		_, _ = io.WriteString(w, "[]")
	})
	if _, err := newClient(t, f.target(), Limits{}).Events(t.Context(), 41, 250, 50e9); err != nil {
		t.Fatal(err)
	}
	want := "[ConfigSaved,FolderSummary,StateChanged,DeviceConnected,DeviceDisconnected,FolderErrors," +
		"PendingDevicesChanged,PendingFoldersChanged] [41] [250] [50]"
	if asked != want {
		t.Fatalf("asked for %s\nwant %s", asked, want)
	}
}

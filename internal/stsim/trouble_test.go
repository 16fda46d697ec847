package stsim

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/test/wait"
)

const handbook = "handbook" // the folder that every daemon of a farm has

// status reads the numbers of the handbook.
func status(t *testing.T, d *Daemon) stconfig.Value {
	t.Helper()
	return get(t, d, "/rest/db/status?folder="+handbook)
}

// upToDate makes the handbook the same on all daemons.
func upToDate(t *testing.T, d *Daemon) {
	t.Helper()
	if err := d.HealFolder(handbook); err != nil {
		t.Fatal(err)
	}
}

func TestAStoppedFolderSaysWhy(t *testing.T) {
	eachVersion(t, func(t *testing.T, d *Daemon) {
		get(t, d, "/rest/events?timeout=0&events=StateChanged,FolderErrors")
		for why, text := range map[Problem]string{
			PathMissing: "folder path missing", MarkerMissing: "folder marker missing (this indicates",
			NoSpace: "insufficient space on disk for database (", NoPermission: "/.stfolder: permission denied",
			OtherProblem: "input/output error",
		} {
			if err := d.StopFolder(handbook, why); err != nil {
				t.Fatal(err)
			}
			s := status(t, d)
			if s.Get("state").Str() != "error" || !strings.Contains(s.Get("error").Str(), text) {
				t.Errorf("%s: state %q, error %q, want %q", why, s.Get("state").Str(), s.Get("error").Str(), text)
			}
			if got := get(t, d, "/rest/folder/errors?folder="+handbook).Get("errors"); got.Kind() != stconfig.Null {
				t.Errorf("%s: errors of files are %s, want null", why, got.JSON())
			}
			upToDate(t, d)
			if s := status(t, d); s.Get("state").Str() != "idle" || s.Get("error").Str() != "" {
				t.Errorf("healed: state %q, error %q", s.Get("state").Str(), s.Get("error").Str())
			}
		}
		if log := get(t, d, "/rest/system/error").Get("errors"); log.Kind() != stconfig.Array {
			t.Errorf("the daemon's log has no warnings: %s", log.JSON())
		}
	})
}

func TestItemsThatFailComeInPages(t *testing.T) {
	eachVersion(t, func(t *testing.T, d *Daemon) {
		upToDate(t, d)
		get(t, d, "/rest/events?timeout=0&events=FolderErrors")
		if err := d.FailItems(handbook, 5, NoSpace); err != nil {
			t.Fatal(err)
		}
		s := status(t, d)
		if s.Get("errors").Str() != "5" || s.Get("pullErrors").Str() != "5" || s.Get("needFiles").Str() != "5" ||
			s.Get("state").Str() != "idle" {
			t.Errorf("numbers are %s", s.JSON())
		}
		var paths []string
		for number := 1; number <= 4; number++ {
			for item := range get(t, d, fmt.Sprintf("/rest/folder/errors?folder=%s&page=%d&perpage=2", handbook,
				number)).Get("errors").Values() {
				paths = append(paths, item.Get("path").Str())
				if !strings.Contains(item.Get("error").Str(), "insufficient space in folder") {
					t.Errorf("error is %q", item.Get("error").Str())
				}
			}
		}
		if len(paths) != 5 {
			t.Fatalf("pages have %v, want five paths", paths)
		}
		if got := eventsSince(t, d, "FolderErrors"); len(got) != 1 {
			t.Errorf("events are %v, want one FolderErrors", got)
		}
		file := get(t, d, "/rest/db/file?folder="+handbook+"&file="+paths[0])
		if file.Get("global").Get("name").Str() != paths[0] || file.Get("local").Get("name").Str() != "" {
			t.Errorf("the file that failed is %s", file.JSON())
		}
		if rest := get(t, d, "/rest/db/need?folder="+handbook).Get("rest"); rest.Len() != 5 {
			t.Errorf("needed are %s, want five files", rest.JSON())
		}
	})
}

func TestATransferComesToItsEndAndAStallDoesNot(t *testing.T) {
	eachVersion(t, func(t *testing.T, d *Daemon) {
		upToDate(t, d)
		get(t, d, "/rest/events?timeout=0&events=StateChanged,FolderSummary")
		if err := d.Transfer(handbook, Transfer{Files: 10, Bytes: 1 << 20, Rate: 16 << 20}); err != nil {
			t.Fatal(err)
		}
		wait.For(t, "the folder has everything", func() bool {
			s := status(t, d)
			return s.Get("state").Str() == "idle" && s.Get("needBytes").Str() == "0" && s.Get("needFiles").Str() == "0"
		})
		if err := d.Transfer(handbook, Transfer{Files: 1, Bytes: 7}); err != nil {
			t.Fatal(err)
		}
		if s := status(t, d); s.Get("state").Str() != "syncing" || s.Get("needBytes").Str() != "7" {
			t.Errorf("numbers are %s, want 7 bytes that do not come", s.JSON())
		}
		upToDate(t, d)
		if s := status(t, d); s.Get("state").Str() != "idle" {
			t.Errorf("state is %s", s.Get("state").Str())
		}
	})
}

func TestReceiveOnlyAndSendOnlyFoldersAreSetRight(t *testing.T) {
	eachVersion(t, func(t *testing.T, d *Daemon) {
		upToDate(t, d)
		call(t, d, "PATCH", "/rest/config/folders/"+handbook, `{"type":"receiveonly"}`)
		if err := d.EditLocally(handbook, 2, 200); err != nil {
			t.Fatal(err)
		}
		if s := status(t, d); s.Get("receiveOnlyChangedFiles").Str() != "2" || s.Get("receiveOnlyTotalItems").Str() != "2" ||
			s.Get("receiveOnlyChangedBytes").Str() != "200" || s.Get("needTotalItems").Str() != "0" {
			t.Errorf("edited: %s", s.JSON())
		}
		if files := get(t, d, "/rest/db/localchanged?folder="+handbook).Get("files"); files.Len() != 2 {
			t.Errorf("changed are %s, want two files", files.JSON())
		}
		call(t, d, "POST", "/rest/db/revert?folder="+handbook, "")
		if s := status(t, d); s.Get("receiveOnlyTotalItems").Str() != "0" {
			t.Errorf("reverted: %s", s.JSON())
		}
		call(t, d, "PATCH", "/rest/config/folders/"+handbook, `{"type":"sendonly"}`)
		if err := d.Lag(handbook, 3, 300); err != nil {
			t.Fatal(err)
		}
		if s := status(t, d); s.Get("needFiles").Str() != "3" {
			t.Errorf("out of sync: %s", s.JSON())
		}
		call(t, d, "POST", "/rest/db/override?folder="+handbook, "")
		if s := status(t, d); s.Get("needTotalItems").Str() != "0" {
			t.Errorf("overridden: %s", s.JSON())
		}
	})
}

func TestIslandsKnowWhatTheyKnew(t *testing.T) {
	f := startFarm(t, Options{Count: 2, Versions: []Version{V2}})
	a, b := f.Daemon(0), f.Daemon(1)
	connected := func() string {
		return string(get(t, a, "/rest/system/connections").Get("connections").Get(string(b.ID())).Get("connected").JSON())
	}
	heard := func() string { return status(t, a).Get("remoteSequence").Get(string(b.ID())).Str() }
	before := heard()
	if connected() != "true" || before != status(t, b).Get("sequence").Str() {
		t.Fatalf("connected %s, sequence %q", connected(), before)
	}
	get(t, a, "/rest/events?timeout=0&events=DeviceConnected,DeviceDisconnected")
	a.Disconnect(b)
	if err := b.SetSummary(handbook, func(s *fleet.FolderSummary) { s.Sequence += 10 }); err != nil {
		t.Fatal(err)
	}
	if connected() != "false" || heard() != before {
		t.Errorf("cut off: connected %s, sequence %s, want %s", connected(), heard(), before)
	}
	if err := restart(b); err != nil {
		t.Fatal(err)
	}
	if connected() != "false" {
		t.Error("a restart connects them")
	}
	b.Connect(a)
	if connected() != "true" || heard() != status(t, b).Get("sequence").Str() {
		t.Errorf("connected %s, sequence %s", connected(), heard())
	}
	if got := eventsSince(t, a, "DeviceConnected,DeviceDisconnected"); len(got) != 2 {
		t.Errorf("events are %v", got)
	}
	remote := get(t, a, "/rest/db/completion?folder="+handbook+"&device="+string(b.ID()))
	if got := remote.Get("remoteState").Str(); got != "valid" {
		t.Errorf("state of the peer is %q", got)
	}
	call(t, a, "PATCH", "/rest/config/folders/"+handbook, `{"paused":true}`)
	if s := status(t, a); s.Get("state").Str() != "" || s.Get("remoteSequence").Kind() != stconfig.Null ||
		s.Get("globalFiles").Str() != "0" {
		t.Errorf("paused: %s", s.JSON())
	}
}

func TestAConflictIsToldAndCounted(t *testing.T) {
	eachVersion(t, func(t *testing.T, d *Daemon) {
		loser, err := d.Conflict(handbook, "2016/plan.txt")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(loser, "2016/plan.sync-conflict-") || !strings.HasSuffix(loser, "-"+d.ID().Short()+".txt") {
			t.Errorf("it is called %q", loser)
		}
		found := false
		for e := range get(t, d, "/rest/events/disk?timeout=0").Values() {
			found = found || e.Get("data").Get("path").Str() == loser
		}
		if !found {
			t.Error("the events of the disk do not have it")
		}
		request, err := http.NewRequest(http.MethodGet, d.URL()+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-API-Key", d.APIKey())
		response, err := client(t, d.farm).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		counted := strings.Contains(string(text), `syncthing_model_folder_conflicts_total{folder="handbook"} 1`)
		if counted != (d.Version() == V2) {
			t.Errorf("metrics are %s", text)
		}
	})
}

func TestStatisticsNameDevicesAndFolders(t *testing.T) {
	f := startFarm(t, Options{Count: 2})
	for _, d := range f.Daemons() {
		for id, stats := range get(t, d, "/rest/stats/device").Members() {
			if seen := stats.Get("lastSeen").Str(); (id == string(d.ID())) != (seen < "2000") {
				t.Errorf("%s: device %s was seen %s", d.Version(), id, seen)
			}
		}
		if scan := get(t, d, "/rest/stats/folder").Get(handbook).Get("lastScan").Str(); scan == "" {
			t.Errorf("%s: no time of the last scan", d.Version())
		}
		if lines := get(t, d, "/rest/system/log").Get("messages"); lines.Len() == 0 {
			t.Errorf("%s: the log has no lines", d.Version())
		}
	}
}

package agent

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
	"muster/test/wait"
)

// someDisks are facts about folders with a marker, in directories of the test.
func someDisks(t *testing.T, folders ...string) (d *disks, root string) {
	t.Helper()
	root = t.TempDir()
	paths := diskPaths{home: root}
	for _, name := range folders {
		if err := os.MkdirAll(filepath.Join(root, name, ".stfolder"), 0o700); err != nil {
			t.Fatal(err)
		}
		paths.folders = append(paths.folders, HomeFolder{ID: name, Path: filepath.Join(root, name), Marker: ".stfolder"})
	}
	d = newDisks(nil)
	d.paths = func() (diskPaths, error) { return paths, nil }
	return d, root
}

func (d *disks) presence(folder int) [2]fleet.Presence {
	return [2]fleet.Presence{d.told.Folders[folder].Path, d.told.Folders[folder].Marker}
}

func TestADriveThatIsTakenAwayIsMissing(t *testing.T) {
	t.Parallel()
	d, root := someDisks(t, "photos", "music")
	d.measure()
	there := [2]fleet.Presence{fleet.PresenceThere, fleet.PresenceThere}
	if got := d.presence(0); got != there || d.version() != 1 {
		t.Fatalf("got %v in version %d", got, d.version())
	}
	if space := d.told.Folders[0].Space; space.Total <= 0 || space.Free <= 0 || space.Free > space.Total ||
		d.told.Home.Total != space.Total {
		t.Errorf("got %+v and %+v of the home", space, d.told.Home)
	}
	for _, step := range []struct {
		name string
		do   func() error
		want [2]fleet.Presence
	}{
		{"the marker goes, as of a drive that was unmounted", func() error {
			return os.Remove(filepath.Join(root, "photos/.stfolder"))
		}, [2]fleet.Presence{fleet.PresenceThere, fleet.PresenceMissing}},
		{"the path goes", func() error { return os.Remove(filepath.Join(root, "photos")) },
			[2]fleet.Presence{fleet.PresenceMissing, fleet.PresenceUnknown}},
		{"a file is in its place", func() error { return os.WriteFile(filepath.Join(root, "photos"), nil, 0o600) },
			[2]fleet.Presence{fleet.PresenceThere, fleet.PresenceMissing}},
		{"all comes back", func() error {
			_ = os.Remove(filepath.Join(root, "photos"))
			return os.MkdirAll(filepath.Join(root, "photos/.stfolder"), 0o700)
		}, there},
	} {
		before := d.version()
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		d.measure()
		if got := d.presence(0); got != step.want || d.presence(1) != there {
			t.Errorf("%s: got %v, want %v", step.name, got, step.want)
		}
		if d.version() != before+1 {
			t.Errorf("%s: it is not told", step.name)
		}
		if step.want[0] == fleet.PresenceMissing && d.told.Folders[0].Space != (tunnel.Space{}) {
			t.Errorf("%s: a path that is missing has %+v", step.name, d.told.Folders[0].Space)
		}
	}
}

// An agent in a container, or in a service that sees nothing of /home, told that every drive was missing.
func TestAPathThatTheAgentNeverSawIsNotMissing(t *testing.T) {
	t.Parallel()
	d, root := someDisks(t)
	d.paths = func() (diskPaths, error) {
		return diskPaths{home: root, folders: []HomeFolder{
			{ID: "a", Path: filepath.Join(root, "elsewhere"), Marker: ".stfolder"},
			{ID: "b", Path: "relative", Marker: ".stfolder"}, {ID: "c", Marker: ".stfolder"},
			{ID: "d", Path: root, Marker: ".stfolder"},
		}}, nil
	}
	d.measure()
	for i, f := range d.told.Folders {
		if want := i == 3; (f.Path == fleet.PresenceThere) != want || f.Path == fleet.PresenceMissing ||
			f.Marker != fleet.PresenceUnknown {
			t.Errorf("%+v", f)
		}
	}
}

func TestLittleChangesOfADiskAreNotTold(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	of := func(free, total int64) tunnel.Space { return tunnel.Space{Free: free, Total: total} }
	for name, test := range map[string]struct {
		told, found tunnel.Space
		want        bool
	}{
		"nothing":             {of(50*gib, 100*gib), of(50*gib, 100*gib), false},
		"half a hundredth":    {of(50*gib, 100*gib), of(50*gib-gib/2, 100*gib), false},
		"two hundredths":      {of(50*gib, 100*gib), of(52*gib, 100*gib), true},
		"a tenth of the rest": {of(gib, 1000*gib), of(gib/2, 1000*gib), true},
		"over the line":       {of(5*gib+1, 100*gib), of(5*gib-1, 100*gib), true},
		"another disk":        {of(gib, 2*gib), of(gib, 3*gib), true},
		"not known any more":  {of(gib, 2*gib), of(0, 0), true},
		"never known":         {of(0, 0), of(0, 0), false},
	} {
		if got := changedMuch(tunnel.Disks{Home: test.told}, tunnel.Disks{Home: test.found}); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// A network drive that does not answer kept the agent from telling anything.
func TestADiskThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := newDisks(nil)
		d.find = func(path string) finding {
			if path == "/mnt/nas" {
				<-release
			}
			return finding{tunnel.Space{Free: 1, Total: 2}, fleet.PresenceThere}
		}
		d.paths = func() (diskPaths, error) {
			return diskPaths{"/home", []HomeFolder{{ID: "nas", Path: "/mnt/nas", Marker: "m"},
				{ID: "here", Path: "/here", Marker: "m"}}}, nil
		}
		for range 3 {
			d.measure()
		}
		if d.told.Folders[0].Path != fleet.PresenceUnknown || d.told.Folders[1].Marker != fleet.PresenceThere ||
			len(d.hanging) != 1 {
			t.Errorf("got %+v, %d hang", d.told, len(d.hanging))
		}
		close(release)
		synctest.Wait()
		d.measure()
		if d.told.Folders[0].Path != fleet.PresenceThere || len(d.hanging) != 0 {
			t.Errorf("got %+v", d.told)
		}
	})
}

func TestTheMessageAboutDisksIsBounded(t *testing.T) {
	t.Parallel()
	d := newDisks(nil)
	for i := range 1000 {
		d.told.Folders = append(d.told.Folders, tunnel.FolderDisk{Folder: strings.Repeat("x", 200) + strconv.Itoa(i)})
	}
	text := d.message()
	var told tunnel.Disks
	if err := json.Unmarshal(text, &told); err != nil || len(text) > tunnel.MaxDisksBytes || len(told.Folders) < 100 {
		t.Errorf("%d bytes, %d folders, %v", len(text), len(told.Folders), err)
	}
}

func TestFoldersOfAHome(t *testing.T) {
	user := emptyUser(t)
	h := &Home{Dir: "/x"}
	err := h.parse([]byte(`<configuration><gui><address>127.0.0.1:8384</address></gui>
		<folder id="a" path="~/Sync"><filesystemType>basic</filesystemType><markerName>.stfolder</markerName></folder>
		<folder id="b" path="/srv/b"><markerName>m</markerName>
		<versioning type="simple"><fsPath>old</fsPath></versioning></folder>
		<folder id="c" path="~"><versioning><fsPath>/v</fsPath><fsType>basic</fsType></versioning></folder>
		<folder id="d" path="~other/x"></folder><folder id="e" path="/fake"><filesystemType>fake</filesystemType></folder>
		</configuration>`))
	if err != nil {
		t.Fatal(err)
	}
	want := []HomeFolder{{"a", user + "/Sync", ".stfolder", ""}, {"b", "/srv/b", "m", "/srv/b/old"},
		{"c", user, ".stfolder", "/v"}, {"d", "~other/x", ".stfolder", ""}, {"e", "", ".stfolder", ""}}
	if !slices.Equal(h.Folders, want) {
		t.Errorf("got %+v", h.Folders)
	}
}

func TestTheManagerLearnsOfDisksByANumberOnAnswers(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	a := started(t, d, m, nil)
	c := m.accept()
	wait.For(t, "the disks are measured", func() bool { return a.disks.version() > 0 })
	for _, path := range []string{"/rest/system/status", "/rest/system/shutdown"} {
		answer, err := c.Get("http://agent" + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := answer.Header.Get(tunnel.DisksHeader); got != "1" {
			t.Errorf("%s: got the number %q", path, got)
		}
	}
	var told tunnel.Disks
	if _, _, text := c.ask(http.MethodGet, tunnel.DisksPath, nil, nil); json.Unmarshal([]byte(text), &told) != nil ||
		told.Home.Total <= 0 {
		t.Errorf("got %s", text)
	}
}

func TestTheReturnOfTheDaemonIsToldAtOnce(t *testing.T) {
	t.Parallel()
	d, m := newFakeDaemon(t, nil), newFakeManager(t, tunnel.ALPN)
	started(t, d, m, nil)
	c := m.accept()
	if status, _, _ := c.ask(http.MethodGet, tunnel.DaemonPath, nil, nil); status != http.StatusNoContent {
		t.Errorf("of a daemon that is there: got %d", status)
	}
	d.server.Close()
	if status, code, _ := c.ask(http.MethodGet, "/rest/system/status", nil, nil); code != tunnel.ErrorUnreachable {
		t.Errorf("got %d %s", status, code)
	}
	answered := make(chan int)
	go func() {
		status, _, _ := c.ask(http.MethodGet, tunnel.DaemonPath, nil, nil)
		answered <- status
	}()
	select {
	case status := <-answered:
		t.Fatalf("of a daemon that is away: got %d", status)
	default:
	}
	d.start("key two")
	if status := <-answered; status != http.StatusNoContent {
		t.Errorf("got %d", status)
	}
	if status, code, _ := c.ask(http.MethodGet, "/rest/system/status", nil, nil); status != http.StatusOK {
		t.Errorf("after that: got %d %s", status, code)
	}
}

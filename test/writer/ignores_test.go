package writer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// A folder that is new on a daemon never scans what its template has it ignore.
func TestANewFolderStartsWithItsIgnorePatterns(t *testing.T) {
	s, d := server.Start(t, server.Options{}), daemon.Start(t, daemon.Options{})
	path := filepath.Join(d.Home, "data")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kept.txt", "scratch.tmp"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	through := newProxy(t, d)
	s.Register(d.ID, d.APIKey, through.host, through.port, "t")
	s.Template("set", "ignores.data", `["*.tmp"]`, "t")
	s.Template("merge", "folders", `[{id: "data", path: "~/data"}]`, "t")
	wait.Until(t, func() string {
		var folder struct {
			Paused bool
		}
		if status, _ := d.Do("GET", "/rest/config/folders/data", nil); status != 200 {
			return "the folder is not there"
		}
		if d.GetJSON("/rest/config/folders/data", &folder); folder.Paused {
			return "the folder is paused"
		}
		var summary struct{ LocalFiles int }
		if d.GetJSON("/rest/db/status?folder=data", &summary); summary.LocalFiles != 1 {
			return fmt.Sprintf("the folder has %d files", summary.LocalFiles)
		}
		return ""
	})
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	want := []string{"PUT /rest/config/folders", "POST /rest/db/ignores", "PATCH /rest/config/folders/data"}
	if got := through.writes(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var patterns struct{ Ignore []string }
	if d.GetJSON("/rest/db/ignores?folder=data", &patterns); !slices.Equal(patterns.Ignore, []string{"*.tmp"}) {
		t.Errorf("the patterns are %q", patterns.Ignore)
	}
}

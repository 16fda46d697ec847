package guard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
)

// TestAnAuthorReadsNoFileByAnInclude covers ignore patterns that include a file through a symbolic link, which another
// device can send. The daemon follows it and quotes what it reads in the folder's error (1.19.2); nothing was held.
func TestAnAuthorReadsNoFileByAnInclude(t *testing.T) {
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{})
	folder := d.AddFolder("photos")
	const line = "[a line of a key"
	outside := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(outside, []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	upward, err := filepath.Rel(folder, outside)
	if err != nil {
		t.Fatal(err)
	}
	for _, include := range []string{"#include link", "#include " + upward} {
		status, body := d.Do("POST", "/rest/db/ignores?folder=photos", map[string]any{"ignore": []string{include}})
		if status != 200 || !strings.Contains(string(body), line) {
			t.Logf("this daemon does not follow %s: %d %s", include, status, body)
		}
	}
	d.Post("/rest/db/ignores?folder=photos", map[string]any{"ignore": []string{}})
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	author := as(t, s, fleet.RoleAuthor)
	for _, include := range []string{"#include link", "#include " + upward, "#include " + outside} {
		id := author.Template("set", "ignores.photos", `["*.tmp", "`+include+`"]`, "office")
		s.WaitReason(d.ID, string(fleet.ConfigHeld), "includes the file")
		if ignores := string(d.Get("/rest/db/ignores?folder=photos")); strings.Contains(ignores, "#include") {
			t.Errorf("%s: the daemon has the patterns %s", include, ignores)
		}
		if err := s.Client.DeleteTemplate(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	}
}

package cli

import (
	"strings"
	"testing"

	"muster/api"
)

// Conflicts could be listed of one folder only, and `muster waiting` names no files.
func TestConflictsAreListedOfAllFolders(t *testing.T) {
	file := func(path string) []api.ConflictFile { return []api.ConflictFile{{Path: path}} }
	answers := map[string]any{
		"overview/folders": []api.FolderOverview{{Folder: "music"}},
		"waiting": api.Waiting{Groups: []api.WaitingGroup{{Cause: "conflicts", Subject: "photos"},
			{Cause: "conflicts", Subject: "music"}, {Cause: "stalled", Subject: "docs"}}},
		"folders/music/conflicts": file("a.sync-conflict"), "folders/photos/conflicts": file("b.sync-conflict"),
		"devices": []api.Device{},
	}
	address, asked := serving(t, answers)
	code, out, errs := run(t, "folder", "conflicts", "--server", address, "--token", "x")
	if code != exitDone || errs != "" || strings.Count(out, "a.sync-conflict") != 1 ||
		!strings.Contains(out, "photos") || asked["overview/folders"] != "state=conflicts" {
		t.Errorf("got %d, %s, %s and %v", code, out, errs, asked)
	}
	_, out, _ = run(t, "folder", "conflicts", "-o", "json", "--server", address, "--token", "x")
	if !strings.Contains(out, `"folder": "music"`) {
		t.Errorf("got %s", out)
	}
	answers["waiting"], answers["overview/folders"] = api.Waiting{}, []api.FolderOverview{}
	if _, out, _ := run(t, "folder", "conflicts", "--server", address, "--token", "x"); out !=
		"No folder waits because of conflicts.\n" {
		t.Errorf("got %s", out)
	}
}

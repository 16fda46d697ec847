package cli

import (
	"strings"
	"testing"

	"muster/api"
	"muster/client"
)

// `muster folder get Music` found nothing where the folder's ID is music and its label Music.
func TestAFolderIsNamedByItsLabelWhereNoOtherHasIt(t *testing.T) {
	address, _ := serving(t, map[string]any{"overview/folders": []api.FolderOverview{{Folder: "music", Label: "Music"},
		{Folder: "Docs", Label: "twin"}, {Folder: "pics", Label: "twin"}, {Folder: "twins", Label: "Docs"}}})
	server, err := client.New(address, "x")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"music": "music", "Music": "music", "Docs": "Docs",
		"elsewhere": "elsewhere"} {
		if got, err := folderNamed(t.Context(), server, name); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %s", name, got, err, want)
		}
	}
	for _, command := range []string{"folder get", "folder who", "folder failed", "folder conflicts", "folder copies",
		"folder history",
		"folder pause", "folder resume", "folder rescan", "folder override", "folder revert", "file"} {
		for name, want := range map[string]string{
			"twin":  "2 folders have the label \"twin\": Docs, pics\nGive the ID of one.",
			"musik": "no folder has the ID or the label \"musik\"\nDid you mean \"music\"?",
		} {
			args := append(strings.Fields(command), name, "--server", address, "--token", "x")
			if command == "file" {
				args = append(args, "a.txt")
			}
			if code, _, errs := run(t, args...); code == exitDone || !strings.Contains(errs, want) {
				t.Errorf("%s %s: got %d and %s", command, name, code, errs)
			}
		}
	}
}

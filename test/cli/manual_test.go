package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/test/server"
)

var (
	fileOfPage    = regexp.MustCompile("(?s)`(\\w+\\.(?:hjson|star))`.*?\n```\\w+\n(.*?)```")
	commandOfPage = regexp.MustCompile(`(?m)^    (muster [^#\n]*)`)
)

// A person who types what the page of the first template says gets what it says. The script puts the tag on the laptop,
// as accepting it does; its agent is tested elsewhere.
func TestTheCommandsOfTheFirstTemplate(t *testing.T) {
	page, err := os.ReadFile("../../docs/first-template.md")
	if err != nil {
		t.Fatal(err)
	}
	script := "muster device tag team laptop --yes\n"
	ran := 0
	for _, found := range commandOfPage.FindAllStringSubmatch(string(page), -1) {
		command := strings.TrimSpace(found[1])
		verb := strings.Join(strings.Fields(command)[1:min(3, len(strings.Fields(command)))], " ")
		switch {
		case strings.HasPrefix(verb, "agent"), verb == "enrollment accept",
			verb == "folder get": // the daemons may not have the folder yet
			continue
		case slices.Contains([]string{"template put", "template delete", "device tag"}, verb) &&
			!strings.Contains(command, "--dry-run"):
			command += " --yes"
		}
		script += strings.ReplaceAll(command, `"`, `'`) + "\n"
		ran++
		if verb == "why laptop" {
			script += "stdout 'Upload limit'\n"
		}
	}
	files := fileOfPage.FindAllStringSubmatch(string(page), -1)
	if ran < 8 || len(files) != 2 {
		t.Fatalf("the page has %d commands and %d files", ran, len(files))
	}
	for _, file := range files {
		script += "-- " + file[1] + " --\n" + file[2]
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page.txtar"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	runScripts(t, dir, server.Options{Mode: fleet.ModeOn})
}

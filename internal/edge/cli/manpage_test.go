package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestManPagesHaveEveryCommandAndFlag(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := run(t, manWord, dir, "1.2.3", "2026-01-31")
	if code != exitDone || out != "" || errs != "" {
		t.Fatalf("got %d %s%s", code, out, errs)
	}
	pages := map[string]string{}
	for _, node := range shownIn(allNodes(t)) {
		text, err := os.ReadFile(filepath.Join(dir, pageName(node)+".1"))
		if err != nil {
			t.Fatal(err)
		}
		pages[node.Name] = string(text)
		for _, leaf := range leavesOf(node) {
			lacking(t, string(text), leaf)
		}
	}
	index, err := os.ReadFile(filepath.Join(dir, "muster.1"))
	if err != nil || !strings.Contains(string(index), "130 interrupted") {
		t.Errorf("muster.1 has no exit codes: %v", err)
	}
	for name := range pages {
		if !strings.Contains(string(index), escaped("muster-"+name)+" (1)") {
			t.Errorf("muster.1 does not name muster-%s", name)
		}
	}
	if home, err := os.UserHomeDir(); err == nil && strings.Contains(pages["serve"], home+"/") {
		t.Error("a page names the home of the person who built it")
	}
	lint(t, dir)
}

func lacking(t *testing.T, page string, leaf *kong.Node) {
	t.Helper()
	for _, group := range leaf.AllFlags(true) {
		for _, flag := range group {
			if !strings.Contains(page, `\fB\-\-`+escaped(flag.Name)+`\fR`) {
				t.Errorf("the page of %s has no --%s", leaf.FullPath(), flag.Name)
			}
		}
	}
	if !strings.Contains(page, ".B muster "+escaped(strings.TrimPrefix(leaf.Summary(), "muster "))+"\n") {
		t.Errorf("the page of %s does not say how it is typed", leaf.FullPath())
	}
}

// lint has the programs that format pages look for mistakes, where they are.
func lint(t *testing.T, dir string) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"mandoc", "-T", "lint", "-W", "warning"}, {"groff", "-man", "-ww", "-z"}} {
		if _, err := exec.LookPath(command[0]); err != nil {
			continue
		}
		found, err := exec.Command(command[0], append(command[1:], pages...)...).CombinedOutput()
		if err != nil || len(found) > 0 {
			t.Errorf("%s: %v\n%s", command[0], err, found)
		}
	}
}

package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
)

// onTerminal runs a command whose output is a terminal of 24 lines, and returns what the person reads.
func onTerminal(t *testing.T, args ...string) (code int, text, errs string) {
	t.Helper()
	terminal, person := newTerminal(t)
	read := make(chan string)
	go func() {
		var all strings.Builder
		_, _ = io.Copy(&all, person) // The terminal ends with an error once its other side is closed.
		read <- all.String()
	}()
	var problems strings.Builder
	code = Run(t.Context(), args, Streams{In: strings.NewReader(""), Out: terminal, Err: &problems}, "test")
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
	return code, strings.ReplaceAll(<-read, "\r\n", "\n"), problems.String()
}

// manyTags is a server with so many tags.
func manyTags(t *testing.T, count int) (flags []string) {
	t.Helper()
	var tags []string
	for range count {
		tags = append(tags, "tag-of-a-long-list")
	}
	address, _ := serving(t, map[string]any{"tags": tags, "devices": []api.Device{}})
	return []string{"--server", address, "--token", "x"}
}

func TestALongListIsShownInPagesOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	pages := filepath.Join(t.TempDir(), "pages")
	t.Setenv("PAGER", "cat > "+pages+"; echo paged")
	long := append([]string{"tag", "list"}, manyTags(t, 60)...)
	code, text, errs := onTerminal(t, long...)
	written, err := os.ReadFile(pages)
	if code != exitDone || text != "paged\n" || errs != "" || err != nil || strings.Count(string(written), "\n") != 61 {
		t.Errorf("got %d, %q, %s, %v and %d bytes in the pager", code, text, errs, err, len(written))
	}
	for name, args := range map[string][]string{
		"a short list": append([]string{"tag", "list"}, manyTags(t, 3)...), "no pager": append(long, "--no-pager"),
	} {
		if code, text, _ := onTerminal(t, args...); code != exitDone || !strings.HasPrefix(text, "TAG\n") {
			t.Errorf("%s: got %d, %q", name, code, text)
		}
	}
	for _, pager := range []string{"", "cat", "muster-has-no-such-pager"} {
		t.Setenv("PAGER", pager)
		if code, text, _ := onTerminal(t, long...); code != exitDone || strings.Count(text, "\n") < 61 {
			t.Errorf("PAGER=%q: got %d, %q", pager, code, text)
		}
	}
	t.Setenv("PAGER", "echo paged")
	t.Setenv("TERM", "dumb")
	if _, text, _ := onTerminal(t, long...); strings.Contains(text, "paged") {
		t.Errorf("on a dumb terminal: got %q", text)
	}
	t.Setenv("TERM", "xterm")
	if code, out, errs := run(t, long...); code != exitDone || !strings.HasPrefix(out, "TAG\n") {
		t.Errorf("in a pipe: got %d, %s%s", code, out, errs)
	}
}

func TestAPagerThatIsLeftEarlyIsNoFailure(t *testing.T) {
	t.Setenv("TERM", "xterm")
	long := append([]string{"tag", "list"}, manyTags(t, 20_000)...)
	for _, pager := range []string{"true", "head -1 > /dev/null", "head -1 > /dev/null; exit 2", "kill -INT $$"} {
		t.Setenv("PAGER", pager)
		if code, text, errs := onTerminal(t, long...); code != exitDone || text != "" || errs != "" {
			t.Errorf("PAGER=%q: got %d, %.80q, %s", pager, code, text, errs)
		}
	}
}

// A pager that did not know its own options showed nothing of the list, and the command succeeded.
func TestATextThatThePagerDoesNotReadIsPrinted(t *testing.T) {
	t.Setenv("TERM", "xterm")
	for _, lines := range []int{60, 20_000} { // The second text does not fit into a pipe.
		long := append([]string{"tag", "list"}, manyTags(t, lines)...)
		for _, pager := range []string{"false", "echo no such option; exit 1", "muster-has-no-such-pager"} {
			t.Setenv("PAGER", pager)
			if code, text, _ := onTerminal(t, long...); code != exitDone || strings.Count(text, "tag-of-a-long-list") != lines {
				t.Errorf("PAGER=%q: got %d, %.80q", pager, code, text)
			}
		}
	}
}

// The exit code of a list belongs to what it says, and not to the pager.
func TestACommandInPagesKeepsItsErrors(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("PAGER", "true")
	code, _, errs := onTerminal(t, append([]string{"template", "list"}, manyTags(t, 1)...)...)
	if code == exitDone || errs == "" {
		t.Errorf("got %d, %s", code, errs)
	}
}

package cli

import (
	"os/exec"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestFilesAreCalledAfterTheirCommit(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", dir)
	git := func(args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a",
			"-c", "user.email=a@b.invalid", "-c", "commit.gpgSign=false"}, args...)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if got := commitSubject(t.Context(), dir); got != "" {
		t.Errorf("outside of a work tree: got %q", got)
	}
	git("init", "--quiet")
	if got := commitSubject(t.Context(), dir); got != "" {
		t.Errorf("before the first commit: got %q", got)
	}
	git("commit", "--quiet", "--allow-empty", "-m", "berlin: 2 MB/s\n\nThe line is slow.")
	if got := commitSubject(t.Context(), dir); got != "berlin: 2 MB/s" {
		t.Errorf("got %q", got)
	}
	// A repository's settings must not start a program.
	git("config", "log.showSignature", "true")
	git("config", "gpg.program", "/bin/false")
	git("commit", "--quiet", "--allow-empty", "-m", strings.Repeat("long ", 60))
	if got := commitSubject(t.Context(), dir); fleet.CheckMessage(got) != nil || !strings.HasSuffix(got, "…") {
		t.Errorf("a long subject: got %q", got)
	}
}

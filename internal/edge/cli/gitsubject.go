package cli

import (
	"context"
	"os/exec"
	"strings"

	"muster/internal/fleet"
)

// commitSubject is the subject of the commit that is checked out in a directory; "" outside of a work tree, before the
// first commit, or without git. Settings of the repository that start a program are overruled.
func commitSubject(ctx context.Context, dir string) string {
	out, err := exec.CommandContext(ctx, "git", "-C", dir, "--no-pager", "-c", "log.showSignature=false", "log",
		"--max-count=1", "--no-show-signature", "--no-color", "--format=%s").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(fleet.OneLine(strings.TrimSpace(string(out))))
}

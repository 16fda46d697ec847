package cli

import (
	"strings"
	"testing"
)

// `muster stop --tag "$UNSET"` stopped the whole fleet, and `muster tag protect ""` named a path of the API.
func TestABlankArgumentIsNoWholeFleet(t *testing.T) {
	t.Setenv("MUSTER_TOKEN", "any")
	for _, command := range []string{"tag protect |", "tag delete -y |", "device tag | laptop",
		"device tag office laptop |", "folder get |", "status |", "stop --tag |", "resume --tag |", "status --tag |",
		"user enable |", "session end -y |"} {
		args := strings.Fields(command)
		for i := range args {
			args[i] = strings.TrimPrefix(args[i], "|")
		}
		code, out, errs := run(t, append(args, "--server", "http://127.0.0.1:1")...)
		if code != exitUsage || out != "" || !strings.Contains(errs, "is blank\n") || !strings.Contains(errs, " --help`.") {
			t.Errorf("%s: got %d and %s%s", command, code, out, errs)
		}
	}
}

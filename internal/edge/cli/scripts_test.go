package cli

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// elsewhere are the commands whose right input needs more than a server and its daemons, and so is in no script, and
// the tests that give it.
var elsewhere = map[string]string{
	"serve":                "test/server",
	"sim":                  "test/scale",
	"backup":               "test/backup",
	"restore":              "test/backup",
	"admin reset":          "this package",
	"admin single-sign-on": "test/signon",
	"enroll":               "test/enroll",
	"enrollment accept":    "test/enroll",
	"enrollment reject":    "test/enroll",
	"enrollment forget":    "test/enroll",
	"audit accept-loss":    "test/audit",
	"channel test":         "internal/app",
	"agent run":            "test/agent",
	"agent status":         "test/agent",
	"agent install":        "this package",
	"agent uninstall":      "this package",
	"pending accept":       "test/pending",
	"pending dismiss":      "test/pending",
	"rollout pause":        "test/rollout",
	"rollout halt":         "the manual, in test/cli",
	"rollout resume":       "test/rollout",
	"rollout undo":         "test/rollout",
	"rollout waves":        "test/rollout",
	"consent give":         "test/rollout",
	"doctor":               "this package",
	"logout":               "this package",
	"user password":        "this package",
	"tag upgrade":          "test/order",
	"folder override":      "test/order",
	"folder revert":        "test/order",
	"folder watch":         "this package",
}

// A command without a script was noticed by nobody when it broke.
func TestEveryCommandHasAScriptWithRightAndWithWrongInput(t *testing.T) {
	right, wrong := scriptedCommands(t)
	eachCommand(allNodes(t), func(command string, _ map[string]*kong.Flag) {
		command, _, _ = strings.Cut(strings.TrimPrefix(command, "muster "), " (")
		if !wrong(command) {
			t.Errorf("no script in test/cli/testdata has `! muster %s`", command)
		}
		switch where, named := elsewhere[command]; {
		case !named && !right(command):
			t.Errorf("no script in test/cli/testdata has `muster %s`", command)
		case named && right(command):
			t.Errorf("%s has a script: take it off the list of those that are tested in %s", command, where)
		}
	})
}

// scriptedCommands tell whether the scripts have a command with right, and with wrong input.
func scriptedCommands(t *testing.T) (right, wrong func(command string) bool) {
	t.Helper()
	var all strings.Builder
	scripts := os.DirFS("../../../test/cli/testdata")
	err := fs.WalkDir(scripts, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".txtar") {
			return err
		}
		text, err := fs.ReadFile(scripts, path)
		all.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	has := func(before string) func(string) bool {
		return func(command string) bool {
			return regexp.MustCompile(`(?m)^` + before + `muster ` + command + `([ )"]|$)`).MatchString(all.String())
		}
	}
	return has(`(exec .*|)`), has(`! (exec .*|)`)
}

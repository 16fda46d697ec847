package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// asksNothing are the commands with such a verb that do not ask, and why.
var asksNothing = map[string]string{
	"muster restore": "it fills an empty home, and refuses one that is not empty",
}

// muster user delete, secret delete, token delete and rollout undo did their work without a question.
func TestEveryCommandThatTakesSomethingAwayAsks(t *testing.T) {
	verbs, found := map[string]bool{"delete": true, "revoke": true, "end": true, "forget": true, "remove": true,
		"dismiss": true, "reject": true, "undo": true, "untag": true, "restore": true, "disable": true}, 0
	eachCommand(allNodes(t), func(command string, flags map[string]*kong.Flag) {
		command, _, _ = strings.Cut(command, " (") // an alias
		words := strings.Fields(command)
		if !verbs[words[len(words)-1]] || asksNothing[command] != "" {
			return
		}
		if found++; flags["yes"] == nil {
			t.Errorf("%s has no --yes: embed asking, or name it in asksNothing with the reason", command)
		}
	})
	if found < 17 {
		t.Errorf("found %d commands", found)
	}
}

// --colour always coloured what NO_COLOR was set for.
func TestNoColourWinsOverEveryFlag(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	for _, how := range []string{"auto", "always", "never"} {
		if coloured(how, &bytes.Buffer{}) {
			t.Errorf("--colour %s colours although NO_COLOR is set", how)
		}
	}
	t.Setenv("NO_COLOR", "")
	if !coloured("always", &bytes.Buffer{}) {
		t.Error("--colour always does not colour")
	}
}

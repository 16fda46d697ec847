package cli

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// describe adds an example and the exit codes to the help of each command, which the manual pages have, too.
func describe(node *kong.Node) {
	for _, child := range node.Children {
		describe(child)
	}
	if len(node.Children) > 0 || node.Hidden || node.Type != kong.CommandNode {
		return
	}
	command := strings.TrimPrefix(node.FullPath(), "muster ")
	command, _, _ = strings.Cut(command, " (") // other names of the command
	var parts []string
	if example := examples[command]; example != "" && !strings.Contains(node.Detail, "  "+example+"\n") {
		parts = append(parts, "Example:\n\n  "+example)
	}
	if node.Detail != "" {
		parts = append(parts, node.Detail)
	}
	node.Detail = strings.Join(append(parts, exitsOf(command, node)), "\n\n")
}

// exitsOf are the exit codes of a command, in a sentence.
func exitsOf(command string, node *kong.Node) string {
	codes := []string{"0 done", "1 failed", "2 wrong arguments"}
	asksServer := slices.ContainsFunc(node.Flags, func(f *kong.Flag) bool { return f.Name == "server" })
	switch {
	case exitsWith3[command] != "":
		codes = append(codes, "3 refused, or "+exitsWith3[command])
	default:
		codes = append(codes, "3 refused")
	}
	if asksServer {
		codes = append(codes, "4 no server answers")
	}
	if exitsWith5[command] {
		codes = append(codes, "5 something would change")
	}
	return "Exit codes: " + strings.Join(append(codes, "130 interrupted"), ", ") + "."
}

// exitsWith3 are the commands with a second meaning of exit code 3.
var exitsWith3 = map[string]string{
	"status":        "something waits for a person",
	"rollout watch": "the rollout was halted, undone or superseded",
	"apply":         "with --wait: something waits for a person, or a device cannot be reached",
}

// exitsWith5 are the commands that say by exit code 5 that something would change.
var exitsWith5 = map[string]bool{"plan": true}

package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-runewidth"
)

// withoutOutput are the commands whose print has a form of its own, and why.
var withoutOutput = map[string]string{
	"muster serve":                "it prints a log",
	"muster worker":               "its output is a protocol",
	"muster completion":           "it prints a script",
	"muster sim":                  "it prints one JSON object for each daemon",
	"muster agent run":            "it prints a log",
	"muster agent status":         "it is for the person at the machine",
	"muster agent install":        "it is for the person at the machine",
	"muster agent uninstall":      "it is for the person at the machine",
	"muster enroll":               "it is for the person at the machine",
	"muster login":                "it starts a session for the commands after it",
	"muster logout":               "it ends that session",
	"muster restore":              "it runs once, on an empty machine",
	"muster admin reset":          "it runs while the server is stopped",
	"muster admin single-sign-on": "it runs while the server is stopped",
	"muster audit export":         "it prints lines of JSON",
	"muster export":               "it writes files",
	"muster plan":                 "it has text, json and markdown",
	"muster apply":                "plan prints the same for programs",
	"muster test":                 "its exit code is for programs",
}

func TestEveryCommandThatPrintsTakesTheSameOutputs(t *testing.T) {
	eachCommand(allNodes(t), func(command string, flags map[string]*kong.Flag) {
		flag, has := flags[outputFlag]
		if reason, excused := withoutOutput[command]; excused {
			if has && strings.Contains(flag.Enum, "name") {
				t.Errorf("%s takes --output and is excused: %s", command, reason)
			}
			return
		}
		if !has {
			t.Errorf("%s has no --output: embed output, or name it in withoutOutput with the reason", command)
			return
		}
		for _, how := range []string{"table", "json", "yaml", "csv", "name"} {
			if !strings.Contains(","+flag.Enum+",", ","+how+",") {
				t.Errorf("%s does not take -o %s, but %s", command, how, flag.Enum)
			}
		}
		if flag.Short != 'o' || len(flag.Envs) > 0 {
			t.Errorf("%s: --output has the letter %q and the variables %v", command, flag.Short, flag.Envs)
		}
	})
}

// A script that wrote --yes for one command wrote -y for the other, and was asked.
func TestFlagsThatMeanTheSameAreCalledTheSame(t *testing.T) {
	eachCommand(allNodes(t), func(command string, flags map[string]*kong.Flag) {
		for name, short := range map[string]rune{"yes": 'y', "watch": 'w', "output": 'o'} {
			if flag := flags[name]; flag != nil && (flag.Short != short || len(flag.Envs) > 0) {
				t.Errorf("%s: --%s has the letter %q and the variables %v", command, name, flag.Short, flag.Envs)
			}
		}
		_, client := flags["server"]
		_, quiet := flags["quiet"]
		if _, login := withoutOutput[command]; client && !quiet && !login {
			t.Errorf("%s has no --quiet", command)
		}
	})
}

// eachCommand goes through the commands that can be run.
func eachCommand(node *kong.Node, visit func(command string, flags map[string]*kong.Flag)) {
	if len(node.Children) == 0 {
		flags := map[string]*kong.Flag{}
		for _, flag := range node.Flags {
			flags[flag.Name] = flag
		}
		visit(node.FullPath(), flags)
	}
	for _, child := range node.Children {
		eachCommand(child, visit)
	}
}

func TestRowsFitTheTerminalAndTheFirstColumnStaysWhole(t *testing.T) {
	widths := []int{20, 60, 9, 40}
	fit(widths, 80)
	if total(widths) != 80 || widths[0] != 20 || widths[2] < leastColumn || widths[3]-widths[1] > 1 {
		t.Errorf("got %v", widths)
	}
	fit(widths, 10)
	if widths[0] != 20 || widths[1] != leastColumn {
		t.Errorf("got %v", widths)
	}
	var out bytes.Buffer
	table := newTable(&out)
	_, _ = table.Write([]byte("NAME\tWHAT\n東京\tx\nab\tlonger\n"))
	if err := table.Flush(); err != nil || out.String() != "NAME  WHAT\n東京  x\nab    longer\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if got := runewidth.Truncate("abcdef", 4, "…"); got != "abc…" {
		t.Errorf("got %q", got)
	}
}

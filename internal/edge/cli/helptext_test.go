package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestTheHelpOfEveryCommandHasAnExampleThatRunsAndItsExitCodes(t *testing.T) {
	var model commands
	parser, all, unused := modelOf(t, &model), parsers{}, map[string]bool{}
	for command := range examples {
		unused[command] = true
	}
	describe(parser.Model.Node)
	for _, node := range leavesOf(parser.Model.Node) {
		if node.Hidden {
			continue
		}
		command := strings.TrimPrefix(node.FullPath(), "muster ")
		command, _, _ = strings.Cut(command, " (")
		delete(unused, command)
		typed, begins := strings.CutPrefix(examples[command], "muster "+command)
		if !begins || typed != "" && typed[0] != ' ' {
			t.Errorf("%s: the example is %q", command, examples[command])
			continue
		}
		if err := all.parse(t, shellWords(t, command+typed, t.TempDir())); err != nil {
			t.Errorf("muster %s%s: %v", command, typed, err)
		}
		if !strings.Contains(node.Detail, "muster "+command) || !strings.Contains(node.Detail, "Exit codes: 0 done") {
			t.Errorf("%s: the help has no example or no exit codes:\n%s", command, node.Detail)
		}
	}
	for command := range unused {
		t.Errorf("an example is for %q, which is no command", command)
	}
	_, out, _ := run(t, "plan", "--help")
	if !strings.Contains(out, "muster plan -f fleet") || !strings.Contains(out, "5 something would change") {
		t.Errorf("got\n%s", out)
	}
}

// `muster help` was no command.
func TestHelpIsAlsoAWord(t *testing.T) {
	for _, command := range []string{"", "device", "device list"} {
		words := strings.Fields(command)
		_, want, _ := run(t, append(words, "--help")...)
		if code, out, errs := run(t, append([]string{"help"}, words...)...); code != exitDone || out != want || errs != "" {
			t.Errorf("muster help %s: got %d and\n%s%s", command, code, out, errs)
		}
	}
	if code, _, errs := run(t, "help", "nothing"); code != exitUsage {
		t.Errorf("of no command: got %d and %s", code, errs)
	}
}

// placeholdersOf are the flags that have several placeholders, because their values differ.
var placeholdersOf = map[string]bool{
	"address": true, // of a device, or the URL of a sink
	"file":    true, // a directory, where it is a fleet
	"keep":    true, // keys of one plan, or no value
	"key":     true, // of a configuration, or that of a signature
	"server":  true, // a name counts only where somebody may have logged in
	"value":   true, // of several keys, or of one change
}

// lettersOf are the flags that have a letter in some commands only.
var lettersOf = map[string]bool{
	"all": true, // -v, where it means that more is printed
}

// `--folder` took an ID in one command and a FOLDER in another, and --source a NAME or a SOURCE.
func TestAFlagHasTheSamePlaceholderAndLetterInEveryCommand(t *testing.T) {
	placeholders, letters := map[string][]string{}, map[string][]string{}
	eachCommand(allNodes(t), func(command string, flags map[string]*kong.Flag) {
		for name, flag := range flags {
			note := func(all map[string][]string, what string) {
				if !slices.Contains(all[name], what) {
					all[name] = append(all[name], what)
				}
			}
			if placeholder := strings.TrimSuffix(flag.FormatPlaceHolder(), ",..."); !flag.HasDefault && !flag.IsBool() {
				note(placeholders, placeholder)
			}
			note(letters, string(flag.Short))
		}
	})
	for name, all := range placeholders {
		if len(all) > 1 && !placeholdersOf[name] {
			t.Errorf("--%s takes %q", name, all)
		}
	}
	for name, all := range letters {
		if len(all) > 1 && !lettersOf[name] {
			t.Errorf("--%s has the letters %q", name, all)
		}
	}
}

// kindsWithoutValues are the kinds that completion offers nothing for, because only a person knows them.
var kindsWithoutValues = func() map[string]bool {
	kinds := map[string]bool{}
	for _, kind := range strings.Fields("TEXT TIME DURATION AFTER PERCENT N N|N% LIST WAVES NUMBER FROM TO ENTRY PORT " +
		"ID HOST HOST:PORT ADDRESS URL CIDR HEX SHA256:HEX HEAD CODE DIGEST TOKEN RECIPIENT NAME LABEL VALUE VAR FIELD " +
		"KEY=NAME NAME=VALUE NAME=FILE HOW PATTERN WHAT TYPE SCOPE ROLE=GROUP USER") {
		kinds[kind] = true
	}
	return kinds
}()

// The shells offered nothing for many words that Muster knows.
func TestEveryKindOfValueIsCompletedOrOnlyAPersonKnowsIt(t *testing.T) {
	for _, node := range leavesOf(allNodes(t)) {
		at := typed{node: node, given: map[string][]string{}}
		check := func(value *kong.Value, placeholder string) {
			asked := ""
			found := at.valuesOf(value, placeholder, "", func(kind string) []candidate { asked = kind; return nil })
			if len(found) > 0 || asked == "" || lookups[asked] != nil || asked == "CONTEXT" || kindsWithoutValues[asked] {
				return
			}
			t.Errorf("%s: nothing is offered for %s, of the kind %s", node.FullPath(), value.Name, asked)
		}
		for _, argument := range node.Positional {
			check(argument, strings.ToUpper(argument.Name))
		}
		for _, flag := range node.Flags {
			if !flag.IsBool() && !flag.Hidden {
				check(flag.Value, placeholderOf(flag))
			}
		}
	}
}

func TestTheFlagsOfACommandComeBeforeThoseOfEveryCommand(t *testing.T) {
	_, out, _ := run(t, "folder", "share", "--help")
	last := -1
	for _, text := range []string{"--path=", "--encrypted-with=", "Flags of every command:", "--server=",
		"Flags of every change:", "--dry-run"} {
		at := strings.Index(out, "  "+text)
		if strings.HasPrefix(text, "Flags") {
			at = strings.Index(out, text)
		}
		if at <= last {
			t.Errorf("%q is at %d, after %d:\n%s", text, at, last, out)
		}
		last = at
	}
}

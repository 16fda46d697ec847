package cli

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"muster/api"
)

var (
	printedCommand = regexp.MustCompile("`muster ([^`]+)`")
	numberVerb     = regexp.MustCompile(`%(\[1\])?d|\b(ID|ENTRY)\b`)
	flagsAfter     = regexp.MustCompile(`(\w)%s`) // Flags follow with their own blank.
	otherVerb      = regexp.MustCompile(`%[+#]?[a-z]`)
	bracedWord     = regexp.MustCompile(`\{\w*\}`)
	// incomplete are the errors about a command that ends too early, and no others.
	incomplete = regexp.MustCompile(`^expected ("<|one of )|^missing flags: |^--\S+: expected \w+ value but got "EOL"`)
)

// explained are the commands that sentences name without their arguments to say what they are for, by the file. No
// other text does: it says what to type.
var explained = map[string]bool{
	"edge/cli/deviceedit.go: device trust": true, "edge/cli/enrollmentaccept.go: device edit": true,
	"edge/cli/plan.go: export": true, "edge/cli/test.go: device config": true,
}

// exampleOf is a command of a source with an example for each of its values.
func exampleOf(command string) string {
	typed, _, _ := strings.Cut(command, " > ") // The rest is the shell's.
	typed = numberVerb.ReplaceAllString(flagsAfter.ReplaceAllString(typed, "$1"), "1")
	return bracedWord.ReplaceAllString(otherVerb.ReplaceAllString(typed, "X"), "X")
}

// `muster enrollment accept 3XULYLF` was printed, and accept takes no short ID; other hints named flags of the past.
// The next step of a paused folder was `muster device resume`, without a device.
func TestEveryCommandThatMusterPrintsIsUnderstood(t *testing.T) {
	all, parsed := parsers{}, 0
	unused := maps.Clone(explained)
	for where, texts := range literals(t) {
		for _, text := range texts {
			for _, found := range printedCommand.FindAllStringSubmatch(text, -1) {
				typed := exampleOf(found[1])
				if strings.HasPrefix(typed, "X") || strings.Contains(typed, "--help") {
					continue
				}
				parsed++
				err := all.parse(t, shellWords(t, typed, t.TempDir()))
				place := strings.TrimPrefix(where, "../../") + ": " + typed
				if err != nil && !(explained[place] && incomplete.MatchString(err.Error())) {
					t.Errorf("%s: muster %s: %v", where, found[1], err)
				}
				delete(unused, place)
			}
		}
	}
	if parsed < 150 {
		t.Errorf("%d commands were found", parsed)
	}
	for place := range unused {
		t.Errorf("%s: no text names it", place)
	}
}

var (
	inQuotes = regexp.MustCompile("`[^`]*`")
	// inSentence are commands in a sentence, without quotes.
	inSentence = regexp.MustCompile(`\bmuster ([a-z][a-z-]*(?: [a-z][a-z-]*)*)`)
	// alone are commands that are a text of their own, or its end.
	alone = regexp.MustCompile(`(?:^|: )muster ([a-z][^\n]*)$`)
)

// notCommands are texts that are signed or kept, sentences about the name muster, and a command whose verb is a value:
// TestCommandsOfEachCauseRun types it.
var notCommands = regexp.MustCompile(`^(audit|audit end|audit head|counted|device statement|mark|roster)( \d| %|$)|` +
	`^seal key id|^for |^rollout %s`)

// Sentences name commands without quotes, too, as in the help of a flag.
func TestEveryCommandThatATextNamesExists(t *testing.T) {
	all, found, parsed := parsers{}, 0, 0
	for where, texts := range literals(t) {
		for _, text := range texts {
			text = inQuotes.ReplaceAllString(text, "")
			for _, words := range inSentence.FindAllStringSubmatch(text, -1) {
				if notCommands.MatchString(words[1]) {
					continue
				}
				found++
				if err := exists(allNodes(t), strings.Fields(words[1])); err != nil {
					t.Errorf("%s: muster %s: %v", where, words[1], err)
				}
			}
			typed := alone.FindStringSubmatch(text)
			if typed == nil || notCommands.MatchString(typed[1]) {
				continue
			}
			parsed++
			if err := all.parse(t, shellWords(t, exampleOf(typed[1]), t.TempDir())); err != nil {
				t.Errorf("%s: muster %s: %v", where, typed[1], err)
			}
		}
	}
	if found < 200 || parsed < 150 {
		t.Errorf("%d commands were found, %d were parsed", found, parsed)
	}
}

// exists returns an error for words that lead to no command. Other words may follow a command that runs.
func exists(node *kong.Node, words []string) error {
	for _, word := range words {
		i := slices.IndexFunc(node.Children, func(child *kong.Node) bool {
			return child.Name == word || slices.Contains(child.Aliases, word)
		})
		switch {
		case i >= 0:
			node = node.Children[i]
		case node.Leaf() || node.DefaultCmd != nil:
			return nil
		default:
			return fmt.Errorf("%s has no command %s", cmp.Or(node.FullPath(), "muster"), word)
		}
	}
	return nil
}

// "unexpected argument" counted as "expected", so that a command with a wrong argument was taken for a short one.
func TestAPrintedCommandWithAWrongArgumentIsNoShortOne(t *testing.T) {
	all := parsers{}
	for typed, short := range map[string]bool{
		"device add": true, "secret": true, "apply -f": true, "token create": true,
		"device show X Y": false, "export --nonsense": false, "secret lists": false, "rollout list X": false,
		"token create --name n --role king": false, "serve --demo many": false, "": true,
	} {
		err := all.parse(t, strings.Fields(typed))
		if err == nil || incomplete.MatchString(err.Error()) != short {
			t.Errorf("muster %s: %v, want that it is taken for a short command: %t", typed, err, short)
		}
	}
}

// literals are the texts in the sources of the program, by file.
func literals(t *testing.T) map[string][]string {
	t.Helper()
	all := literalsBelow(t, "../..")
	for _, dir := range []string{"../../../api", "../../../client", "../../../cmd"} {
		maps.Copy(all, literalsBelow(t, dir))
	}
	return all
}

// literalsBelow are the texts in the sources of a directory, by file, with what is put together of several.
func literalsBelow(t *testing.T, dir string) map[string][]string {
	t.Helper()
	texts := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch e := n.(type) {
			case *ast.BinaryExpr:
				if e.Op == token.ADD {
					texts[path] = append(texts[path], textOf(e))
					return false
				}
			case *ast.BasicLit:
				if e.Kind == token.STRING {
					texts[path] = append(texts[path], textOf(e))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// The ID of a device was cut to seven letters, and a folder's command had the name of a placeholder in it.
func TestTheCommandOfWhatWaitsHasItsValues(t *testing.T) {
	devices := []api.WaitingDevice{{DeviceID: firstAsking, Values: map[string]string{"deviceID": firstAsking,
		"pendingID": "f-1", "path": "~/Sync/it's"}}}
	for command, want := range map[string]string{
		"muster enrollment accept {deviceID}":             "muster enrollment accept " + firstAsking,
		"muster apply {deviceID}":                         "muster apply MZJU2GB",
		"muster pending accept {pendingID} --path {path}": `muster pending accept f-1 --path '~/Sync/it'\''s'`,
	} {
		if got := commandOf(api.WaitingAction{Command: command}, devices); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

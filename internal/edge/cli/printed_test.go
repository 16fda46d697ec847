package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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

// `muster enrollment accept 3XULYLF` was printed, and accept takes no short ID; other hints named flags of the past.
// The next step of a paused folder was `muster device resume`, without a device.
func TestEveryCommandThatMusterPrintsIsUnderstood(t *testing.T) {
	all, parsed := parsers{}, 0
	unused := maps.Clone(explained)
	for where, texts := range literalsBelow(t, "../..") {
		for _, text := range texts {
			for _, found := range printedCommand.FindAllStringSubmatch(text, -1) {
				typed, _, _ := strings.Cut(found[1], " > ") // The rest is the shell's.
				typed = numberVerb.ReplaceAllString(flagsAfter.ReplaceAllString(typed, "$1"), "1")
				typed = bracedWord.ReplaceAllString(otherVerb.ReplaceAllString(typed, "X"), "X")
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

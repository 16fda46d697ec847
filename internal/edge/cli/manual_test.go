package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// A command of the manual that is mistyped helps nobody at night.
func TestTheCommandsOfTheManualAreUnderstood(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	all, parsed := parsers{}, 0
	for _, page := range append(pages, "../../../README.md") {
		manual, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		for _, typed := range commandsOf(string(manual)) {
			if strings.Contains(typed, "--help") {
				continue
			}
			parsed++
			if err := all.parse(t, shellWords(t, typed, folder)); err != nil {
				t.Errorf("%s: muster %s: %v", filepath.Base(page), typed, err)
			}
		}
	}
	if parsed < 100 {
		t.Errorf("the manual has %d commands", parsed)
	}
}

// unset forgets which flags and arguments the last command had: the parser itself resets only their values.
func unset(parser *kong.Kong) {
	_ = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		switch node := node.(type) {
		case *kong.Flag:
			node.Set = false
		case *kong.Value:
			node.Set = false
		}
		return next(nil)
	})
}

var (
	commandBlock = regexp.MustCompile(`(?m)^ {4,8}(?:\$ )?(?:bin/)?muster ([^#\n]*)`)
	wordOf       = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
)

// commandsOf are the commands that stand alone on a line of a block.
func commandsOf(page string) []string {
	var all []string
	page = strings.ReplaceAll(page, "\\\n", " ") // a command may go on in the next line
	for _, found := range commandBlock.FindAllStringSubmatch(page, -1) {
		typed, _, _ := strings.Cut(found[1], " > ") // of the shell
		all = append(all, strings.TrimSpace(typed))
	}
	return all
}

// shellWords splits a command into its words. Files in /etc/muster are made in a folder, since some have to be there.
func shellWords(t *testing.T, typed, folder string) []string {
	t.Helper()
	words := wordOf.FindAllString(typed, -1)
	for i, word := range words {
		words[i] = strings.Trim(word, `"'`)
		name, isFile := strings.CutPrefix(word, "/etc/muster/")
		if !isFile {
			continue
		}
		words[i] = filepath.Join(folder, name)
		if err := os.WriteFile(words[i], []byte("text\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return words
}

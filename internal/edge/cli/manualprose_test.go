package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// notTyped are texts of the manual that begin like commands: lines that are signed, and the name of a process.
var notTyped = map[string]bool{"audit 1": true, "audit head 1": true, "worker": true}

// Sentences of the manual name commands, too, often without their arguments. None was run or read by a test: a command
// or a flag in them that does not exist is found here.
func TestEveryCommandInTheSentencesOfTheManualIsUnderstood(t *testing.T) {
	all, parsed := parsers{}, 0
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range printedCommand.FindAllStringSubmatch(string(text), -1) {
			typed, _, _ := strings.Cut(strings.Join(strings.Fields(found[1]), " "), " > ") // The rest is the shell's.
			if strings.ContainsAny(typed, "…|") || strings.Contains(typed, "--help") {
				continue
			}
			if typed = numberVerb.ReplaceAllString(typed, "1"); notTyped[typed] {
				continue
			}
			parsed++
			err := all.parse(t, shellWords(t, typed, t.TempDir()))
			if err != nil && (strings.Contains(err.Error(), "unexpected") || !incomplete.MatchString(err.Error())) {
				t.Errorf("%s: muster %s: %v", filepath.Base(page), typed, err)
			}
		}
	}
	if parsed < 50 {
		t.Errorf("%d commands were found", parsed)
	}
}

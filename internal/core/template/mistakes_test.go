package template

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every file holds a mistake that people make; its section "want" holds the message. A message says what is wrong and,
// as a hint, how to mend it, in words that are not the parser's.
func TestFiftyMistakesAreExplained(t *testing.T) {
	files, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil || len(files) < 50 {
		t.Fatalf("got %d mistakes, %v, want 50 or more", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			testGolden(t, file)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, want, _ := strings.Cut(string(text), "-- want --\n")
			if !strings.Contains(want, "\nhint: ") {
				t.Errorf("nothing says how to mend it:\n%s", want)
			}
			if found := parsersWords.FindString(want); found != "" {
				t.Errorf("%q is said by the parser, for people who know it:\n%s", found, want)
			}
		})
	}
}

var parsersWords = regexp.MustCompile(`got .+, want|primary expression|field or method|unexpected input character|` +
	`not an identifier|conditional expression|outdent`)

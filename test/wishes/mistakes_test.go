package wishes

import (
	"regexp"
	"testing"

	"golang.org/x/tools/txtar"
)

// A mistake is a file with a template, and with all that Muster says of it: when it is saved, and in the plans.
func TestEightyMistakesAreSaid(t *testing.T) {
	each(t, "testdata/mistakes", 80, "message", func(t *testing.T, archive *txtar.Archive) string {
		got := attempt(t, archive)
		if !isSaid.MatchString(got) {
			t.Errorf("nothing is said of the mistake:\n%s", got)
		}
		if found := parsersWords.FindString(got); found != "" {
			t.Errorf("%q is said by the parser, for people who know it:\n%s", found, got)
		}
		return got
	})
}

var (
	isSaid       = regexp.MustCompile(`(?m)^ *(error|warning[a-z. ]*):|^  (skipped|held|refused) `)
	parsersWords = regexp.MustCompile(`got .+, want|primary expression|field or method|unexpected input character|` +
		`not an identifier|conditional expression|outdent`)
)

// Package colours compares the colours of pages that the server makes with those of the console.
package colours

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var token = regexp.MustCompile(`--u-[a-z-]+: #[0-9a-f]+;`)

// WantThoseOfConsole checks that a style sheet has at least ten colours for light and for dark, each as the console has
// it. It reads the console's style sheet from three folders above the test's package.
func WantThoseOfConsole(t testing.TB, style string) {
	t.Helper()
	console, err := os.ReadFile("../../../web/src/ui/ui.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, found := strings.Cut(string(console), `[data-mantine-color-scheme="dark"]`)
	ownLight, ownDark, ownFound := strings.Cut(style, "prefers-color-scheme: dark")
	if !found || !ownFound {
		t.Fatal("a style sheet has no dark colours")
	}
	for want, own := range map[string]string{light: ownLight, dark: ownDark} {
		tokens := token.FindAllString(own, -1)
		if len(tokens) < 10 {
			t.Errorf("only %d colours", len(tokens))
		}
		for _, one := range tokens {
			if !strings.Contains(want, one) {
				t.Errorf("the console has no %s", one)
			}
		}
	}
}

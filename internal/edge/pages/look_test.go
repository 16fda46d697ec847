package pages

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// The pages of logging in have the colours of the console, light and dark.
func TestThePagesHaveTheColoursOfTheConsole(t *testing.T) {
	console, err := os.ReadFile("../../../web/src/ui/ui.css")
	if err != nil {
		t.Fatal(err)
	}
	style, err := files.ReadFile("files/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, found := strings.Cut(string(console), `[data-mantine-color-scheme="dark"]`)
	ownLight, ownDark, ownFound := strings.Cut(string(style), "prefers-color-scheme: dark")
	if !found || !ownFound {
		t.Fatal("a style sheet has no dark colours")
	}
	token := regexp.MustCompile(`--u-[a-z-]+: #[0-9a-f]+;`)
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

// An error is a sentence with commands between backticks, and may have what a person typed.
func TestAnErrorIsNoMarkup(t *testing.T) {
	const text = "type `muster login-link <NAME>`, <b>not</b> this"
	want := "type <code>muster login-link &lt;NAME&gt;</code>, &lt;b&gt;not&lt;/b&gt; this"
	if got := string(prose(text)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestThePagesHaveTheFontOfTheConsole(t *testing.T) {
	console := fstest.MapFS{"assets/inter-latin-wght-normal-Xy_1.woff2": {Data: []byte("letters")}}
	for name, file := range consoleFiles {
		console[name] = file
	}
	server := served(Options{Sessions: nobody{}, Links: nobody{}, Console: console})
	rec := get(t, server, "/ui/inter.woff2", nil)
	if rec.Code != http.StatusOK || rec.Body.String() != "letters" || rec.Header().Get("Content-Type") != "font/woff2" {
		t.Errorf("got %d, %v, %s", rec.Code, rec.Header(), rec.Body)
	}
	page := get(t, server, "/ui/login", nil)
	if policy := page.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "font-src 'self';") {
		t.Errorf("the policy %q lets the page load no font", policy)
	}
	if !strings.Contains(page.Body.String(), `<div class="brand">`) {
		t.Error("the log-in page has no sign of Muster")
	}
}

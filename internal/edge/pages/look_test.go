package pages

import (
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"muster/test/colours"
)

// The pages of logging in have the colours of the console, light and dark.
func TestThePagesHaveTheColoursOfTheConsole(t *testing.T) {
	style, err := files.ReadFile("files/style.css")
	if err != nil {
		t.Fatal(err)
	}
	colours.WantThoseOfConsole(t, string(style))
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

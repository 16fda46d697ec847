package manual

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"muster/docs"
	"muster/internal/edge/httpapi"
	"muster/test/colours"
)

// served is the manual as the program has it.
var served = New(docs.Files, httpapi.OpenAPIDocument)

// get asks for a page below docs/.
func get(t *testing.T, at string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	if err := served.ServePage(w, httptest.NewRequest(http.MethodGet, Prefix+at, http.NoBody)); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestEveryPageOfDocsIsServedAndInTheContents(t *testing.T) {
	b, err := served.open()
	if err != nil {
		t.Fatal(err)
	}
	var inContents []string
	for _, group := range contents {
		inContents = append(inContents, group.Paths...)
	}
	for _, path := range inContents {
		if b.pages[path] == nil {
			t.Errorf("the table of contents has %q, which is no page", path)
		}
	}
	err = fs.WalkDir(docs.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		path, isPage := pathOf(name)
		if w := get(t, path); w.Code != http.StatusOK || w.Body.Len() < 200 {
			t.Errorf("%s: status %d, %d bytes", name, w.Code, w.Body.Len())
		}
		if isPage && !strings.HasPrefix(path, "adr/0") && !slices.Contains(inContents, path) {
			t.Errorf("%s is not in the table of contents", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	linkOf   = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	anchorOf = regexp.MustCompile(`\bid="([^"]*)"`)
)

func TestEveryLinkOfTheManualLeadsSomewhere(t *testing.T) {
	b, err := served.open()
	if err != nil {
		t.Fatal(err)
	}
	anchors, links := map[string][]string{}, 0
	texts := map[string]string{"search": get(t, "search?q=the").Body.String()}
	for path := range b.pages {
		texts[path] = get(t, path).Body.String()
	}
	for path, text := range texts {
		for _, found := range anchorOf.FindAllStringSubmatch(text, -1) {
			if slices.Contains(anchors[path], found[1]) {
				t.Errorf("%s has two anchors #%s", path, found[1])
			}
			anchors[path] = append(anchors[path], found[1])
		}
	}
	for path, text := range texts {
		at := &url.URL{Path: Prefix + path}
		for _, found := range linkOf.FindAllStringSubmatch(text, -1) {
			to, err := at.Parse(strings.ReplaceAll(found[1], "&amp;", "&"))
			if err != nil {
				t.Errorf("%s: %q: %v", path, found[1], err)
				continue
			}
			if to.Host != "" || to.Path == "/ui/" || to.Path == "/docs/search" {
				continue
			}
			links++
			target := strings.TrimPrefix(to.Path, Prefix)
			switch {
			case texts[target] == "" && b.files[target] == nil && target != "openapi.json":
				t.Errorf("%s: the link %q leads nowhere", path, found[1])
			case to.Fragment != "" && !slices.Contains(anchors[target], to.Fragment):
				t.Errorf("%s: the link %q leads to no such anchor", path, found[1])
			}
		}
	}
	if links < 500 {
		t.Errorf("only %d links", links)
	}
}

func TestAnAddressWithoutAPageLeadsOn(t *testing.T) {
	for at, to := range map[string]string{"agent/": "../agent", "api/devices/": "../devices", "adr": "adr/"} {
		if got := get(t, at); got.Code != http.StatusPermanentRedirect || got.Header().Get("Location") != to {
			t.Errorf("%s: status %d, Location %q", at, got.Code, got.Header().Get("Location"))
		}
	}
	for _, at := range []string{"agnet", "agent/more", "a%0d%0a/", "..%2f"} {
		got := get(t, at)
		if got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), "<h1>No such page</h1>") ||
			got.Header().Get("Content-Security-Policy") != policy ||
			!strings.HasPrefix(got.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: status %d, headers %v", at, got.Code, got.Header())
		}
	}
}

func TestEveryPageHasATitle(t *testing.T) {
	for at, title := range map[string]string{"": "Muster manual", "agent": "The agent · Muster manual"} {
		if got := get(t, at).Body.String(); !strings.Contains(got, "<title>"+title+"</title>") {
			t.Errorf("%q has another title: %s", at, got[:200])
		}
	}
}

// A link that starts at the root leaves the prefix of a proxy.
func TestThePagesWorkBehindAPathPrefix(t *testing.T) {
	for _, path := range []string{"", "agent", "adr/", "api/", "api/devices", "search?q=tag"} {
		for _, found := range linkOf.FindAllStringSubmatch(get(t, path).Body.String(), -1) {
			if strings.HasPrefix(found[1], "/") {
				t.Errorf("%s: %q starts at the root of the server", path, found[1])
			}
		}
	}
}

func TestASearchFindsAWord(t *testing.T) {
	for query, want := range map[string]string{
		"Landlock":          `href="./agent#what-it-may-do-and-what-not"`,
		"enrol key uses":    `href="./enrolment#enrol-keys"`,
		"rescanIntervalS":   "templates#",
		"putDevice replace": "", // an operation's ID is no word of the manual
		"create or replace": `href="./api/devices#putDevice"`,
		"pinMismatch":       `href="./operating#what-the-states-mean"`,
	} {
		w := get(t, "search?q="+url.QueryEscape(query))
		text := w.Body.String()
		if w.Code != http.StatusOK || want != "" && !strings.Contains(text, want) {
			t.Errorf("%q: status %d, and no %s", query, w.Code, want)
		}
		if want == "" && !strings.Contains(text, "No page has all of") {
			t.Errorf("%q was found", query)
		}
	}
}

func TestTheBestPlaceComesFirst(t *testing.T) {
	b, err := served.open()
	if err != nil {
		t.Fatal(err)
	}
	hits := b.search("recipes")
	if len(hits) < 2 || hits[0].Link != "recipes#recipes-of-several-steps" || hits[1].Link != "templates#recipes" {
		t.Errorf("a search for recipes finds %+v first", hits)
	}
}

func TestASearchShowsWhatWasTypedAsText(t *testing.T) {
	typed := `"><script>alert(1)</script>` + "\x00\xff" + strings.Repeat("ö", 4000)
	text := get(t, "search?q="+url.QueryEscape(typed)).Body.String()
	if strings.Contains(text, "<script") {
		t.Error("the page has a script")
	}
	if hits := len(wordsOf(strings.Repeat("a ", 5000))); hits > maxWords {
		t.Errorf("a search has %d words", hits)
	}
}

func TestNoPageHasAScriptOrAStyleOfItsOwn(t *testing.T) {
	b, err := served.open()
	if err != nil {
		t.Fatal(err)
	}
	for path := range b.pages {
		w := get(t, path)
		text := bytes.ToLower(w.Body.Bytes())
		for _, never := range []string{"<script", "<style", " style=", "javascript:", " onclick="} {
			if bytes.Contains(text, []byte(never)) {
				t.Errorf("%s has %q", path, never)
			}
		}
		for _, part := range []string{"default-src 'none'", "style-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(w.Header().Get("Content-Security-Policy"), part) {
				t.Errorf("%s: the policy lacks %s", path, part)
			}
		}
	}
}

func TestRawHTMLOfAPageIsLeftOut(t *testing.T) {
	p, err := render("x", []byte("# A\n\n<script>alert(1)</script>\n\n[link](javascript:alert(1)) <b onclick=x>b</b>\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, never := range []string{"<script", "javascript:", "<b"} {
		if strings.Contains(string(p.Body), never) {
			t.Errorf("the page has %q: %s", never, p.Body)
		}
	}
}

func TestAPageThatIsUnchangedIsNotSentAgain(t *testing.T) {
	first := get(t, "agent")
	r := httptest.NewRequest(http.MethodGet, Prefix+"agent", http.NoBody)
	r.Header.Set("If-None-Match", first.Header().Get("ETag"))
	w := httptest.NewRecorder()
	if err := served.ServePage(w, r); err != nil || w.Code != http.StatusNotModified {
		t.Errorf("status %d, %v", w.Code, err)
	}
	if w := get(t, "no-such-page"); w.Code != http.StatusNotFound {
		t.Errorf("an unknown page: status %d", w.Code)
	}
}

func TestAnExampleIsShownAsItIsSent(t *testing.T) {
	if text := get(t, "api/devices").Body.String(); !strings.Contains(text, "&#34;&lt;API_KEY&gt;&#34;") {
		t.Error("the example of a device shows no <API_KEY>")
	}
	if text := get(t, "api/types").Body.String(); !strings.Contains(text, ". One of: ") {
		t.Error("a description and the values that a field can have are not set apart")
	}
}

// The manual has the colours of the console, light and dark.
func TestTheColoursAreThoseOfTheConsole(t *testing.T) {
	colours.WantThoseOfConsole(t, string(style))
}

func TestTheReferenceHasEveryOperation(t *testing.T) {
	b, err := served.open()
	if err != nil {
		t.Fatal(err)
	}
	ids := regexp.MustCompile(`"operationId":"(\w+)"`).FindAllSubmatch(httpapi.OpenAPIDocument(), -1)
	if len(ids) < 100 {
		t.Fatalf("the document has %d operations", len(ids))
	}
	var all strings.Builder
	for _, path := range referencePaths(b) {
		all.Write(b.pages[path].Body)
	}
	for _, id := range ids {
		if !strings.Contains(all.String(), `<h2 id="`+string(id[1])+`">`) {
			t.Errorf("the reference has no %s: apiTags in internal/edge/httpapi names no chapter for its path", id[1])
		}
	}
}

package pages

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// consoleFiles are what a build of the console leaves.
var consoleFiles = fstest.MapFS{
	"index.html": {Data: []byte(`<head><base href="./" /><meta property="csp-nonce" nonce="MUSTER_NONCE" />` +
		`<script type="module" src="./assets/index-1.js"></script></head>`)},
	"assets/index-1.js":    {Data: []byte("plain")},
	"assets/index-1.js.br": {Data: []byte("brotli")},
	"assets/index-1.js.gz": {Data: []byte("gzip")},
	"assets/inter.woff2":   {Data: []byte("font")},
	"manifest.json":        {Data: []byte("{}")},
}

// nobody has no session and no link.
type nobody struct {
	Sessions
	Links
}

// served are the pages of options, as a server answers with them.
func served(o Options) http.Handler {
	o.Log = slog.New(slog.DiscardHandler)
	mux := http.NewServeMux()
	for pattern, page := range New(o) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := page(w, r); err != nil {
				http.Error(w, err.Error(), http.StatusNotFound)
			}
		})
	}
	return mux
}

func newConsoleWorld() http.Handler {
	return served(Options{Sessions: nobody{}, Links: nobody{}, Console: consoleFiles})
}

func get(t *testing.T, handler http.Handler, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:2525"+path, nil)
	r.RemoteAddr = "127.0.0.1:1234"
	if header != nil {
		r.Header = header
	}
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, r)
	return rec
}

// The base leads every page to the files of the console, also behind a proxy that serves it below a prefix.
func TestEveryRouteOfTheConsoleIsItsPage(t *testing.T) {
	handler := newConsoleWorld()
	for path, base := range map[string]string{
		"/ui/": "./", "/ui/devices": "./", "/ui/devices/ABC": "../", "/ui/devices/ABC/plan": "../../",
		"/ui/folders/a%2Fb": "../", "/ui/devices/": "../",
	} {
		rec := get(t, handler, path, nil)
		if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `<base href="`+base+`">`) {
			t.Errorf("%s: got %d and %s, want the base %s", path, rec.Code, rec.Body, base)
		}
	}
	for _, path := range []string{"/ui/login", "/ui/style.css"} { // these work without a script
		if rec := get(t, handler, path, nil); rec.Code != http.StatusOK || strings.Contains(rec.Body.String(), "<base") {
			t.Errorf("%s: got %d and %s, want the page of the server", path, rec.Code, rec.Body)
		}
	}
}

func TestTheConsoleRunsNoScriptButItsOwn(t *testing.T) {
	handler := newConsoleWorld()
	nonces := map[string]bool{}
	for range 2 {
		rec := get(t, handler, "/ui/", nil)
		policy := rec.Header().Get("Content-Security-Policy")
		nonce := regexp.MustCompile(`nonce="([^"]+)"`).FindStringSubmatch(rec.Body.String())
		if nonce == nil || !strings.Contains(policy, "style-src 'self' 'nonce-"+nonce[1]+"'") {
			t.Fatalf("the policy %q does not have the nonce of the page %s", policy, rec.Body)
		}
		nonces[nonce[1]] = true
		if !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("the policy is %q", policy)
		}
	}
	if len(nonces) != 2 {
		t.Error("two replies have the same nonce")
	}
}

func TestTheConsoleIsSentCompressed(t *testing.T) {
	handler := newConsoleWorld()
	for _, one := range []struct{ accepts, encoding, body string }{
		{"gzip, deflate, br", "br", "brotli"}, {"gzip", "gzip", "gzip"}, {"br;q=0, gzip;q=0.5", "gzip", "gzip"},
		{"", "", "plain"}, {"zstd", "", "plain"},
	} {
		rec := get(t, handler, "/ui/assets/index-1.js", http.Header{"Accept-Encoding": {one.accepts}})
		if rec.Code != http.StatusOK || rec.Header().Get("Content-Encoding") != one.encoding ||
			rec.Body.String() != one.body || rec.Header().Get("Content-Type") != "text/javascript; charset=utf-8" ||
			!strings.Contains(rec.Header().Get("Cache-Control"), "immutable") || rec.Header().Get("Vary") == "" {
			t.Errorf("%q: got %d, %v, %s", one.accepts, rec.Code, rec.Header(), rec.Body)
		}
	}
	if rec := get(t, handler, "/ui/assets/inter.woff2", nil); rec.Header().Get("Content-Type") != "font/woff2" {
		t.Errorf("a font is %q", rec.Header().Get("Content-Type"))
	}
}

func TestOnlyFilesOfTheConsoleAreServed(t *testing.T) {
	handler := newConsoleWorld()
	for _, path := range []string{"/ui/assets/nothing.js", "/ui/assets/..%2Findex.html",
		"/ui/assets/%2e%2e%2fmanifest.json"} {
		if rec := get(t, handler, path, nil); rec.Code != http.StatusNotFound {
			t.Errorf("%s: got %d and %s", path, rec.Code, rec.Body)
		}
	}
}

func TestTheManualIsOpen(t *testing.T) {
	server := served(Options{Sessions: nobody{}, Links: nobody{}, Manual: oneChapter})
	if rec := get(t, server, "/docs/", nil); rec.Code != 200 || rec.Body.String() != "chapter" {
		t.Errorf("status %d, %s", rec.Code, rec.Body)
	}
	if rec := get(t, server, "/docs", nil); rec.Code != 303 || rec.Header().Get("Location") != "./docs/" {
		t.Errorf("status %d, Location %q", rec.Code, rec.Header().Get("Location"))
	}
	if rec := get(t, server, "/ui/login", nil); !bytes.Contains(rec.Body.Bytes(), []byte(`href="../docs/"`)) {
		t.Error("the log-in page does not link to the manual")
	}
}

// oneChapter is a manual with its first page alone.
func oneChapter(w http.ResponseWriter, _ *http.Request) error {
	_, err := w.Write([]byte("chapter"))
	return err
}

package manual

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"path"
	"strings"
	"time"
)

// Prefix is the path of the manual.
const Prefix = "/docs/"

// policy lets a page load the manual's style sheet and pictures and send its search. There is no script.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

//go:embed pages
var pageFiles embed.FS

//go:embed pages/style.css
var style []byte

//go:embed pages/icon.svg
var icon []byte

var pageTemplate = template.Must(template.ParseFS(pageFiles, "pages/*.html"))

// shown is what the frame of a page needs.
type shown struct {
	Title    string
	Body     template.HTML
	Headings []heading
	Groups   []shownGroup
	Docs     template.URL // leads to the manual: "./"
	Query    string
}

type shownGroup struct {
	Title string
	Pages []shownLink
}

type shownLink struct {
	Path  template.URL
	Title string
	Here  bool
}

// ServePage answers with the page or file at the path of the request. It redirects an address with a missing or
// additional slash. For an unknown path it answers with a page that says so. When the manual cannot be rendered it
// writes nothing and returns an error.
func (m *Manual) ServePage(w http.ResponseWriter, r *http.Request) error {
	b, err := m.open()
	if err != nil {
		return err
	}
	at := strings.TrimPrefix(r.URL.Path, Prefix)
	switch {
	case at == "search":
		return b.serveSearch(w, r)
	case at == "openapi.json":
		serve(w, r, at, b.document)
		return nil
	case b.files[at] != nil:
		serve(w, r, at, b.files[at])
		return nil
	case b.pages[at] != nil:
		return b.servePage(w, r, b.pages[at].shown())
	case b.pages[strings.TrimSuffix(at, "/")] != nil:
		lead(w, "../"+path.Base(at))
		return nil
	case b.pages[at+"/"] != nil:
		lead(w, path.Base(at)+"/")
		return nil
	}
	return b.serveMissing(w, r)
}

// lead redirects to a relative address, which also works behind the path prefix of a proxy.
func lead(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusPermanentRedirect)
}

// shown is the page within its frame. The title of the first page is that of the manual.
func (p *page) shown() shown {
	title := p.Title
	if p.Path == "" {
		title = ""
	}
	//nolint:gosec // the body is rendered from the files of this program, without raw HTML
	return shown{Title: title, Body: template.HTML(p.Body), Headings: p.Headings}
}

func (b *book) serveMissing(w http.ResponseWriter, r *http.Request) error {
	const body = "<h1>No such page</h1><p>The manual has no page at this address. Choose one on the side, or search.</p>"
	text, err := b.framed(r, shown{Title: "No such page", Body: body})
	if err != nil {
		return err
	}
	secure(w.Header())
	w.Header().Set("Content-Type", media[".html"])
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(text) // An error means that the client has gone.
	return nil
}

func (b *book) serveSearch(w http.ResponseWriter, r *http.Request) error {
	query := strings.ToValidUTF8(r.URL.Query().Get("q"), "")
	var body bytes.Buffer
	err := pageTemplate.ExecuteTemplate(&body, "search.html", results{
		Query: query, Hits: b.search(query), Docs: docsFrom("search"),
	})
	if err != nil {
		return err
	}
	//nolint:gosec // html/template escaped it
	return b.servePage(w, r, shown{Title: "Search", Body: template.HTML(body.String()), Query: query})
}

func (b *book) servePage(w http.ResponseWriter, r *http.Request, what shown) error {
	text, err := b.framed(r, what)
	if err == nil {
		serve(w, r, "page.html", text)
	}
	return err
}

// framed is a page with the table of contents beside it.
func (b *book) framed(r *http.Request, what shown) ([]byte, error) {
	at := strings.TrimPrefix(r.URL.Path, Prefix)
	what.Docs, what.Groups = docsFrom(at), b.groups(at)
	var text bytes.Buffer
	err := pageTemplate.ExecuteTemplate(&text, "page.html", what)
	return text.Bytes(), err
}

// groups is the table of contents as a page shows it.
func (b *book) groups(at string) []shownGroup {
	var all []shownGroup
	for _, of := range append(contents, group{"REST API", referencePaths(b)}) {
		next := shownGroup{Title: of.Title}
		for _, path := range of.Paths {
			if p := b.pages[path]; p != nil {
				next.Pages = append(next.Pages, shownLink{template.URL(path), p.Title, path == at}) //nolint:gosec // ours
			}
		}
		all = append(all, next)
	}
	return all
}

// docsFrom returns the relative path from a page to the root of the manual, which also works behind the path prefix of
// a proxy.
func docsFrom(at string) template.URL {
	if depth := strings.Count(at, "/"); depth > 0 {
		return template.URL(strings.Repeat("../", depth)) //nolint:gosec // dots and slashes
	}
	return "./"
}

var media = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".json": "application/json",
}

// serve writes a file. Browsers cache it and check each time whether it has changed.
func serve(w http.ResponseWriter, r *http.Request, name string, text []byte) {
	sum := sha256.Sum256(text)
	header := w.Header()
	secure(header)
	header.Set("Content-Type", media[path.Ext(name)])
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
}

// secure lets a page load nothing but the manual's own files.
func secure(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
}

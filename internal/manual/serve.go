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

// Prefix is where the manual lives.
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

// ServePage answers with what the manual has at the path of the request. It gives false where the manual has nothing
// there, and an error where the manual cannot be rendered; nothing is written then.
func (m *Manual) ServePage(w http.ResponseWriter, r *http.Request) (bool, error) {
	b, err := m.open()
	if err != nil {
		return false, err
	}
	at := strings.TrimPrefix(r.URL.Path, Prefix)
	switch {
	case at == "search":
		return true, b.serveSearch(w, r)
	case at == "openapi.json":
		serve(w, r, at, b.document)
		return true, nil
	case b.files[at] != nil:
		serve(w, r, at, b.files[at])
		return true, nil
	case b.pages[at] != nil:
		p := b.pages[at]
		//nolint:gosec // the body is rendered from the files of this program, without raw HTML
		return true, b.servePage(w, r, shown{Title: p.Title, Body: template.HTML(p.Body), Headings: p.Headings})
	}
	return false, nil
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
	at := strings.TrimPrefix(r.URL.Path, Prefix)
	what.Docs, what.Groups = docsFrom(at), b.groups(at)
	var text bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&text, "page.html", what); err != nil {
		return err
	}
	serve(w, r, "page.html", text.Bytes())
	return nil
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

// docsFrom leads from a page to the root of the manual, whatever prefix a proxy puts before both.
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

// serve writes a file. Browsers keep it, and ask whether it is still the same.
func serve(w http.ResponseWriter, r *http.Request, name string, text []byte) {
	sum := sha256.Sum256(text)
	header := w.Header()
	header.Set("Content-Type", media[path.Ext(name)])
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
}

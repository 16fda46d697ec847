package pages

import (
	"crypto/rand"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"muster/internal/logkey"
)

// consolePolicy lets the console load its own files and talk to this server. Scripts are files of the console only;
// Mantine and CodeMirror add style elements, which carry the nonce of the reply.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-NONCE'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'"

// What index.html says in the places that every reply fills in for itself.
const (
	baseMark  = `<base href="./" />`
	nonceMark = "MUSTER_NONCE"
)

// fontFiles are the console's font for Latin letters. The pages of logging in have the same one.
const fontFiles = "assets/inter-latin-wght-normal-*.woff2"

// console serves the files of the browser console. They hold no data: the console asks the API for everything, with
// the session of the person.
type console struct {
	files fs.FS
	index string
}

// addConsole adds the console, below the pages that work without a script.
func (s *pages) addConsole(to map[string]Page) {
	index, err := fs.ReadFile(s.Console, "index.html")
	if err != nil {
		s.log.Error("the console cannot be read", logkey.Err(err))
		return
	}
	c := &console{files: s.Console, index: string(index)}
	to["GET /ui/assets/{file}"] = c.asset
	if fonts, err := fs.Glob(s.Console, fontFiles); err == nil && len(fonts) > 0 {
		to["GET /ui/inter.woff2"] = func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Content-Type", mediaOf(fonts[0]))
			w.Header().Set("Cache-Control", "public, max-age=86400")
			http.ServeFileFS(w, r, s.Console, fonts[0])
			return nil
		}
	}
	to["GET "+home+"{path...}"] = c.page
}

// page answers every route of the console with its one page. The base is relative, so that it holds behind any path
// prefix: one step up for every slash after /ui/.
func (c *console) page(w http.ResponseWriter, r *http.Request) error {
	base := "./"
	if depth := strings.Count(strings.TrimPrefix(r.URL.EscapedPath(), home), "/"); depth > 0 {
		base = strings.Repeat("../", depth)
	}
	nonce := rand.Text()
	text := strings.NewReplacer(baseMark, `<base href="`+base+`">`, nonceMark, nonce).Replace(c.index)
	header := w.Header()
	header.Set("Content-Security-Policy", strings.Replace(consolePolicy, "NONCE", nonce, 1))
	header.Set("Referrer-Policy", "no-referrer")
	return write(w, r, http.StatusOK, []byte(text))
}

// encodings are the forms in which the build wrote a file, best first.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}, {"", ""}}

// asset answers with a file of the build. The name has its digest, so that browsers never ask for it twice.
func (c *console) asset(w http.ResponseWriter, r *http.Request) error {
	file := r.PathValue("file")
	if file != path.Base(file) || file == ".." {
		return fs.ErrNotExist
	}
	name := "assets/" + file
	for _, encoding := range encodings {
		if encoding.name != "" && !accepts(r, encoding.name) {
			continue
		}
		text, err := fs.ReadFile(c.files, name+encoding.suffix)
		if err != nil {
			continue
		}
		header := w.Header()
		header.Set("Content-Type", mediaOf(name))
		header.Set("Content-Length", strconv.Itoa(len(text)))
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
		header.Set("Vary", "Accept-Encoding")
		if encoding.name != "" {
			header.Set("Content-Encoding", encoding.name)
		}
		if r.Method != http.MethodHead {
			_, _ = w.Write(text)
		}
		return nil
	}
	return fs.ErrNotExist
}

// mediaOf does not depend on what the machine knows of types.
func mediaOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	}
	if media := mime.TypeByExtension(path.Ext(name)); media != "" {
		return media
	}
	return "application/octet-stream"
}

// accepts tells whether a browser takes an encoding. Browsers that refuse one leave it out.
func accepts(r *http.Request, encoding string) bool {
	for _, one := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(one), ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) && strings.ReplaceAll(quality, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

// Package manual serves the manual below /docs/: the pages of docs/, a search, and the reference of the REST API. It
// renders the pages at the first request. They contain no scripts and nothing about the server, so everybody may read
// them.
package manual

import (
	"fmt"
	"io/fs"
	"sync"
)

// group is one part of the table of contents.
type group struct {
	Title string
	Paths []string // pages, as paths below docs/ without .md
}

// contents lists the pages in the order in which a person reads them. A test fails when a page of docs/ is missing.
var contents = []group{
	{"Start", []string{"", "install", "first-template", "concepts", "reaching"}},
	{"Use", []string{"where-are-my-files", "forms", "templates", "recipes", "files", "client", "coming-from", "glossary"}},
	{"Devices", []string{"agent", "enrolment"}},
	{
		"Operate",
		[]string{"operating", "settings", "notifications", "sinks", "audit", "backup", "upgrade", "sizing", "proxies",
			"lasting"},
	},
	{"Security", []string{"security", "sign-on"}},
	{"Background", []string{"adr/"}},
}

// page is one page of the manual.
type page struct {
	Path     string // below docs/: "agent", "adr/0001-four-rings"; "" and "adr/" are the first pages of their folders
	Title    string
	Body     []byte // HTML
	Headings []heading
	sections []section
}

type heading struct {
	Level    int
	ID, Text string
}

// book is the manual once it is rendered.
type book struct {
	pages    map[string]*page
	files    map[string][]byte // pictures and the style sheet
	sections []section
	document []byte // the OpenAPI document
}

// Manual serves the manual.
type Manual struct {
	open func() (*book, error)
}

// New makes the manual from the files of docs/ and the OpenAPI document. Pages and search index are made at the first
// request, which takes 60 ms. Making them at build time would require more than a plain `go build`.
func New(files fs.FS, document func() []byte) *Manual {
	return &Manual{open: sync.OnceValues(func() (*book, error) { return read(files, document()) })}
}

func read(files fs.FS, document []byte) (*book, error) {
	own := map[string][]byte{"style.css": style, "icon.svg": icon}
	b := &book{pages: map[string]*page{}, files: own, document: document}
	var order []*page
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		path, isPage := pathOf(name)
		if !isPage {
			b.files[name] = text
			return nil
		}
		p, err := render(path, text)
		if err != nil {
			return fmt.Errorf("render %s: %w", name, err)
		}
		order = append(order, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	reference, err := referencePages(document)
	if err != nil {
		return nil, fmt.Errorf("render the reference of the API: %w", err)
	}
	for _, p := range append(order, reference...) {
		b.pages[p.Path] = p
		b.sections = append(b.sections, p.sections...)
	}
	return b, nil
}

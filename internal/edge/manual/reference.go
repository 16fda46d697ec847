package manual

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// openAPI is what the reference shows of the OpenAPI document.
type openAPI struct {
	Info struct {
		Description string `json:"description"`
	} `json:"info"`
	Tags []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tags"`
	Paths      map[string]map[string]*operation `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	ID          string      `json:"operationId"`
	Summary     string      `json:"summary"`
	Description string      `json:"description"`
	Tags        []string    `json:"tags"`
	Parameters  []parameter `json:"parameters"`
	RequestBody *struct {
		Content map[string]content `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Description string             `json:"description"`
		Content     map[string]content `json:"content"`
	} `json:"responses"`

	Method, Path string         // the keys of the operation in the document
	Body         *content       // body of the request
	Replies      []shownReply   // answer of success
	Failures     []shownFailure // answers with a problem
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Required    bool    `json:"required"`
	Description string  `json:"description"`
	Schema      *schema `json:"schema"`
}

type content struct {
	Schema  *schema         `json:"schema"`
	Example json.RawMessage `json:"example"`
	Media   string          `json:"-"`
}

type shownReply struct {
	Status, Says string
	Content      *content // nil: the body is empty
}

type shownFailure struct{ Status, Says string }

var methods = []string{"get", "post", "put", "delete"}

// referencePages renders the reference: a first page, one for each tag of the document, and one for all types.
func referencePages(text []byte) ([]*page, error) {
	var doc openAPI
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	byTag := doc.operations()
	type part struct {
		Name, Description, Path string
		Operations              []*operation
	}
	var parts []part
	for _, tag := range doc.Tags {
		parts = append(parts, part{tag.Name, tag.Description, "api/" + slug(tag.Name), byTag[tag.Name]})
	}
	front, err := referencePage("api/", "REST API", "api.html", map[string]any{"Doc": doc, "Parts": parts})
	if err != nil {
		return nil, err
	}
	pages := []*page{front}
	for _, part := range parts {
		p, err := referencePage(part.Path, part.Name, "operations.html", part)
		if err != nil {
			return nil, err
		}
		for _, op := range part.Operations {
			p.Headings = append(p.Headings, heading{2, op.ID, op.Summary})
			here := section{page: p, heading: op.Summary, anchor: op.ID}
			here.add([]byte(op.Method+" "+op.Path+" "+op.Description), "")
			p.sections = append(p.sections, here.finished())
		}
		pages = append(pages, p)
	}
	types, err := doc.typesPage()
	if err != nil {
		return nil, err
	}
	return append(pages, types), nil
}

// operations returns the operations of each tag, ordered by path and method.
func (doc *openAPI) operations() map[string][]*operation {
	byTag := map[string][]*operation{}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range methods {
			op := doc.Paths[path][method]
			if op == nil || len(op.Tags) == 0 {
				continue
			}
			op.Method, op.Path = strings.ToUpper(method), path
			op.finish()
			byTag[op.Tags[0]] = append(byTag[op.Tags[0]], op)
		}
	}
	return byTag
}

// finish sets the fields that the page shows.
func (op *operation) finish() {
	if op.RequestBody != nil {
		op.Body = only(op.RequestBody.Content)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		response := op.Responses[status]
		if status >= "400" {
			op.Failures = append(op.Failures, shownFailure{status, response.Description})
			continue
		}
		op.Replies = append(op.Replies, shownReply{status, response.Description, only(response.Content)})
	}
}

// only returns the content of a body, which has at most one media type. nil means that the body is empty.
func only(all map[string]content) *content {
	for media, one := range all {
		one.Media = media
		return &one
	}
	return nil
}

// Indented is the example as a person reads it.
func (c *content) Indented() string {
	var example any
	if len(c.Example) == 0 || json.Unmarshal(c.Example, &example) != nil {
		return ""
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if encoder.Encode(example) != nil {
		return ""
	}
	return strings.TrimSuffix(text.String(), "\n")
}

func (doc *openAPI) typesPage() (*page, error) {
	type named struct {
		Name   string
		Schema *schema
	}
	var all []named
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		all = append(all, named{name, doc.Components.Schemas[name]})
	}
	p, err := referencePage("api/types", "Types", "types.html", all)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		p.Headings = append(p.Headings, heading{2, one.Name, one.Name})
		here := section{page: p, heading: one.Name, anchor: one.Name}
		for _, field := range one.Schema.Fields() {
			here.add([]byte(field.Name+" "+field.Schema.Description), " ")
		}
		p.sections = append(p.sections, here.finished())
	}
	return p, nil
}

func referencePage(path, title, templateName string, data any) (*page, error) {
	var body bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&body, templateName, data); err != nil {
		return nil, err
	}
	return &page{Path: path, Title: title, Body: body.Bytes()}, nil
}

// referencePaths returns the pages of the reference in the order of the table of contents, with the types last.
func referencePaths(b *book) []string {
	var all []string
	for path := range b.pages {
		if strings.HasPrefix(path, "api/") {
			all = append(all, path)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		if a == "api/types" || b == "api/types" {
			return cmp.Compare(strings.Count(a, "types"), strings.Count(b, "types"))
		}
		return cmp.Compare(a, b)
	})
	return all
}

func slug(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

package manual

import (
	"bytes"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// markdown leaves raw HTML out, so that a page holds no script.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// pathOf gives the path of a page for the name of its file, and false for other files.
func pathOf(name string) (string, bool) {
	name, isPage := strings.CutSuffix(name, ".md")
	if !isPage {
		return "", false
	}
	if folder, file := path.Split(name); file == "README" {
		return folder, true
	}
	return name, true
}

// render makes a page of Markdown.
func render(at string, source []byte) (*page, error) {
	root := markdown.Parser().Parse(text.NewReader(source))
	p := &page{Path: at, Title: at}
	here := section{page: p}
	finish := func() {
		if here.heading != "" {
			p.sections = append(p.sections, here.finished())
		}
	}
	err := ast.Walk(root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Heading:
			finish()
			h := headingOf(node, source)
			if h.Level == 1 {
				p.Title = h.Text
			} else {
				p.Headings = append(p.Headings, h)
			}
			here = section{page: p, heading: h.Text, anchor: h.ID}
			rewrite(node)
			return ast.WalkSkipChildren, nil
		case *ast.Link:
			node.Destination = []byte(target(string(node.Destination)))
		case *ast.Text:
			here.add(node.Segment.Value(source), " ")
		case *ast.FencedCodeBlock:
			here.addLines(node.Lines(), source)
		case *ast.CodeBlock:
			here.addLines(node.Lines(), source)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	finish()
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, source, root); err != nil {
		return nil, err
	}
	p.Body = body.Bytes()
	return p, nil
}

// rewrite turns the links below a node to pages.
func rewrite(node ast.Node) {
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		if link, ok := child.(*ast.Link); ok {
			link.Destination = []byte(target(string(link.Destination)))
		}
		rewrite(child)
	}
}

// target turns a link between files into one between pages, which have the names of their files without .md.
func target(link string) string {
	if strings.Contains(link, ":") || strings.HasPrefix(link, "#") {
		return link
	}
	file, anchor, _ := strings.Cut(link, "#")
	to, isPage := pathOf(file)
	if !isPage {
		return link
	}
	if to == "" {
		to = "./"
	}
	if anchor != "" {
		to += "#" + anchor
	}
	return to
}

func headingOf(node *ast.Heading, source []byte) heading {
	h := heading{Level: node.Level, Text: plain(node, source)}
	if id, ok := node.AttributeString("id"); ok {
		if id, ok := id.([]byte); ok {
			h.ID = string(id)
		}
	}
	return h
}

// plain is the text below a node, without marks.
func plain(node ast.Node, source []byte) string {
	var words strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		if leaf, ok := child.(*ast.Text); ok {
			words.Write(leaf.Segment.Value(source))
			continue
		}
		words.WriteString(plain(child, source))
	}
	return words.String()
}

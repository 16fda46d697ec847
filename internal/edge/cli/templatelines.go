package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"muster/api"
	"muster/client"
)

// templateLines turns places in the texts of templates, as messages have them, into places in their files, which begin
// with a header. It holds the files by the labels of their templates.
type templateLines map[string]templateFile

// linesOf holds these files. Files whose templates have the same label are left out, because messages do not tell which
// of them is meant.
func linesOf(files ...templateFile) templateLines {
	lines, count := templateLines{}, map[string]int{}
	for _, file := range files {
		lines[file.Label] = file
		count[file.Label]++
	}
	for label, n := range count {
		if n > 1 {
			delete(lines, label)
		}
	}
	return lines
}

// lineOfTemplate matches a template's name and a line of its text in a message.
var lineOfTemplate = regexp.MustCompile(`(template \d+ ("(?:[^"\\]|\\.)*"), line )(\d+)`)

// inText returns a message with the lines of files.
func (l templateLines) inText(message string) string {
	return lineOfTemplate.ReplaceAllStringFunc(message, func(found string) string {
		parts := lineOfTemplate.FindStringSubmatch(found)
		label, unreadable := strconv.Unquote(parts[2])
		file, known := l[label]
		line, tooLong := strconv.Atoi(parts[3])
		if unreadable != nil || tooLong != nil || !known {
			return found
		}
		return fmt.Sprintf("%s%d of %s", parts[1], line+file.HeaderLines, file.path)
	})
}

// inPlan puts the lines of files into what a plan says of devices without a plan.
func (l templateLines) inPlan(p *api.WhatIfPlan) {
	for i := range p.Devices {
		p.Devices[i].Error = l.inText(p.Devices[i].Error)
	}
	for i := range p.Summary.Sentences {
		p.Summary.Sentences[i].Text = l.inText(p.Summary.Sentences[i].Text)
	}
}

// fieldOfTemplate matches a field of a template in the body of a change.
var fieldOfTemplate = regexp.MustCompile(`^(?:body\.)?templates\.(new|changed)\.(\d+)(?:\.(\w+))?$`)

// inErrors returns an error of the server with its details placed by a function. It returns other errors as they are.
func inErrors(err error, place func(*api.ProblemDetail)) error {
	var answer *client.Error
	if !errors.As(err, &answer) {
		return err
	}
	moved := *answer
	moved.Problem.Errors = slices.Clone(answer.Problem.Errors)
	for i := range moved.Problem.Errors {
		place(&moved.Problem.Errors[i])
	}
	return &moved
}

// namingTemplates returns an error about a change in which templates have their labels in the place of the names of
// fields of the request.
func namingTemplates(err error, change api.WhatIf) error {
	return inErrors(err, func(detail *api.ProblemDetail) {
		found := fieldOfTemplate.FindStringSubmatch(detail.Field)
		if found == nil || change.Templates == nil {
			return
		}
		i, unreadable := strconv.Atoi(found[2])
		name := ""
		switch all := change.Templates; {
		case unreadable != nil:
			return
		case found[1] == "new" && i < len(all.New):
			name = nameOfNew(all.New[i].Label, i)
		case found[1] == "changed" && i < len(all.Changed):
			name = nameOfChanged(all.Changed[i])
		default:
			return
		}
		if found[3] != "" && found[3] != "template" {
			name += ", " + found[3]
		}
		detail.Field = name
	})
}

func nameOfNew(label *string, i int) string {
	if label == nil || *label == "" {
		return fmt.Sprintf("new template %d", i+1)
	}
	return fmt.Sprintf("template %q", *label)
}

func nameOfChanged(changed api.WhatIfChanged) string {
	switch {
	case changed.Label != nil && *changed.Label != "":
		return fmt.Sprintf("template %q", *changed.Label)
	case changed.ID != nil:
		return fmt.Sprintf("template %d", *changed.ID)
	}
	return "template"
}

// inFile returns an error of the server with places in the file of a template, in which the text comes after a header.
func (t templateFile) inFile(err error) error {
	lines := linesOf(t)
	err = inErrors(err, func(detail *api.ProblemDetail) {
		detail.Message = lines.inText(detail.Message)
		field := detail.Field
		if found := fieldOfTemplate.FindStringSubmatch(field); found != nil {
			field = cmp.Or(found[3], "template")
			detail.Field = t.path
		}
		switch {
		case detail.Line == 0:
		case field == "key":
			detail.Field, detail.Line = t.path, t.lineOf(field)
			detail.Column += t.columnOf(field)
		default:
			detail.Field, detail.Line = t.path, detail.Line+t.HeaderLines
		}
	})
	var answer *client.Error
	if errors.As(err, &answer) {
		answer.Problem.Detail = lines.inText(answer.Problem.Detail)
	}
	return err
}

// columnOf returns how many characters stand before the value of a field of the header.
func (t templateFile) columnOf(field string) int {
	line := t.lineOf(field)
	if line > len(t.header) {
		return 0
	}
	name := " " + field + ":"
	at := strings.Index(t.header[line-1], name)
	if at < 0 {
		return 0
	}
	after := t.header[line-1][at+len(name):]
	blanks := len(after) - len(strings.TrimLeft(after, " \t"))
	return utf8.RuneCountInString(t.header[line-1][:at+len(name)+blanks])
}

package template

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/syntax"
)

// jinja matches a placeholder or a statement of Jinja, Ansible and Go templates.
var jinja = regexp.MustCompile(`\{\{-?\s*[.$]?[A-Za-z_][\w.$]*(\[[^{}\[\]]*\]|\([^{}()]*\))?\s*(\|[^{}]*)?-?\}\}|` +
	`\{%-?\s*[a-z]+\b[^{}]*%\}`)

const jinjaHint = "Write a program, as in: def template(device): return \"/srv/\" + device.label."

// comment matches a comment of HJSON, unless it is within a text between quotes.
var comment = regexp.MustCompile(`(?m)(?:^|[ \t])(?:#|//).*$|(?s)/\*.*?\*/`)

// findJinja makes the fault for the first placeholder of another template language in a text that is no HJSON, or nil.
// It looks at no comments.
func findJinja(text string) *fault {
	code := comment.ReplaceAllStringFunc(text, func(found string) string { return strings.Repeat(" ", len(found)) })
	at := jinja.FindStringIndex(code)
	if at == nil {
		return nil
	}
	return jinjaFault(at[0], text[at[0]:at[1]])
}

func jinjaFault(at int, placeholder string) *fault {
	return &fault{at: at, reached: at + len(placeholder), final: true, hint: jinjaHint, message: jinjaMessage(placeholder)}
}

// findJinja notes the first placeholder of another template language in what was read as HJSON: in s, a name or value
// that starts at a byte of the text.
func (r *hjsonReader) findJinja(s string, at int) {
	found := jinja.FindString(s)
	if found == "" || r.jinja != nil {
		return
	}
	if within := strings.Index(r.text[at:], found); within >= 0 { // It is not there if it was written with escapes.
		at += within
	}
	r.jinja = jinjaFault(at, found)
}

func jinjaMessage(placeholder string) string {
	return fmt.Sprintf("%s is a placeholder of another template language (Jinja, Ansible, Go), and nothing fills it in",
		shorten(placeholder))
}

// jinjaIn finds a placeholder of another template language in a text of a program. message is "" without one.
func jinjaIn(text *syntax.Literal) (at spot, message, hint string) {
	if text.Token != syntax.STRING {
		return spot{}, "", ""
	}
	found := jinja.FindStringIndex(text.Raw)
	if found == nil {
		return spot{}, "", ""
	}
	within := position(text.Raw, found[0])
	at = spotOf(text.TokenPos)
	if within.line == 1 {
		at.column += within.column - 1
	} else {
		at = spot{at.line + within.line - 1, within.column}
	}
	return at, jinjaMessage(text.Raw[found[0]:found[1]]), withoutBraces(text.Raw)
}

// oneFact matches a text with one name between the braces of Jinja.
var oneFact = regexp.MustCompile(`^"([^"\\{}]*)\{\{\s*([A-Za-z_][\w.]*)\s*\}\}([^"\\{}]*)"$`)

// withoutBraces says what to write for a text with a placeholder.
func withoutBraces(raw string) string {
	if strings.Contains(raw, "{%") {
		return `Write conditions and loops as a program has them, as in "a" if device.os == "linux" else "b".`
	}
	parts := oneFact.FindStringSubmatch(raw)
	if parts == nil || raw != shorten(raw) {
		return `Put texts and values together with +, as in "/srv/" + device.label.`
	}
	var sum []string
	if parts[1] != "" {
		sum = append(sum, `"`+parts[1]+`"`)
	}
	if sum = append(sum, parts[2]); parts[3] != "" {
		sum = append(sum, `"`+parts[3]+`"`)
	}
	return fmt.Sprintf("Write %s.", strings.Join(sum, " + "))
}

// searches are the methods of a text that look for their arguments in it.
var searches = []string{"replace", "find", "rfind", "index", "rindex", "count", "startswith", "endswith", "split",
	"rsplit", "partition", "rpartition", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix"}

// meantBraces returns the texts of a program in which braces are not those of another template language: texts that are
// filled in by format(), % or replace(), also by way of a name, texts that are looked for or compared, and texts that
// are no value, such as the description of a function.
func meantBraces(file *syntax.File) map[syntax.Expr]bool {
	meant := map[syntax.Expr]bool{}
	filled := map[string]bool{} // names of texts that are filled in
	given := map[string][]syntax.Expr{}
	fill := func(text syntax.Expr) {
		meant[text] = true
		if name, ok := text.(*syntax.Ident); ok {
			filled[name.Name] = true
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ExprStmt:
			meant[n.X] = true
		case *syntax.AssignStmt:
			if name, ok := n.LHS.(*syntax.Ident); ok {
				given[name.Name] = append(given[name.Name], n.RHS)
			}
		case *syntax.BinaryExpr:
			switch n.Op {
			case syntax.PERCENT:
				fill(n.X)
			case syntax.IN, syntax.NOT_IN, syntax.EQL, syntax.NEQ:
				meant[n.X], meant[n.Y] = true, true
			}
		case *syntax.CallExpr:
			called, ok := n.Fn.(*syntax.DotExpr)
			if !ok {
				break
			}
			if called.Name.Name == "format" || called.Name.Name == "replace" {
				fill(called.X)
			}
			if slices.Contains(searches, called.Name.Name) {
				for _, argument := range n.Args {
					meant[argument] = true
				}
			}
		}
		return true
	})
	for name := range filled {
		for _, text := range given[name] {
			meant[text] = true
		}
	}
	return meant
}

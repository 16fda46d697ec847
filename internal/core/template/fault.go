package template

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"muster/internal/fleet"
)

// fault is one error in a template's text and the byte where it is.
type fault struct {
	at int // byte offset that is shown to the user
	// how many bytes were read; of two attempts (HJSON, Starlark) the one that read more was probably meant
	reached int
	message string
	hint    string
	final   bool // The text is HJSON beyond doubt, so it is not tried as Starlark.
	bare    bool // The text is an unquoted string. To the HJSON reader every Starlark expression looks like that.
}

func (f *fault) error(text string) *fleet.Error {
	return invalid(position(text, f.at), f.message, f.hint)
}

// invalid makes the error for one fault. With a zero spot the error names no place.
func invalid(at spot, message, hint string) *fleet.Error {
	return withDetails([]fleet.Detail{detail(at, message)}, hint)
}

func detail(at spot, message string) fleet.Detail {
	return fleet.Detail{Field: "template", Line: at.line, Column: at.column, Message: cut(message)}
}

// maxDetails is how many faults an error lists. A text can have a hundred thousand.
const maxDetails = 20

func withDetails(details []fleet.Detail, hint string) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: details[0].Message, Hint: hint,
		Details: details[:min(len(details), maxDetails)]}
}

// cut shortens a message, because a program can put a text of any length into it.
func cut(message string) string {
	const most = 2 << 10
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most], "") + "…"
}

// position converts a byte offset to a line and a column. The column counts characters, not bytes.
func position(text string, at int) spot {
	before := text[:min(at, len(text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return spot{strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1}
}

// spot is a place in a text. Line and column start at 1.
type spot struct{ line, column int }

// likeliest returns the error for a text that is neither valid HJSON nor valid Starlark. It picks the error of the
// reader that got further into the text, and the one of HJSON when both got to the same line.
func likeliest(text string, hjson *fault, expression *fleet.Error) error {
	if f := findYAML(text); f != nil {
		return f.error(text)
	}
	if f := findFormat(text); f != nil {
		return f.error(text)
	}
	file, err := dialect().Parse(fileName, text, 0)
	if err == nil && !onlyExpressions(file) {
		return noTemplate(file)
	}
	best, reached := hjson.error(text), position(text, hjson.reached).line
	if hjson.bare && speaksStarlark.MatchString(text) {
		best, reached = expression, expression.Details[0].Line
	}
	others := []*fleet.Error{expression}
	if err != nil {
		others = append(others, syntaxError(text, err))
	}
	for _, other := range others {
		if line := other.Details[0].Line; line > reached {
			best, reached = other, line
		}
	}
	if best.Hint == "" {
		best.Hint = "Write one value as HJSON, one Starlark expression, or a program with def template():."
	}
	return best
}

// speaksStarlark matches text that only Starlark would contain. It separates a broken expression from an unquoted
// HJSON string.
var speaksStarlark = regexp.MustCompile(`[()\[\]]|\b(device|config|devices|tags|secret|json|math)\b`)

func onlyExpressions(file *syntax.File) bool {
	for _, stmt := range file.Stmts {
		if _, ok := stmt.(*syntax.ExprStmt); !ok {
			return false
		}
	}
	return true
}

// noTemplate makes the error for a Starlark program that does not define template().
func noTemplate(file *syntax.File) error {
	message, at := "this program has no template()", spotOf(syntax.Start(file.Stmts[0]))
	for _, stmt := range file.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok {
			message, at = fmt.Sprintf("this program defines %s(), but no template()", shorten(def.Name.Name)), spotOf(def.Def)
		}
	}
	return invalid(at, message, "Put the program into `def template():` and return the value.")
}

// hasBareKey reports whether an expression is a dict with an unquoted name, as in {label: x}. Such a text is broken
// HJSON rather than Starlark.
func hasBareKey(expr syntax.Expr) bool {
	dict, ok := expr.(*syntax.DictExpr)
	if !ok {
		return false
	}
	for _, entry := range dict.List {
		if id, ok := entry.(*syntax.DictEntry).Key.(*syntax.Ident); ok && !surface[id.Name] {
			return true
		}
	}
	return false
}

// isBareWord reports whether an expression is one name that templates do not know: a text without quotes.
func isBareWord(expr syntax.Expr) bool {
	id, ok := expr.(*syntax.Ident)
	return ok && !surface[id.Name] && !starlark.Universe.Has(id.Name) && foreignNames[id.Name].message == ""
}

// didYouMean returns a clause that suggests the candidate nearest to name, or "" when none is near.
func didYouMean(name string, candidates []string) string {
	if near := fleet.Nearest(name, candidates); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}

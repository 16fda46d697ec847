package template

import (
	"fmt"
	"regexp"

	"go.starlark.net/syntax"

	"muster/internal/fleet"
)

// likeliest picks, for a text that cannot be read in any way, the error of the reading that its author meant: the one
// that made sense for more lines, of two equals HJSON.
func likeliest(text string, hjson *fault, expression *fleet.Error) error {
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
		others = append(others, syntaxError(err))
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

// speaksStarlark tells a broken expression from a text that lacks its quotes.
var speaksStarlark = regexp.MustCompile(`[()\[\]]|\b(device|config|devices|tags|secret|json|math)\b`)

func onlyExpressions(file *syntax.File) bool {
	for _, stmt := range file.Stmts {
		if _, ok := stmt.(*syntax.ExprStmt); !ok {
			return false
		}
	}
	return true
}

// noTemplate is the error for a Starlark program without its function.
func noTemplate(file *syntax.File) error {
	message, at := "this program has no template()", spotOf(syntax.Start(file.Stmts[0]))
	for _, stmt := range file.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok {
			message, at = fmt.Sprintf("this program defines %s(), but no template()", shorten(def.Name.Name)), spotOf(def.Def)
		}
	}
	return invalid(at, message, "Put the program into `def template():` and return the value.")
}

// hasBareKey tells whether an expression is a dict with a name that lacks its quotes: {label: x} is HJSON gone wrong.
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

package template

import (
	"slices"

	"go.starlark.net/syntax"
)

// textsOfValue returns the texts of a program that may become part of its value as they are written, in their order.
// It returns none for a program that fills texts in or looks for braces itself: there, braces are meant. So it misses
// some texts, and returns none that a person means.
func textsOfValue(file *syntax.File) (texts []*syntax.Literal) {
	meant := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ExprStmt:
			_, isDescription := n.X.(*syntax.Literal)
			return !isDescription
		case *syntax.Literal:
			if n.Token == syntax.STRING {
				texts = append(texts, n)
			}
		case *syntax.BinaryExpr:
			meant = meant || meansBraces(n)
		case *syntax.CallExpr:
			meant = meant || fillsIn(n)
		}
		return true
	})
	if meant {
		return nil
	}
	return texts
}

// meansBraces reports whether an expression fills a text in with %, or compares something with a placeholder.
func meansBraces(of *syntax.BinaryExpr) bool {
	switch of.Op {
	case syntax.PERCENT:
		return true
	case syntax.IN, syntax.NOT_IN, syntax.EQL, syntax.NEQ:
		return isPlaceholder(of.X) || isPlaceholder(of.Y)
	}
	return false
}

// fillsIn reports whether a call fills a text in, or looks for a placeholder in one.
func fillsIn(call *syntax.CallExpr) bool {
	called, ok := call.Fn.(*syntax.DotExpr)
	if !ok {
		return false
	}
	switch called.Name.Name {
	case "format", "replace":
		return true
	case "append", "extend", "insert", "get", "setdefault", "update", "join":
		return false
	}
	return slices.ContainsFunc(call.Args, isPlaceholder)
}

func isPlaceholder(of syntax.Expr) bool {
	text, ok := of.(*syntax.Literal)
	return ok && text.Token == syntax.STRING && jinja.MatchString(text.Raw)
}

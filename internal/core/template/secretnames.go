package template

import (
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// SecretNames returns the secrets that the program names. computed is true where the program computes a name, so
// that it may need any secret.
func (p *Program) SecretNames() (names []string, computed bool) {
	for _, use := range p.secrets {
		names = append(names, use.name)
	}
	return append(names, p.secretNames...), p.computesSecret
}

// secretNamesOf returns the names that a program gives to secret(), after its names were resolved: texts, and
// constants that are texts. Any other use of secret is computed.
func secretNamesOf(file *syntax.File) (names []string, computed bool) {
	constants := map[string]string{}
	for _, statement := range file.Stmts {
		if assign, is := statement.(*syntax.AssignStmt); is {
			if name, is := assign.LHS.(*syntax.Ident); is {
				if text, is := textOf(assign.RHS); is {
					constants[name.Name] = text
				}
			}
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, is := n.(*syntax.CallExpr); is && isSecretFunction(call.Fn) {
			name, is := nameGiven(call.Args, constants)
			if is {
				names = append(names, name)
				return false
			}
			computed = true
		}
		if id, is := n.(*syntax.Ident); is && isSecretFunction(id) {
			computed = true
		}
		return true
	})
	slices.Sort(names)
	return slices.Compact(names), computed
}

// nameGiven returns the only argument of a call, where it is a text or a constant that is one.
func nameGiven(args []syntax.Expr, constants map[string]string) (name string, is bool) {
	if len(args) != 1 {
		return "", false
	}
	if id, isName := args[0].(*syntax.Ident); isName {
		if binding, _ := id.Binding.(*resolve.Binding); binding != nil && binding.Scope == resolve.Global {
			name, is = constants[id.Name]
		}
		return name, is
	}
	return textOf(args[0])
}

func isSecretFunction(e syntax.Expr) bool {
	id, is := e.(*syntax.Ident)
	if !is || id.Name != "secret" {
		return false
	}
	binding, _ := id.Binding.(*resolve.Binding)
	return binding != nil && binding.Scope == resolve.Predeclared
}

func textOf(e syntax.Expr) (text string, is bool) {
	if literal, isLiteral := e.(*syntax.Literal); isLiteral {
		text, is = literal.Value.(string)
	}
	return text, is
}

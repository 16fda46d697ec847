package template

import (
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// textFlow finds the texts of a program that become part of its value as they are written. It follows names, members
// of lists and dicts, and calls of the program's own functions. It does not follow a text that is compared, searched,
// replaced or filled in, so it may miss one, and rarely finds one too many.
//
// A name is known by the identifier that binds it first.
type textFlow struct {
	values    map[*syntax.Ident][]syntax.Expr   // Names may hold these expressions, or parts of them.
	passed    map[*syntax.Ident][]*syntax.Ident // names that are arguments for a parameter
	filled    map[*syntax.Ident]bool            // names on which format, replace or % is used
	functions map[*syntax.Ident]function
	left      []syntax.Expr // expressions that are part of the value, and are not looked at yet
	seen      map[syntax.Expr]bool
}

// function is a function of the program.
type function struct {
	params  []syntax.Expr
	results []syntax.Expr
}

// textsOfValue returns the texts that become part of a program's value, in the order of the program. Names must have
// been resolved.
func textsOfValue(file *syntax.File) (texts []*syntax.Literal) {
	f := textFlow{values: map[*syntax.Ident][]syntax.Expr{}, passed: map[*syntax.Ident][]*syntax.Ident{},
		filled: map[*syntax.Ident]bool{}, functions: map[*syntax.Ident]function{}, seen: map[syntax.Expr]bool{}}
	syntax.Walk(file, f.define)
	syntax.Walk(file, f.use)
	f.fillArguments()
	if def := findTemplate(file); def != nil {
		f.follow(resultsOf(def)...)
	}
	for len(f.left) > 0 {
		last := len(f.left) - 1
		expr := f.left[last]
		f.left = f.left[:last]
		if f.seen[expr] {
			continue
		}
		f.seen[expr] = true
		if text, ok := expr.(*syntax.Literal); ok && text.Token == syntax.STRING {
			texts = append(texts, text)
		}
		f.expand(expr)
	}
	slices.SortFunc(texts, func(a, b *syntax.Literal) int {
		if a.TokenPos.Line != b.TokenPos.Line {
			return int(a.TokenPos.Line - b.TokenPos.Line)
		}
		return int(a.TokenPos.Col - b.TokenPos.Col)
	})
	return texts
}

// resultsOf returns what a function returns, without what functions inside it return.
func resultsOf(def *syntax.DefStmt) (results []syntax.Expr) {
	for _, stmt := range def.Body {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.DefStmt, *syntax.LambdaExpr:
				return false
			case *syntax.ReturnStmt:
				if n.Result != nil {
					results = append(results, n.Result)
				}
			}
			return true
		})
	}
	return results
}

// binding returns the identifier that binds a name first, or nil for a name that the program does not bind.
func binding(id *syntax.Ident) *syntax.Ident {
	if b, _ := id.Binding.(*resolve.Binding); b != nil {
		return b.First
	}
	return nil
}

// nameOf returns the name in which an expression is a member: of a["b"].c that is a.
func nameOf(expr syntax.Expr) *syntax.Ident {
	for {
		switch e := expr.(type) {
		case *syntax.Ident:
			return binding(e)
		case *syntax.ParenExpr:
			expr = e.X
		case *syntax.IndexExpr:
			expr = e.X
		case *syntax.DotExpr:
			expr = e.X
		default:
			return nil
		}
	}
}

// define remembers the functions of the program.
func (f *textFlow) define(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.DefStmt:
		f.functions[binding(n.Name)] = function{n.Params, resultsOf(n)}
		f.defaults(n.Params)
	case *syntax.LambdaExpr:
		f.defaults(n.Params)
	case *syntax.AssignStmt:
		name, isName := n.LHS.(*syntax.Ident)
		if lambda, ok := n.RHS.(*syntax.LambdaExpr); ok && isName {
			f.functions[binding(name)] = function{lambda.Params, []syntax.Expr{lambda.Body}}
		}
	}
	return true
}

func (f *textFlow) defaults(params []syntax.Expr) {
	for _, param := range params {
		if withDefault, ok := param.(*syntax.BinaryExpr); ok {
			f.hold(withDefault.X, withDefault.Y)
		}
	}
}

// use remembers what names may hold, and which of them are filled in.
func (f *textFlow) use(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.AssignStmt:
		f.hold(n.LHS, n.RHS)
		if n.Op == syntax.PERCENT_EQ {
			f.filled[nameOf(n.LHS)] = true
		}
	case *syntax.ForStmt:
		f.hold(n.Vars, n.X)
	case *syntax.ForClause:
		f.hold(n.Vars, n.X)
	case *syntax.BinaryExpr:
		if n.Op == syntax.PERCENT {
			f.filled[nameOf(n.X)] = true
		}
	case *syntax.CallExpr:
		f.call(n)
	}
	return true
}

// hold remembers that a name, or names in brackets, may hold a value.
func (f *textFlow) hold(target, value syntax.Expr) {
	var members []syntax.Expr
	switch t := target.(type) {
	case *syntax.ParenExpr:
		f.hold(t.X, value)
		return
	case *syntax.TupleExpr:
		members = t.List
	case *syntax.ListExpr:
		members = t.List
	default:
		if name := nameOf(target); name != nil {
			f.values[name] = append(f.values[name], value)
		}
		return
	}
	tuple, _ := value.(*syntax.TupleExpr)
	for i, member := range members {
		if tuple != nil && len(tuple.List) == len(members) {
			f.hold(member, tuple.List[i])
		} else {
			f.hold(member, value)
		}
	}
}

// adding are methods that put their arguments into a list, dict or set.
var adding = []string{"append", "extend", "insert", "update", "setdefault", "add"}

func (f *textFlow) call(call *syntax.CallExpr) {
	switch fn := call.Fn.(type) {
	case *syntax.DotExpr:
		switch name := nameOf(fn.X); {
		case name == nil:
		case fn.Name.Name == "format", fn.Name.Name == "replace":
			f.filled[name] = true
		case slices.Contains(adding, fn.Name.Name):
			f.values[name] = append(f.values[name], arguments(call)...)
		}
	case *syntax.Ident:
		called, ok := f.functions[binding(fn)]
		if !ok {
			return
		}
		for i, arg := range call.Args {
			param, value := argument(called.params, i, arg)
			if param == nil {
				continue
			}
			f.values[param] = append(f.values[param], value)
			if name := nameOf(value); name != nil {
				f.passed[param] = append(f.passed[param], name)
			}
		}
	}
}

// argument returns the parameter to which an argument of a call belongs, or nil, and the argument's value.
func argument(params []syntax.Expr, i int, arg syntax.Expr) (param *syntax.Ident, value syntax.Expr) {
	named, _ := arg.(*syntax.BinaryExpr)
	if named != nil && named.Op == syntax.EQ {
		for _, one := range params {
			if id := parameter(one); id != nil && id.Name == named.X.(*syntax.Ident).Name {
				return binding(id), named.Y
			}
		}
		return nil, named.Y
	}
	if i < len(params) {
		if id := parameter(params[i]); id != nil {
			return binding(id), arg
		}
	}
	return nil, arg
}

// arguments returns the values of the arguments of a call.
func arguments(call *syntax.CallExpr) []syntax.Expr {
	values := make([]syntax.Expr, len(call.Args))
	for i, arg := range call.Args {
		_, values[i] = argument(nil, i, arg)
	}
	return values
}

// fillArguments marks the names that are passed on to a parameter that is filled in.
func (f *textFlow) fillArguments() {
	var left []*syntax.Ident
	for name := range f.filled {
		left = append(left, name)
	}
	for len(left) > 0 {
		last := len(left) - 1
		param := left[last]
		left = left[:last]
		for _, name := range f.passed[param] {
			if !f.filled[name] {
				f.filled[name] = true
				left = append(left, name)
			}
		}
	}
}

func (f *textFlow) follow(exprs ...syntax.Expr) { f.left = append(f.left, exprs...) }

// expand follows the parts of an expression that become part of its value.
func (f *textFlow) expand(expr syntax.Expr) {
	switch e := expr.(type) {
	case *syntax.ParenExpr:
		f.follow(e.X)
	case *syntax.BinaryExpr:
		switch e.Op {
		case syntax.PLUS, syntax.PIPE, syntax.STAR, syntax.OR, syntax.AND:
			f.follow(e.X, e.Y)
		case syntax.PERCENT:
			f.follow(e.Y)
		}
	case *syntax.CondExpr:
		f.follow(e.True, e.False)
	case *syntax.DictExpr:
		f.follow(e.List...)
	case *syntax.DictEntry:
		f.follow(e.Key, e.Value)
	case *syntax.ListExpr:
		f.follow(e.List...)
	case *syntax.TupleExpr:
		f.follow(e.List...)
	case *syntax.Comprehension:
		f.follow(e.Body)
	case *syntax.IndexExpr:
		f.follow(e.X)
	case *syntax.CallExpr:
		f.expandCall(e)
	case *syntax.Ident:
		if name := binding(e); name != nil && !f.filled[name] {
			f.follow(f.values[name]...)
		}
	}
}

// keeping are functions of Starlark whose results hold their arguments.
var keeping = []string{"dict", "enumerate", "list", "max", "min", "reversed", "set", "sorted", "str", "tuple", "zip"}

func (f *textFlow) expandCall(call *syntax.CallExpr) {
	switch fn := call.Fn.(type) {
	case *syntax.DotExpr:
		switch fn.Name.Name {
		case "get":
			f.follow(fn.X)
			f.follow(arguments(call)[min(1, len(call.Args)):]...)
		case "join":
			f.follow(fn.X)
			f.follow(arguments(call)...)
		case "format", "encode", "indent": // The last two are of json.
			f.follow(arguments(call)...)
		case "strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize":
			f.follow(fn.X)
		}
	case *syntax.Ident:
		if called, ok := f.functions[binding(fn)]; ok {
			f.follow(called.results...)
		} else if slices.Contains(keeping, fn.Name) {
			f.follow(arguments(call)...)
		}
	}
}

package template

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"muster/internal/fleet"
)

const (
	fileName     = "template" // shown in tracebacks
	functionName = "template"
)

// surface holds every name that a program can use besides Starlark's own. The values are placeholders; an evaluation
// replaces them.
var surface = map[string]bool{
	"device": true, "config": true, "devices": true, "tags": true, "secret": true, "json": true, "math": true,
}

const surfaceList = "device, config, devices(tag), tags(), secret(name), json, math, fail and print"

// ambiguous holds the names that show that a text is a Starlark expression although it is also valid HJSON.
var ambiguous = []string{"device", "config", "devices", "tags", "secret", "True", "False", "None"}

func dialect() *syntax.FileOptions { return &syntax.FileOptions{Set: true, TopLevelControl: true} }

// errNoProgram means that a text has a line `def template(` but does not define template() at the top level.
var errNoProgram = errors.New("no template()")

func isNoProgram(err error) bool { return errors.Is(err, errNoProgram) }

// compileProgram compiles a text that defines template().
func compileProgram(text string) (*Program, error) {
	if err := checkNesting(text); err != nil {
		return nil, err.error(text)
	}
	file, err := dialect().Parse(fileName, text, 0)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	def := findTemplate(file)
	if def == nil {
		return nil, errNoProgram
	}
	p := &Program{language: Starlark, text: text, position: spotOf(def.Def)}
	p.findReturns(def)
	var device, config *syntax.Ident
	for _, param := range def.Params {
		id := parameter(param)
		if id == nil || id.Name != "device" && id.Name != "config" {
			return nil, parameterError(param)
		}
		p.parameters = append(p.parameters, id.Name)
		if id.Name == "device" {
			device = id
		} else {
			config = id
		}
	}
	return p.compile(file, device, config)
}

// compileExpression compiles a text that is one expression. The expression becomes the body of a function.
func compileExpression(text string, expr syntax.Expr) (*Program, error) {
	start := syntax.Start(expr)
	name := &syntax.Ident{NamePos: start, Name: functionName}
	def := &syntax.DefStmt{Def: start, Name: name, Body: []syntax.Stmt{&syntax.ReturnStmt{Return: start, Result: expr}}}
	file := &syntax.File{Path: fileName, Options: dialect(), Stmts: []syntax.Stmt{def}}
	p := &Program{language: Starlark, text: text, returns: true, position: spotOf(start)}
	return p.compile(file, nil, nil)
}

// parseExpression accepts white space and comments before the expression. The parser alone would take them for
// indentation.
func parseExpression(text string) (syntax.Expr, error) {
	at := 0
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\n', '\r':
			at++
			continue
		case '#':
			if end := strings.IndexByte(text[at:], '\n'); end >= 0 {
				at += end
				continue
			}
		}
		break
	}
	first := position(text, at)
	portion := syntax.FilePortion{Content: []byte(text[at:]), FirstLine: int32(first.line), FirstCol: int32(first.column)}
	return dialect().ParseExpr(fileName, portion, 0)
}

// isExpression reports whether a text is one Starlark expression.
func isExpression(text string) bool {
	if checkNesting(text) != nil {
		return false
	}
	_, err := parseExpression(text)
	return err == nil
}

func findTemplate(file *syntax.File) *syntax.DefStmt {
	for _, stmt := range file.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok && def.Name.Name == functionName {
			return def
		}
	}
	return nil
}

// parameter returns the name of a plain parameter, with or without a default. It returns nil for *args and **kwargs.
func parameter(param syntax.Expr) *syntax.Ident {
	if withDefault, ok := param.(*syntax.BinaryExpr); ok {
		param = withDefault.X
	}
	id, _ := param.(*syntax.Ident)
	return id
}

func parameterError(param syntax.Expr) error {
	start := spotOf(syntax.Start(param))
	hint := "Write def template():, def template(device):, def template(config): or def template(device, config):."
	if id := parameter(param); id != nil {
		return invalid(start, fmt.Sprintf("template() has no parameter %s%s", shorten(id.Name),
			didYouMean(id.Name, []string{"device", "config"})), hint)
	}
	return invalid(start, "template() has the parameters device and config only", hint)
}

// findReturns finds the return statements with a value in template(), without those of functions defined inside it.
func (p *Program) findReturns(def *syntax.DefStmt) {
	var returns []spot
	for _, stmt := range def.Body {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.DefStmt, *syntax.LambdaExpr:
				return false
			case *syntax.ReturnStmt:
				if n.Result != nil {
					returns = append(returns, spotOf(n.Return))
				}
			}
			return true
		})
	}
	p.returns = len(returns) > 0
	if len(returns) == 1 {
		p.position = returns[0]
	}
}

func (p *Program) compile(file *syntax.File, device, config *syntax.Ident) (*Program, error) {
	if err := checkTree(file); err != nil {
		return nil, err
	}
	code, err := starlark.FileProgram(file, func(name string) bool { return surface[name] })
	if err != nil {
		return nil, resolveError(file, err)
	}
	p.code, p.reads, p.refusal = code, readsOf(file, device, config), jinjaOf(file)
	p.secretNames, p.computesSecret = secretNamesOf(file)
	return p, nil
}

// checkTree refuses constructs that the parser accepts but that no evaluation can run.
func checkTree(file *syntax.File) error {
	var details []fleet.Detail
	hint := ""
	wrong := func(at spot, message string) { details = append(details, detail(at, message)) }
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LoadStmt:
			wrong(spotOf(n.Load), "a template cannot load other files")
			hint = "Write the function into the template itself."
		case *syntax.DictExpr:
			seen := map[string]string{}
			for _, entry := range n.List {
				key, ok := entry.(*syntax.DictEntry).Key.(*syntax.Literal)
				if !ok || key.Token != syntax.STRING {
					continue
				}
				name := key.Value.(string)
				if first, twice := seen[foldName(name)]; twice {
					wrong(spotOf(key.TokenPos), duplicateMessage(first, name))
				}
				seen[foldName(name)] = name
			}
		}
		return true
	})
	if len(details) == 0 {
		return nil
	}
	return withDetails(details, hint)
}

// jinjaOf makes the error for the placeholders of other template languages in the value of a program, or nil.
func jinjaOf(file *syntax.File) *fleet.Error {
	var details []fleet.Detail
	hint := ""
	for _, text := range textsOfValue(file) {
		if at, message, instead := jinjaIn(text); message != "" {
			details = append(details, detail(at, message))
			hint = cmp.Or(hint, instead)
		}
	}
	if len(details) == 0 {
		return nil
	}
	return withDetails(details, hint)
}

func spotOf(at syntax.Position) spot { return spot{int(at.Line), int(at.Col)} }

// resolveError reports every undefined name, each with the known name that is nearest to it.
func resolveError(file *syntax.File, err error) error {
	var list resolve.ErrorList
	if !errors.As(err, &list) {
		return invalid(spot{}, err.Error(), "")
	}
	undefined := map[spot]string{}
	known := slices.Concat(slices.Collect(maps.Keys(surface)), slices.Collect(maps.Keys(starlark.Universe)))
	syntax.Walk(file, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok {
			switch binding, _ := id.Binding.(*resolve.Binding); {
			case binding == nil:
			case binding.Scope == resolve.Undefined:
				undefined[spotOf(id.NamePos)] = id.Name
			default:
				known = append(known, id.Name)
			}
		}
		return true
	})
	var details []fleet.Detail
	hint := ""
	for _, e := range list {
		message := e.Msg
		if name, ok := undefined[spotOf(e.Pos)]; ok {
			message = fmt.Sprintf("%s is not defined%s", shorten(name), didYouMean(name, known))
			hint = cmp.Or(hint, "A text stands in quotes; templates know "+surfaceList+".")
			if foreign, ok := foreignNames[name]; ok {
				message, hint = foreign.message, foreign.hint
			}
		} else if strings.Contains(message, "while loops") {
			message, hint = statementsOfPython["while"].message, statementsOfPython["while"].hint
		}
		details = append(details, detail(spotOf(e.Pos), message))
	}
	return withDetails(details, hint)
}

// checkAmbiguous refuses a text that is valid HJSON but would mean something else as a Starlark expression.
func checkAmbiguous(text string) error {
	if checkNesting(text) != nil {
		return nil
	}
	expr, notStarlark := parseExpression(text)
	if notStarlark != nil {
		return nil //nolint:nilerr // The text is HJSON only, which is not ambiguous.
	}
	first, isName := firstAmbiguous(expr)
	if first == nil {
		return nil
	}
	what := first.Name
	if isName {
		what = "the name " + what
	}
	return invalid(spotOf(first.NamePos),
		fmt.Sprintf("this can be read as HJSON and as Starlark: %s stands without quotes, "+
			"and means something else in Starlark", what),
		quoteHint(first.Name, isName))
}

// firstAmbiguous returns the first name that means something else in Starlark, and whether it is the name of a member.
func firstAmbiguous(expr syntax.Expr) (first *syntax.Ident, isName bool) {
	names := map[*syntax.Ident]bool{}
	syntax.Walk(expr, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DictEntry:
			if key, ok := n.Key.(*syntax.Ident); ok {
				names[key] = true
			}
		case *syntax.Ident:
			if first == nil && slices.Contains(ambiguous, n.Name) {
				first = n
			}
		}
		return first == nil
	})
	return first, names[first]
}

// hjsonWords gives, for each constant of Starlark, the word that HJSON uses.
var hjsonWords = map[string]string{"True": "true", "False": "false", "None": "null"}

func quoteHint(name string, isName bool) string {
	switch word := hjsonWords[name]; {
	case isName:
		return fmt.Sprintf("quote the names, as in %q: …, or write `def template():` if Starlark is meant", name)
	case word != "":
		return fmt.Sprintf("write %s, quote the strings if the text %q is meant, or write `def template():`", word, name)
	}
	return "quote the strings if HJSON is meant, or write `def template():` if Starlark is meant"
}

// predeclared returns the values of surface for one evaluation. It makes only the values that the program uses.
func (p *Program) predeclared(in Input) starlark.StringDict {
	all := in.Fleet
	if all == nil {
		all = emptyFleet
	}
	names := starlark.StringDict{
		"device": starlark.None, "config": starlark.None,
		"devices": all.devicesFunction(), "tags": all.tagsFunction(), "secret": secretFunction(in.Secrets),
		"json": json.Module, "math": math.Module,
	}
	if p.reads.Device.Any() {
		names["device"] = newDevice(in.Device, ownNames)
	}
	if p.reads.Config {
		names["config"] = newObject(Conceal(in.Config), nil)
	}
	return names
}

var emptyFleet = NewFleet(nil)

package template

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Program is the compiled text of a template. It is immutable, so evaluations may share it.
type Program struct {
	language Language
	reads    fleet.Inputs
	text     string
	refusal  *fleet.Error // why the text may not be saved; nil: it may

	// These two fields are set for a text in HJSON.
	value   stconfig.Value
	secrets []secretUse

	// These fields are set for a text in Starlark.
	code       *starlark.Program
	parameters []string // parameters of template(): "device", "config", both or neither
	returns    bool     // at least one return statement in template() has a value
	position   spot     // line of the only return statement, or of `def template` when there are several

	secretNames    []string // the secrets that it names
	computesSecret bool     // it computes the name of a secret
}

// Language returns the language in which the text was read.
func (p *Program) Language() Language { return p.language }

// Reads returns the inputs that the program uses.
func (p *Program) Reads() fleet.Inputs { return p.reads }

// Refusal returns why the text may not be saved although it can be evaluated: it is most probably not what a person
// means, such as a placeholder of Jinja in a value, or an object as YAML writes it. It is nil for other texts. A text
// that was saved by an earlier version of Muster is evaluated in spite of it.
func (p *Program) Refusal() error {
	if p.refusal == nil {
		return nil
	}
	return p.refusal
}

// CompileNew is Compile for a text that is about to be saved: it also returns the error of Refusal.
func CompileNew(text string) (*Program, error) {
	p, err := Compile(text)
	if err == nil {
		err = p.Refusal()
	}
	return p, err
}

// definition matches the line that makes a text a Starlark program. It also matches inside a string of several lines.
var definition = regexp.MustCompile(`(?m)^def[ \t]+template[ \t]*\(`)

// Compile reads a template's text. It returns a *fleet.Error with the line and column of every fault.
//
// It tries the following in this order. A text that defines template() at the top level is a Starlark program. A text
// that is valid HJSON, and whose root is an object, a list, a number, true, false, null or a quoted string, is HJSON.
// A text that is one Starlark expression is that expression. Compile refuses a text that is valid both as HJSON and as
// an expression when it contains a name of `ambiguous` outside of quotes.
func Compile(text string) (*Program, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	// Some editors on Windows put a byte order mark at the start of every file.
	text = strings.TrimPrefix(text, "\ufeff")
	var programFault error
	if definition.MatchString(text) {
		p, err := compileProgram(text)
		if p != nil || err == nil {
			return p, err
		}
		programFault = err
	}
	read, hjsonFault := readHJSON(text)
	if hjsonFault != nil && (programFault == nil || isNoProgram(programFault)) && !isExpression(text) {
		f := jinjaAround(text, hjsonFault.at)
		if hjsonFault.bare {
			f = cmp.Or(f, read.jinja)
		}
		if f != nil {
			return nil, f.error(text)
		}
	}
	switch {
	case hjsonFault == nil:
		if err := checkAmbiguous(text); err != nil {
			return nil, err
		}
		reads := fleet.Inputs{Known: true, Secrets: len(read.secrets) > 0, Sharing: namesDevices(read.value)}
		p := &Program{language: HJSON, text: text, value: read.value, secrets: read.secrets, reads: reads}
		if f := cmp.Or(read.jinja, read.yaml); f != nil {
			p.refusal = f.error(text)
		}
		return p, nil
	case programFault != nil && !isNoProgram(programFault):
		return nil, programFault
	case hjsonFault.final:
		return nil, hjsonFault.error(text)
	}
	if err := checkNesting(text); err != nil {
		return nil, err.error(text)
	}
	expr, err := parseExpression(text)
	if err != nil {
		return nil, likeliest(text, hjsonFault, syntaxError(text, err))
	}
	if hasBareKey(expr) || isBareWord(expr) {
		return nil, hjsonFault.error(text)
	}
	return compileExpression(text, expr)
}

// checkText refuses texts with a NUL, which the parsers would read as the end of the text.
func checkText(text string) error {
	if len(text) > fleet.MaxTemplateBytes {
		return &fleet.Error{Code: fleet.CodeTooLarge, Message: fleet.TemplateTooLarge,
			Details: []fleet.Detail{{Field: "template", Message: "too long"}}}
	}
	return checkCharacters(text)
}

func checkCharacters(text string) error {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return (&fault{at: i, message: "a template is UTF-8 text, and this byte is not",
					hint: "Save the file as UTF-8."}).error(text)
			}
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			return (&fault{at: i, message: "a template may not hold control characters",
				hint: "Write an escape such as \\u0001 if it is meant."}).error(text)
		}
	}
	return nil
}

// Evaluate runs the program. When a Starlark program fails, Evaluate returns a *fleet.Error with CodeInvalid, the
// traceback, and the line and column of the failure.
func (p *Program) Evaluate(in Input, limits Limits) (Result, error) {
	if p.language == HJSON {
		for _, use := range p.secrets {
			if err := secretExists(use.name, in.Secrets); err != nil {
				return Result{}, (&fault{at: use.at, message: err.Error(), hint: "Make the secret first."}).error(p.text)
			}
		}
		return Result{Language: HJSON, Value: p.value}, nil
	}
	return p.run(in, limits.WithDefaults())
}

// readsOf returns the inputs that a program uses, after its names were resolved. device and config are the parameters
// of template(), or nil. A parameter that the program does not use is not an input.
func readsOf(file *syntax.File, device, config *syntax.Ident) fleet.Inputs {
	// Only an evaluation shows whether the value names other devices.
	in := fleet.Inputs{Known: true, Sharing: true}
	fields, whole, peers := map[string]bool{}, false, false
	means := func(id *syntax.Ident, name string, parameter *syntax.Ident) bool {
		binding, _ := id.Binding.(*resolve.Binding)
		if binding == nil || id == parameter {
			return false
		}
		return binding.Scope == resolve.Predeclared && id.Name == name || parameter != nil && binding.First == parameter
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DotExpr: // for example device.label
			if id, ok := n.X.(*syntax.Ident); ok && means(id, "device", device) {
				fields[n.Name.Name] = true
				return false
			}
			peers = peers || namesPeer(n)
		case *syntax.IndexExpr, *syntax.CallExpr:
			peers = peers || namesPeer(n)
		case *syntax.Ident:
			whole = whole || means(n, "device", device)
			in.Config = in.Config || means(n, "config", config)
			in.Devices = in.Devices || means(n, "devices", nil)
			in.Tags = in.Tags || means(n, "tags", nil)
			in.Secrets = in.Secrets || means(n, "secret", nil)
		}
		return true
	})
	in.Peers = peers && in.Devices
	in.Device = fleet.FactsNamed(slices.Sorted(maps.Keys(fields)))
	if whole {
		in.Device = fleet.AllFacts
	}
	return in
}

// namesDevices reports whether an object in a value has a member `devices`.
func namesDevices(v stconfig.Value) bool {
	for i := range v.Len() {
		if v.Kind() == stconfig.Object && strings.EqualFold(v.Name(i), "devices") || namesDevices(v.At(i)) {
			return true
		}
	}
	return false
}

package template

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Program is a template's text, understood. It is immutable: evaluations may share it.
type Program struct {
	language Language
	reads    fleet.Inputs
	text     string

	// of HJSON
	value   stconfig.Value
	secrets []secretUse

	// of Starlark
	code       *starlark.Program
	parameters []string // of template(): any of "device" and "config"
	returns    bool     // some return in template() has a value
	position   spot     // of the return, where there is only one, else of `def template`
}

// Language is how the text was read.
func (p *Program) Language() Language { return p.language }

// Reads are the inputs of the program.
func (p *Program) Reads() fleet.Inputs { return p.reads }

// definition finds the line that makes a text a Starlark program, unless it stands inside a text of many lines.
var definition = regexp.MustCompile(`(?m)^def[ \t]+template[ \t]*\(`)

// Compile reads a template's text. An error is a *fleet.Error with the line and column of every fault.
//
// A text that defines template() at the top is a Starlark program. Any other that is valid HJSON, with a root that is
// an object, a list, a number, true, false, null or a quoted text, is HJSON. Any other that is one Starlark expression
// is that. A text that can be read both ways and holds, outside of quotes, one of the names in ambiguous is refused.
func Compile(text string) (*Program, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	text = strings.TrimPrefix(text, "\ufeff") // some editors on Windows begin every file with it
	var programFault error
	if definition.MatchString(text) {
		p, err := compileProgram(text)
		if p != nil || err == nil {
			return p, err
		}
		programFault = err
	}
	read, hjsonFault := readHJSON(text)
	switch {
	case hjsonFault == nil:
		if err := checkAmbiguous(text); err != nil {
			return nil, err
		}
		reads := fleet.Inputs{Known: true, Secrets: len(read.secrets) > 0, Sharing: namesDevices(read.value)}
		return &Program{language: HJSON, text: text, value: read.value, secrets: read.secrets, reads: reads}, nil
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
		return nil, likeliest(text, hjsonFault, syntaxError(err))
	}
	if hasBareKey(expr) {
		return nil, hjsonFault.error(text)
	}
	return compileExpression(text, expr)
}

// checkText refuses what the parsers would misread: they take a NUL for the end.
func checkText(text string) error {
	if len(text) > fleet.MaxTemplateBytes {
		return &fleet.Error{Code: fleet.CodeTooLarge, Message: "a template has at most 1 MiB of text",
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

// Evaluate runs the program. An error is a *fleet.Error with CodeInvalid, and with the line, column and traceback of
// the place where a Starlark program failed.
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

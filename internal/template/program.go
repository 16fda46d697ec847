package template

import "muster/internal/fleet"

// Inputs says what a program looks at, found in its text: programs that look at the same get the same result.
type Inputs struct {
	Device  Fields // of the device it is evaluated for
	Config  bool   // the configuration so far
	Devices bool   // the facts of the whole fleet
	Tags    bool   // the names of all tags
	Secrets bool   // which secrets there are
}

// Fields says which facts of its device a program looks at.
type Fields struct {
	All   bool     // the device as a whole is passed on, or a fact is picked at run time
	Names []string // sorted; empty when All
}

// Any tells whether the program looks at its device at all.
func (f Fields) Any() bool { return f.All || len(f.Names) > 0 }

// Program is a template's text, understood. It is immutable: evaluations may share it.
type Program struct {
	language Language
	reads    Inputs
}

// Compile reads a template's text. An error is a *fleet.Error with the line and column of every fault.
func Compile(text string) (*Program, error) {
	return nil, fleet.Invalidf("template", "not built yet")
}

// Language is how the text was read.
func (p *Program) Language() Language { return p.language }

// Reads says what the program looks at.
func (p *Program) Reads() Inputs { return p.reads }

// Evaluate runs the program.
func (p *Program) Evaluate(in Input, limits Limits) (Result, error) {
	return Result{}, fleet.Invalidf("template", "not built yet")
}

// Package template is the template language: HJSON or Starlark text and the facts of a device give a value, the same
// text and facts always the same value. It bounds steps, output, nesting and the size of the value; memory and time
// are bounded by package sandbox, which runs it in a process of its own. What a value does to a configuration is
// stconfig's business.
package template

import (
	"muster/internal/stconfig"
)

// Language is how a template's text is read.
type Language string

const (
	HJSON    Language = "hjson"
	Starlark Language = "starlark"
)

const (
	MaxDepth = stconfig.MaxDepth // the deepest nesting of a text and of a value
	MaxNames = 2000              // of one object; the daemon's largest has 70, and comparing objects is not linear
)

// Input is everything a program may look at.
type Input struct {
	Device  Facts          // the device it is evaluated for
	Config  stconfig.Value // the configuration so far in the fold; Absent counts as an empty object
	Fleet   *Fleet         // nil counts as no devices
	Secrets []string       // the names that secret() knows; nil when they are not known, then any is taken
}

// Limits bound one evaluation. A zero field takes the default. They are counted by the interpreter, which cannot
// interrupt a single built-in call: a program that is not trusted belongs into package sandbox.
type Limits struct {
	Steps       uint64 // of the interpreter
	OutputBytes int    // of all that is printed
	ValueBytes  int    // of texts and numbers in the value
	Values      int    // members of the value, at any depth

	// Started, when set, is called before the first step with a function that stops the program; that one may be called
	// from any goroutine, at any time. It is how a caller that has a clock sets a deadline.
	Started func(stop func(reason string))
}

// Default limits. A list of 10,000 devices takes about 100,000 steps, 1 MiB and 20,000 values.
const (
	DefaultSteps       = 20_000_000
	DefaultOutputBytes = 64 << 10
	DefaultValueBytes  = 2 << 20
	DefaultValues      = 100_000
)

// WithDefaults fills the zero fields.
func (l Limits) WithDefaults() Limits {
	if l.Steps == 0 {
		l.Steps = DefaultSteps
	}
	if l.OutputBytes == 0 {
		l.OutputBytes = DefaultOutputBytes
	}
	if l.ValueBytes == 0 {
		l.ValueBytes = DefaultValueBytes
	}
	if l.Values == 0 {
		l.Values = DefaultValues
	}
	return l
}

// Result is what an evaluation gives.
type Result struct {
	Language Language
	Value    stconfig.Value // may hold Handles: "secret:NAME", "config:KEY"
	Output   []string       // what the program printed, one entry per print
	Steps    uint64         // of the interpreter; 0 for HJSON

	ReadsConfig bool // the program looks at the configuration: over another one the value may be another
}

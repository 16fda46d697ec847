// Package template implements the template language. A template is a text in HJSON or Starlark; with the facts of a
// device it gives a value, always the same value for the same text and facts. The package bounds steps, output,
// nesting and the size of the value. Package sandbox bounds memory and time, by running this package in a child
// process. Package stconfig defines what the value changes in a configuration.
package template

import (
	"muster/internal/core/stconfig"
)

// Language is the language in which a template's text was read.
type Language string

const (
	HJSON    Language = "hjson"
	Starlark Language = "starlark"
)

// Input is everything that a program may read.
type Input struct {
	Device  Facts          // the device that the program is evaluated for
	Config  stconfig.Value // the configuration after the templates before this one; Absent means an empty object
	Fleet   *Fleet         // nil means a fleet without devices
	Secrets []string       // names of the existing secrets; nil means unknown, so every name is accepted
}

// Result is the result of one evaluation.
type Result struct {
	Language Language
	Value    stconfig.Value // may contain Handles: "secret:NAME", "config:KEY"
	Output   []string       // texts that the program printed, one per call of print
	Steps    uint64         // executed by the interpreter; 0 for HJSON

	ReadsConfig bool // The program uses `config`, so its value may differ for another configuration.
}

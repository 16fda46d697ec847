package template

import "muster/internal/core/stconfig"

const (
	MaxDepth = stconfig.MaxDepth // deepest nesting of a text and of a value
	// names in one object; the daemon's largest has 70, and the time to compare objects grows with the square
	MaxNames = 2000
)

// Limits bound one evaluation. A zero field means the default. The interpreter counts steps but cannot interrupt a
// single call of a built-in function, so package sandbox runs programs that are not trusted.
type Limits struct {
	Steps       uint64 // executed by the interpreter
	OutputBytes int    // bytes of printed text
	ValueBytes  int    // bytes of all strings and numbers in the result
	Values      int    // number of values in the result, at any depth

	// Started, when set, is called before the first step. Its argument is a function that stops the program and that
	// any goroutine may call at any time. A caller with a clock uses it for a deadline.
	Started func(stop func(reason string))
}

// Default limits. For comparison: a program that makes a list of 10,000 devices needs about 100,000 steps, 1 MiB and
// 20,000 values.
const (
	DefaultSteps       = 20_000_000
	DefaultOutputBytes = 64 << 10
	DefaultValueBytes  = 2 << 20
	DefaultValues      = 100_000
)

// WithDefaults replaces zero fields by the defaults.
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

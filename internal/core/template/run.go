package template

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"go.starlark.net/starlark"
)

// run evaluates a Starlark program once.
func (p *Program) run(in Input, limits Limits) (result Result, err error) {
	e := &evaluation{program: p, limits: limits}
	defer func() {
		// A program made the interpreter panic, which is a bug of the interpreter.
		if cause := recover(); cause != nil {
			fault := invalid(p.position, "the program asks for something that cannot be done", "")
			fault.Err = fmt.Errorf("starlark: %v", cause)
			result, err = Result{}, fault
		}
	}()
	value, failure := e.call(in)
	if failure != nil {
		return Result{}, e.explain(failure)
	}
	if value == starlark.None && !p.returns {
		return Result{}, invalid(p.position, "template() returns nothing", "End it with return and the value.")
	}
	v, failure := toValue(value, limits)
	if failure != nil {
		return Result{}, invalid(p.position, failure.Error(), explainEvaluation(failure.Error()))
	}
	return Result{Language: Starlark, Value: v, Output: e.output, Steps: e.thread.ExecutionSteps(),
		ReadsConfig: p.reads.Config}, nil
}

type evaluation struct {
	program *Program
	limits  Limits
	thread  *starlark.Thread
	output  []string
	printed int
	broken  string                 // the limit that the program exceeded
	stopped atomic.Pointer[string] // the reason that another goroutine gave when it stopped the program
}

func (e *evaluation) call(in Input) (starlark.Value, error) {
	e.thread = &starlark.Thread{Name: fileName, Print: e.print, OnMaxSteps: e.outOfSteps}
	e.thread.SetMaxExecutionSteps(e.limits.Steps)
	if e.limits.Started != nil {
		e.limits.Started(func(reason string) {
			e.stopped.CompareAndSwap(nil, &reason)
			e.thread.Cancel(reason)
		})
	}
	names := e.program.predeclared(in)
	globals, err := e.program.code.Init(e.thread, names)
	if err != nil {
		return nil, err
	}
	arguments := make([]starlark.Tuple, len(e.program.parameters))
	for i, name := range e.program.parameters {
		arguments[i] = starlark.Tuple{starlark.String(name), names[name]}
	}
	return starlark.Call(e.thread, globals[functionName], nil, arguments)
}

func (e *evaluation) print(thread *starlark.Thread, message string) {
	if e.printed += len(message) + 1; e.printed > e.limits.OutputBytes {
		e.stop(fmt.Sprintf("the program prints more than %d KiB", e.limits.OutputBytes>>10))
		return
	}
	e.output = append(e.output, message)
}

func (e *evaluation) outOfSteps(*starlark.Thread) {
	e.stop(fmt.Sprintf("the program takes more than %d steps", e.limits.Steps))
}

func (e *evaluation) stop(message string) {
	if e.broken == "" {
		e.broken = message
	}
	e.thread.Cancel(message)
}

// explain makes the error of a failed evaluation, with the place of the failure and the calls that led to it.
func (e *evaluation) explain(failure error) error {
	message, hint := inReadersWords(failure.Error()), ""
	switch stopped := e.stopped.Load(); {
	case e.broken != "":
		message, hint = e.broken, "Look for a loop that does more than it should."
	case stopped != nil:
		message, hint = *stopped, "Look for a loop that does more than it should."
	default:
		hint = explainEvaluation(message)
	}
	fault := invalid(e.program.position, message, hint)
	var at *starlark.EvalError
	if errors.As(failure, &at) {
		fault = invalid(innermost(at.CallStack, e.program.position), message, hint)
		fault.Traceback = traceback(at.CallStack, message)
	}
	return fault
}

// innermost returns the last place in a call stack that is in the template's own text, or `otherwise` when none is.
func innermost(stack starlark.CallStack, otherwise spot) spot {
	for i := range stack {
		if at := spotOf(stack.At(i).Pos); at.line > 0 {
			return at
		}
	}
	return otherwise
}

// maxTraceback is how many calls a traceback shows at its beginning, and again at its end.
const maxTraceback = 20

func traceback(stack starlark.CallStack, message string) string {
	var b strings.Builder
	b.WriteString("Traceback (most recent call last):\n")
	for i, frame := range stack {
		if i == maxTraceback && len(stack) > 2*maxTraceback {
			fmt.Fprintf(&b, "  … %d more calls\n", len(stack)-2*maxTraceback)
		}
		if i >= maxTraceback && i < len(stack)-maxTraceback {
			continue
		}
		if at := spotOf(frame.Pos); at.line > 0 {
			fmt.Fprintf(&b, "  line %d, column %d, in %s\n", at.line, at.column, shorten(frame.Name))
		} else {
			fmt.Fprintf(&b, "  in %s\n", shorten(frame.Name))
		}
	}
	return b.String() + "Error: " + cut(message)
}

// Package sandbox evaluates templates in child processes of this same binary, with hard limits on memory, time and
// output: a program that breaks one costs its child, never the server. What a template means is package template's
// business.
package sandbox

import (
	"context"
	"io"
	"log/slog"
	"time"

	"muster/internal/fleet"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// Options of a Pool. A zero field takes the default.
type Options struct {
	Command    []string // starts a worker, whose main is Serve; default: this executable with the argument "worker"
	Limits     Limits
	Warm       int   // workers kept ready; default 2
	Max        int   // workers at once; default 16
	CacheBytes int64 // of results kept; default 12 MiB
	Log        *slog.Logger
}

// Limits of one evaluation.
type Limits struct {
	Memory   int64         // bytes that a program may use; default 128 MiB
	Wall     time.Duration // default 2 s
	Counting template.Limits
}

// Request is one evaluation.
type Request struct {
	Text   string
	Device template.Facts
	Config stconfig.Value  // the configuration so far; its secrets do not reach the worker
	Fleet  *template.Fleet // nil: the one of SetFleet
}

// Pool evaluates templates in worker processes.
type Pool struct{ opts Options }

// New makes a pool; Run starts its workers.
func New(opts Options) *Pool { return &Pool{opts: opts} }

// Run owns the workers until ctx ends. Evaluations wait until it runs.
func (p *Pool) Run(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// SetFleet says what devices() and tags() see from now on.
func (p *Pool) SetFleet(f *template.Fleet) {}

// SetSecrets says which names secret() takes; nil: any.
func (p *Pool) SetSecrets(names []string) {}

// Check tells whether a text is a template: a *fleet.Error with line and column if not. It runs nothing.
func (p *Pool) Check(ctx context.Context, text string) error {
	return fleet.Invalidf("template", "not built yet")
}

// Evaluate runs one template for one device, or answers from the cache. What is wrong with the template, a broken limit
// included, is a *fleet.Error with CodeInvalid.
func (p *Pool) Evaluate(ctx context.Context, r Request) (template.Result, error) {
	return template.Result{}, fleet.Invalidf("template", "not built yet")
}

// Subject is one device of a batch.
type Subject struct {
	Device template.Facts
	Config stconfig.Value
}

// EvaluateAll runs one template for many devices and hands over each result as soon as it is there, not necessarily in
// order; yield is never called concurrently. The error is ctx's or the pool's, never one device's.
func (p *Pool) EvaluateAll(ctx context.Context, text string, subjects []Subject, yield func(i int, r template.Result, err error)) error {
	return nil
}

// Serve is the worker's main: it answers requests from in on out until in ends.
func Serve(in io.Reader, out io.Writer) error { return nil }

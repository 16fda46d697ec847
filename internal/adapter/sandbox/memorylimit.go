package sandbox

import (
	"context"

	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// Memory shares out the memory that templates may take of the server. Work that needs more than there is ends with an
// error of Take, for which NeedsMore is true, and is called again.
type Memory interface {
	Do(ctx context.Context, work func(context.Context) error) error
	Take(ctx context.Context, bytes int64) error
	Limited(ctx context.Context) bool // tells whether the context is that of work that has its share already
	NeedsMore(err error) bool
}

// unboundedMemory gives memory to everybody at once.
type unboundedMemory struct{}

func (unboundedMemory) Do(ctx context.Context, work func(context.Context) error) error {
	return work(ctx)
}
func (unboundedMemory) Take(context.Context, int64) error { return nil }
func (unboundedMemory) Limited(context.Context) bool      { return false }
func (unboundedMemory) NeedsMore(error) bool              { return false }

// Limited is a pool whose evaluations together take no more of the server's memory than Options.Memory allows.
type Limited struct{ *Pool }

// Evaluate is Pool.Evaluate. The work of a caller that the limit admitted already goes on with the caller's share.
func (l Limited) Evaluate(ctx context.Context, text string, in template.Input) (made template.Result, err error) {
	evaluate := func(ctx context.Context) error {
		made, err = l.Pool.Evaluate(ctx, Request{Text: text, Device: in.Device, Config: in.Config, Fleet: in.Fleet,
			Secrets: in.Secrets})
		return err
	}
	if l.opts.Memory.Limited(ctx) {
		err = evaluate(ctx)
		return made, err
	}
	err = l.opts.Memory.Do(ctx, evaluate)
	return made, err
}

// CheckTemplate checks a template that is about to be saved, and finds what it reads.
func (l Limited) CheckTemplate(ctx context.Context, t fleet.Template) (fleet.Inputs, error) {
	return l.check(ctx, t, desired.CheckMade)
}

// CheckStrictly is CheckTemplate with desired.CheckStrictly.
func (l Limited) CheckStrictly(ctx context.Context, t fleet.Template) (fleet.Inputs, error) {
	return l.check(ctx, t, desired.CheckStrictly)
}

func (l Limited) check(ctx context.Context, t fleet.Template,
	check func(fleet.Template, stconfig.Key, template.Result) error) (fleet.Inputs, error) {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return fleet.Inputs{}, err
	}
	reads, err := l.Describe(ctx, t.Text)
	if err != nil {
		return fleet.Inputs{}, desired.ExplainText(t, key, err)
	}
	return reads, l.onSample(ctx, t, func(made template.Result) error { return check(t, key, made) })
}

// Warnings returns what is doubtful in the value that a template makes for a sample device. It gives nothing where the
// template fails for the sample. hasField reports whether a daemon of the fleet has a field that Muster does not know;
// it is called without the memory of the evaluation.
func (l Limited) Warnings(ctx context.Context, t fleet.Template, hasField func(stconfig.Key) bool) []string {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return nil
	}
	var result *template.Result
	err = l.onSample(ctx, t, func(made template.Result) error {
		result = &made
		return nil
	})
	if err != nil || result == nil {
		return nil
	}
	return desired.Warnings(t, key, *result, hasField)
}

// onSample checks the value that a template makes for a sample device. A template that fails only for the sample is
// no error: it may work on a device.
func (l Limited) onSample(ctx context.Context, t fleet.Template, check func(template.Result) error) error {
	return l.opts.Memory.Do(ctx, func(ctx context.Context) error {
		made, err := l.Evaluate(ctx, t.Text, template.Input{Device: template.SampleFacts, Config: stconfig.Sample()})
		switch {
		case l.opts.Memory.NeedsMore(err):
			return err
		case err != nil:
			return nil //nolint:nilerr // not an error of the template on every device
		}
		return check(made)
	})
}

package sandbox

import (
	"context"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/memlimit"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// Limited is a pool whose evaluations together take no more of the server's memory than a limit allows.
type Limited struct {
	*Pool
	Memory *memlimit.Limit
}

// Evaluate is Pool.Evaluate. The work of a caller that the limit admitted already goes on with the caller's share.
func (l Limited) Evaluate(ctx context.Context, text string, in template.Input) (made template.Result, err error) {
	evaluate := func(ctx context.Context) error {
		made, err = l.Pool.Evaluate(ctx, Request{Text: text, Device: in.Device, Config: in.Config, Fleet: in.Fleet,
			Secrets: in.Secrets})
		return err
	}
	if memlimit.Limited(ctx) {
		err = evaluate(ctx)
		return made, err
	}
	err = l.Memory.Do(ctx, evaluate)
	return made, err
}

// DescribeSaved finds what a program reads that was saved before that was kept. One that cannot be compiled any more,
// or not within its limits, counts as reading everything.
func (l Limited) DescribeSaved(ctx context.Context, text string) (fleet.Inputs, error) {
	reads, err := l.Describe(ctx, text)
	if code := fleet.CodeOf(err); code == fleet.CodeInvalid || code == fleet.CodeTooLarge {
		return fleet.Inputs{}.OrAll(), nil
	}
	return reads, err
}

// CheckTemplate checks a template that is about to be saved, and finds what it reads.
func (l Limited) CheckTemplate(ctx context.Context, t fleet.Template) (fleet.Inputs, error) {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return fleet.Inputs{}, err
	}
	reads, err := l.Describe(ctx, t.Text)
	if err != nil {
		return fleet.Inputs{}, err
	}
	return reads, l.onSample(ctx, t, func(made template.Result) error { return desired.CheckMade(t, key, made) })
}

// Warnings are what is doubtful in what a template makes for a sample device; none where it fails for that.
func (l Limited) Warnings(ctx context.Context, t fleet.Template) (warnings []string) {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return nil
	}
	err = l.onSample(ctx, t, func(made template.Result) error {
		warnings = desired.Warnings(t, key, made)
		return nil
	})
	if err != nil {
		return nil
	}
	return warnings
}

// onSample checks what a template makes for a sample device. One that only fails there may work on a device.
func (l Limited) onSample(ctx context.Context, t fleet.Template, check func(template.Result) error) error {
	return l.Memory.Do(ctx, func(ctx context.Context) error {
		made, err := l.Evaluate(ctx, t.Text, template.Input{Device: template.SampleFacts, Config: stconfig.Sample()})
		switch {
		case memlimit.NeedsMore(err):
			return err
		case err != nil:
			return nil //nolint:nilerr // not an error of the template on every device
		}
		return check(made)
	})
}

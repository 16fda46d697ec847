package app

import (
	"context"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/memlimit"
	"muster/internal/reconcile"
	"muster/internal/sandbox"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// evaluator runs programs in the worker processes.
type evaluator struct {
	pool   *sandbox.Pool
	memory *memlimit.Limit
}

func (e evaluator) Evaluate(ctx context.Context, text string, in template.Input) (made template.Result, err error) {
	evaluate := func(ctx context.Context) error {
		made, err = e.pool.Evaluate(ctx, sandbox.Request{Text: text, Device: in.Device, Config: in.Config, Fleet: in.Fleet,
			Secrets: in.Secrets})
		return err
	}
	if memlimit.Limited(ctx) {
		err = evaluate(ctx)
		return made, err
	}
	err = e.memory.Do(ctx, evaluate)
	return made, err
}

// checker checks templates as they are saved.
type checker struct {
	evaluator
	engine *reconcile.Engine
}

func (c checker) CheckTemplate(ctx context.Context, t fleet.Template) (fleet.Inputs, error) {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return fleet.Inputs{}, err
	}
	reads, err := c.pool.Describe(ctx, t.Text)
	if err != nil {
		return fleet.Inputs{}, err
	}
	return reads, c.onSample(ctx, t, func(made template.Result) error {
		if err := stconfig.CheckHandles(key, made.Value); err != nil {
			return err
		}
		if made.Language != template.HJSON {
			return nil // it may say something else on a device
		}
		if err := checkPatterns(t.Op, key, made.Value, t.Text); err != nil {
			return err
		}
		return refused(stconfig.Doubts(t.Op, key, made.Value))
	})
}

// describe finds what a program reads that was saved before that was kept. One that cannot be compiled any more, or
// not within its limits, counts as reading everything.
func (e evaluator) describe(ctx context.Context, text string) (fleet.Inputs, error) {
	reads, err := e.pool.Describe(ctx, text)
	if code := fleet.CodeOf(err); code == fleet.CodeInvalid || code == fleet.CodeTooLarge {
		return fleet.Inputs{}.OrAll(), nil
	}
	return reads, err
}

// checkPatterns refuses ignore patterns that no daemon can read, with their place in the template's text.
func checkPatterns(op fleet.Op, key stconfig.Key, value stconfig.Value, text string) error {
	if op == fleet.OpRemove {
		return nil
	}
	for _, lines := range stconfig.IgnoreLinesIn(key, value) {
		if at, why := stconfig.CheckIgnores(lines, ""); at >= 0 {
			wrong := desired.UnreadablePattern(lines[at], why)
			line, column := template.Locate(text, lines[at])
			wrong.Details = []fleet.Detail{{Field: "template", Line: line, Column: column, Message: wrong.Message}}
			return wrong
		}
	}
	return nil
}

// refused is the error about values that no daemon takes; nil where there are none.
func refused(doubts []stconfig.Doubt) error {
	e := &fleet.Error{Code: fleet.CodeInvalid, Hint: "Mend the template: as it is, it would stop its devices."}
	for _, d := range doubts {
		if d.Kind == stconfig.RefusedValue {
			e.Details = append(e.Details, fleet.Detail{Field: "template", Message: d.Text})
		}
	}
	if len(e.Details) == 0 {
		return nil
	}
	e.Message = e.Details[0].Message
	return e
}

// Warnings evaluates the template for a sample device. One that cannot be evaluated for it says nothing.
func (c checker) Warnings(ctx context.Context, t fleet.Template) (warnings []string) {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return nil
	}
	err = c.onSample(ctx, t, func(made template.Result) error {
		for _, at := range stconfig.SecretsIn(key, made.Value) {
			warnings = append(warnings, at.String()+" stands in clear in the template: "+
				"keep it as a secret, and write secret('name') or '${secret:name}'")
		}
		for _, d := range stconfig.Doubts(t.Op, key, made.Value) {
			warnings = append(warnings, d.Text)
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return warnings
}

func (c checker) Contradictions(ctx context.Context, t fleet.TaggedTemplate) []string {
	return c.engine.Contradictions(ctx, t)
}

// onSample looks at what the template makes for a sample device. One that fails there makes nothing to look at.
func (c checker) onSample(ctx context.Context, t fleet.Template, look func(template.Result) error) error {
	return c.memory.Do(ctx, func(ctx context.Context) error {
		made, err := c.Evaluate(ctx, t.Text, template.Input{Device: reconcile.SampleFacts, Config: stconfig.Sample()})
		switch {
		case memlimit.NeedsMore(err):
			return err
		case err != nil:
			return nil //nolint:nilerr // it may be one that only fails there
		}
		return look(made)
	})
}

// evaluations answers the evaluate endpoints, with secrets masked.
type evaluations struct{ engine *reconcile.Engine }

func (e evaluations) Evaluate(
	ctx context.Context, t fleet.TaggedTemplate, device fleet.DeviceID,
) (template.Evaluation, error) {
	made, err := e.engine.Evaluate(ctx, t, device)
	return made.Masked(t.Key), err
}

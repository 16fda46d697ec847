package app

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/reconcile"
	"muster/internal/sandbox"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// evaluator runs programs in the worker processes.
type evaluator struct{ pool *sandbox.Pool }

func (e evaluator) Evaluate(ctx context.Context, text string, in template.Input) (template.Result, error) {
	return e.pool.Evaluate(ctx, sandbox.Request{Text: text, Device: in.Device, Config: in.Config, Fleet: in.Fleet, Secrets: in.Secrets})
}

// checker checks templates as they are saved.
type checker struct{ pool *sandbox.Pool }

func (c checker) CheckTemplate(ctx context.Context, t fleet.Template) error {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return err
	}
	if err := c.pool.Check(ctx, t.Text); err != nil {
		return err
	}
	return stconfig.CheckHandles(key, c.onSample(ctx, t))
}

// ClearSecrets evaluates the template for a sample device. One that cannot be evaluated for it says nothing.
func (c checker) ClearSecrets(ctx context.Context, t fleet.Template) []string {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return nil
	}
	var keys []string
	for _, at := range stconfig.SecretsIn(key, c.onSample(ctx, t)) {
		keys = append(keys, at.String())
	}
	return keys
}

// onSample is the template's value for a sample device; Absent where it has none.
func (c checker) onSample(ctx context.Context, t fleet.Template) stconfig.Value {
	made, err := c.pool.Evaluate(ctx, sandbox.Request{Text: t.Text, Device: reconcile.SampleFacts, Config: stconfig.Sample()})
	if err != nil {
		return stconfig.Value{}
	}
	return made.Value
}

// evaluations answers the evaluate endpoints.
type evaluations struct{ engine *reconcile.Engine }

func (e evaluations) Evaluate(ctx context.Context, t fleet.TaggedTemplate, device fleet.DeviceID) (httpapi.Evaluation, error) {
	made, err := e.engine.Evaluate(ctx, t, device)
	if err != nil {
		return httpapi.Evaluation{}, err
	}
	evaluation := httpapi.Evaluation{
		Device: made.Device, Language: string(made.Language), Value: maskedAt(t.Key, made.Value), Warnings: made.Warnings,
		Output: made.Output, Steps: made.Steps, Took: made.Took,
	}
	for _, change := range made.Changes {
		evaluation.Changes = append(evaluation.Changes, httpapi.KeyChange{
			Key: change.Key.String(), From: stconfig.MaskAt(change.Key, change.From), To: stconfig.MaskAt(change.Key, change.To),
		})
	}
	return evaluation, nil
}

// maskedAt hides the secrets in a template's value, which knows its place only by the template's key.
func maskedAt(key string, value stconfig.Value) stconfig.Value {
	at, err := stconfig.ParseKey(key)
	if err != nil {
		return stconfig.Mask(value)
	}
	return stconfig.MaskAt(at, value)
}

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// Evaluate runs a template for an example device, over the configuration as the templates before it leave it: the
// given device, or one that carries a tag of the template, else the first online one, else the first, else a sample.
// An error is the body's; whatever is wrong with what it makes is a warning. Secrets are masked.
func (e *Engine) Evaluate(ctx context.Context, t fleet.TaggedTemplate, device fleet.DeviceID,
) (template.Evaluation, error) {
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		return template.Evaluation{}, err
	}
	if device != "" && registry.Devices[device] == nil {
		return template.Evaluation{}, fleet.NotFoundf("there is no device %s", device)
	}
	if device == "" {
		device = e.example(registry, t.Tags)
	}
	x := evaluating{Engine: e, t: t.Template, secrets: e.newSecrets(ctx)}
	if err := x.over(ctx, device); err != nil {
		return template.Evaluation{}, err
	}
	start := time.Now()
	r, err := e.o.Evaluator.Evaluate(ctx, t.Text, x.input(x.config))
	if err != nil {
		return template.Evaluation{}, err
	}
	x.out.Took = time.Since(start)
	x.out.Language, x.out.Value, x.out.Output, x.out.Steps = r.Language, r.Value, r.Output, r.Steps
	if err := x.lay(ctx, r); err != nil {
		return template.Evaluation{}, err
	}
	return x.out.Masked(t.Key), nil
}

// example picks the device that a template is evaluated for; "" where there is none.
func (e *Engine) example(r *fleet.Registry, tags []fleet.Tag) (best fleet.DeviceID) {
	rank := func(d *fleet.Registered) (n int) {
		if e.o.Daemon.Known(d.ID).Online {
			n = 1
		}
		if slices.ContainsFunc(d.Tags, func(tag fleet.Tag) bool { return slices.Contains(tags, tag) }) {
			n += 2
		}
		return n
	}
	highest := -1
	for id, d := range r.Devices {
		n := rank(d)
		if n > highest || n == highest && fleet.CompareDevices(d.Device, r.Devices[best].Device) < 0 {
			best, highest = id, n
		}
	}
	return best
}

var sampleSystem = fleet.System{OS: "linux", PathSeparator: "/", Tilde: "/home/sample"}

// evaluating is one evaluation under way.
type evaluating struct {
	*Engine
	t       fleet.Template
	j       *job // nil: over the sample
	secrets *secretCache
	all     []fleet.Template // of the device, this one among them as it is now
	before  int              // how many of them are folded before it
	facts   template.Facts
	fleet   *template.Fleet
	config  stconfig.Value // so far in the fold
	out     template.Evaluation
}

// maxWarnings is as many as a person reads.
const maxWarnings = 200

func (x *evaluating) warn(format string, args ...any) {
	switch n := len(x.out.Warnings); {
	case n > maxWarnings:
		return
	case n == maxWarnings:
		format, args = "there is more to warn of", nil
	}
	x.out.Warnings = append(x.out.Warnings, fmt.Sprintf(format, args...))
}

func (x *evaluating) input(config stconfig.Value) template.Input {
	return template.Input{Device: x.facts, Config: config, Fleet: x.fleet}
}

// over prepares the device that the template is evaluated for.
func (x *evaluating) over(ctx context.Context, device fleet.DeviceID) error {
	x.config, x.facts = stconfig.Sample(), template.SampleFacts
	if device == "" {
		x.warn("no device is registered: evaluated for a sample device, over a sample configuration")
		return nil
	}
	j, err := x.newJob(ctx, newItem(device))
	if err != nil {
		return err
	}
	if j.device == nil { // not admitted yet
		x.warn("evaluated over a sample configuration: its configuration was never read")
		return nil
	}
	x.facts, x.fleet, x.out.Device = j.view.facts(device, j.known), j.view.fleet(), device
	if err := x.observe(ctx, j); err != nil {
		if !errors.Is(err, errNothingSeen) {
			x.log.Info("evaluated over the sample", "err", err)
		}
		x.warn("the configuration of %s was never read, or cannot be believed: evaluated over a sample configuration",
			device)
		return nil
	}
	x.j = j
	x.all, x.before = fleet.Placed(j.templates, x.t)
	if j.entries, err = x.o.Store.BaseEntries(ctx, device); err != nil {
		return err
	}
	return x.soFar(ctx)
}

// folding is a fold of some templates over the device, or over the sample.
func (x *evaluating) folding(ctx context.Context, templates []fleet.Template) (in desired.Input) {
	if x.j != nil {
		in = x.foldInput(ctx, x.j, x.secrets)
	} else {
		in = desired.Input{Device: stconfig.SampleID, OS: x.facts.OS, Tags: x.facts.Tags, Take: taking(ctx),
			Secret: x.secrets.scope, SecretBytes: x.secrets.bytes, AdminSaved: fleet.Template.SavedByAdmin}
	}
	in.Templates = templates
	return in
}

// readPatterns reads the ignore patterns that this template and those before it are about. A template that fails says
// so when it is evaluated.
func (x *evaluating) readPatterns(ctx context.Context) {
	r, err := desired.Fold(x.folding(ctx, x.all[:x.before+1]))
	if err != nil || len(r.Ignores) == 0 {
		return
	}
	asking := asking{Engine: x.Engine}
	x.j.doc = desired.WithIgnores(x.j.doc, asking.patterns(ctx, x.j, r.Ignores, nil))
}

// soFar folds the templates that come before this one.
func (x *evaluating) soFar(ctx context.Context) error {
	x.readPatterns(ctx)
	r, err := desired.Fold(x.folding(ctx, x.all[:x.before]))
	if err != nil {
		if fleet.CodeOf(err) != fleet.CodeInvalid {
			return err
		}
		x.warn("evaluated over the configuration as it is, because another template fails: %s", fleet.Reason(err))
		if r, err = desired.Fold(x.folding(ctx, nil)); err != nil {
			return err
		}
	}
	x.config = r.Desired
	return nil
}

// lay applies the value at the template's key and says what would come of it. What is wrong with it is a warning.
func (x *evaluating) lay(ctx context.Context, evaluated template.Result) error {
	if key, err := stconfig.ParseKey(x.t.Key); err == nil {
		for _, clear := range desired.ClearSecrets(key, evaluated.Value) {
			x.warn("%s", clear)
		}
	}
	first := true
	fold := x.folding(ctx, []fleet.Template{x.t})
	fold.Observed, fold.Entries = x.config, nil
	fold.Evaluate = func(t fleet.Template, config stconfig.Value) (desired.Fragment, error) {
		if first {
			first = false
			return desired.Fragment{Value: evaluated.Value, ReadsConfig: evaluated.ReadsConfig}, nil
		}
		again, err := x.o.Evaluator.Evaluate(ctx, t.Text, x.input(config))
		return desired.Fragment{Value: again.Value}, err
	}
	r, err := desired.Fold(fold)
	if err != nil {
		return x.warnOf(err)
	}
	for _, d := range r.Doubts {
		x.warn("%s", d.Text)
	}
	for _, s := range r.Skipped {
		if !slices.ContainsFunc(r.Doubts, func(d desired.Doubt) bool { return d.Key.Equal(s.Key) }) {
			x.warn("%s would be skipped: %s", s.Key, s.Reason)
		}
	}
	x.out.Changes = stconfig.Diff(x.config, r.Desired)
	return x.judge(ctx, fold, r)
}

// judge warns of what the device's plan would hold or refuse, and of templates that contradict this one. It plans all
// templates of the device; this one alone, where others fail or the device is the sample.
func (x *evaluating) judge(ctx context.Context, alone desired.Input, r desired.Result) error {
	in := alone
	if x.j != nil {
		all := x.folding(ctx, x.all)
		whole, err := desired.Fold(all)
		switch {
		case err == nil:
			in, r = all, whole
		case !reported(err):
			return err
		}
	}
	for _, text := range r.ConflictsOf(x.t.ID) {
		x.warn("%s", text)
	}
	facts := plan.Facts{APIPort: x.facts.APIPort, APIAddress: x.facts.APIAddress, System: sampleSystem,
		Roots: []string{fleet.DefaultFolderRoot}}
	if x.j != nil {
		facts = x.guardFacts(ctx, x.j)
	}
	input := foldedInput(in, r, x.secrets)
	input.Facts = facts
	made, err := plan.Make(input)
	if err != nil {
		return x.warnOf(err)
	}
	if x.j == nil {
		facts.System = fleet.System{} // it has no files of its own
	}
	for _, warning := range made.Warnings(x.t.ID, x.out.Changes, facts.System) {
		x.warn("%s", warning)
	}
	return nil
}

// warnOf makes a warning of what is wrong with the template. Another error ends the evaluation.
func (x *evaluating) warnOf(err error) error {
	if !reported(err) {
		return err
	}
	x.warn("%s", fleet.Reason(err))
	return nil
}

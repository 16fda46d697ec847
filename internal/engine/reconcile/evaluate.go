package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// Evaluate runs a template for an example device, over the configuration that the templates before it make. If device
// is "", the example is a device that carries a tag of the template, else the first online device, else the first
// device, else a sample. Evaluate returns an error if the template's text cannot be run; problems with its result
// become warnings. Secrets are masked.
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
	r, err := x.run(ctx, x.input(x.config))
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

// example returns the device for which a template is evaluated; "" if no device is registered.
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

// evaluating is one call of Evaluate, or of Contradictions.
type evaluating struct {
	*Engine
	t         fleet.Template
	in        input // only set where hasDevice is true
	hasDevice bool  // false: t is evaluated for the sample
	secrets   *secretCache
	all       []fleet.Template // templates of the device, with t as it is evaluated now
	before    int              // how many of them come before t in the fold
	facts     template.Facts
	fleet     *template.Fleet
	config    stconfig.Value // the document that the templates before t make
	out       template.Evaluation
	spent     time.Duration // time that all runs of t's program took together
	tooLong   error         // t's program ran for too long
}

// longestEvaluation limits the time of all runs of one program together. A program runs up to three times: to find the
// folders whose ignore patterns it sets, to compute its value, and to check that the value stays the same once it is
// applied.
const longestEvaluation = 1900 * time.Millisecond

// run runs the program of t. Only the sandbox limits the first run; later runs have what is left of longestEvaluation.
// After a run that took too long the program is not run again.
func (x *evaluating) run(ctx context.Context, in template.Input) (template.Result, error) {
	if x.tooLong != nil {
		return template.Result{}, x.tooLong
	}
	limited := ctx
	if x.spent > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, longestEvaluation-x.spent)
		defer cancel()
	}
	began := time.Now()
	r, err := x.o.Evaluator.Evaluate(limited, x.t.Text, in)
	x.spent += time.Since(began)
	if limited.Err() != nil && ctx.Err() == nil {
		const text = "the program takes too long: all its runs together may take two seconds"
		err = &fleet.Error{Code: fleet.CodeInvalid, Message: text,
			Details: []fleet.Detail{{Field: "template", Message: text}}}
	}
	if err != nil && x.spent > longestEvaluation/2 {
		x.tooLong = err
	}
	return r, err
}

// maxWarnings bounds the warnings of one evaluation: a person reads no more.
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

// over prepares x for the device: its facts, its templates, and the document that the templates before t make. If
// device is "" or its configuration was never read, over prepares x for the sample.
func (x *evaluating) over(ctx context.Context, device fleet.DeviceID) error {
	x.config, x.facts = stconfig.Sample(), template.SampleFacts
	if device == "" {
		x.warn("no device is registered: evaluated for a sample device, over a sample configuration")
		return nil
	}
	in, err := x.inputNow(ctx, device)
	if err != nil {
		return err
	}
	if in.device == nil { // The device was deleted meanwhile.
		x.warn("evaluated over a sample configuration: its configuration was never read")
		return nil
	}
	x.facts, x.fleet, x.out.Device = in.admitted.facts(device, in.known), in.admitted.fleetOf(x.t), device
	conn := connection{Engine: x.Engine, id: device, history: &newItem(device).history}
	if in, err = conn.newest(ctx, in, nil); err != nil {
		if !errors.Is(err, errNeverRead) {
			x.log.Info("evaluated over the sample", "err", err)
		}
		x.warn("the configuration of %s was never read, or cannot be believed: evaluated over a sample configuration",
			device)
		return nil
	}
	x.all, x.before = fleet.Placed(in.templates, x.t)
	if in.base, err = x.o.Store.BaseEntries(ctx, device); err != nil {
		return err
	}
	x.in, x.hasDevice = in, true
	return x.soFar(ctx)
}

// folding returns the input for a fold of these templates over the device, or over the sample.
func (x *evaluating) folding(ctx context.Context, templates []fleet.Template) (in desired.Input) {
	if x.hasDevice {
		in = x.foldInput(ctx, x.in, x.secrets)
	} else {
		in = desired.Input{Device: stconfig.SampleID, OS: x.facts.OS, Tags: x.facts.Tags, Take: x.takeMemory(ctx),
			Secret: x.secrets.scope, SecretBytes: x.secrets.bytes, AdminSaved: fleet.Template.SavedByAdmin}
	}
	in.Templates = templates
	if evaluate := in.Evaluate; evaluate != nil {
		in.Evaluate = func(t fleet.Template, config stconfig.Value) (desired.Fragment, error) {
			if t.ID != x.t.ID || t.Text != x.t.Text {
				return evaluate(t, config)
			}
			r, err := x.run(ctx, x.input(config))
			return desired.Fragment{Value: r.Value, ReadsConfig: r.ReadsConfig}, err
		}
	}
	return in
}

// readPatterns reads the ignore patterns of the folders for which this template and those before it set patterns. If a
// template fails, readPatterns reads nothing; soFar and lay report the error.
func (x *evaluating) readPatterns(ctx context.Context) {
	r, err := desired.Fold(x.folding(ctx, x.all[:x.before+1]))
	if err != nil || len(r.Ignores) == 0 {
		return
	}
	asking := asking{Engine: x.Engine}
	patterns, unread := asking.patterns(ctx, x.in, r.Ignores, nil)
	x.in.doc, x.in.unread = desired.WithIgnores(x.in.doc, patterns), unread
}

// soFar makes x.config: it folds the templates that come before t.
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

// lay applies the template's value at the template's key, and records in x.out the changes that the value makes. Each
// mistake in the value becomes a warning.
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
		again, err := x.run(ctx, x.input(config))
		return desired.Fragment{Value: again.Value}, err
	}
	r, err := desired.Fold(fold)
	if err != nil {
		return x.warnOf(err)
	}
	for _, d := range r.Mistakes {
		x.warn("%s", d.Text)
	}
	for _, s := range r.Skipped {
		if !slices.ContainsFunc(r.Mistakes, func(d desired.Mistake) bool { return d.Key.Equal(s.Key) }) {
			x.warn("%s would be skipped: %s", s.Key, s.Reason)
		}
	}
	x.out.Changes = stconfig.Diff(x.config, r.Desired)
	return x.judge(ctx, fold, r)
}

// judge warns about changes of the template that the device's plan would hold or refuse, and about templates that
// contradict it. It plans with all templates of the device. If another template fails, or for the sample, it plans
// with this template alone: alone is the input of that fold and r its result.
func (x *evaluating) judge(ctx context.Context, alone desired.Input, r desired.Result) error {
	in := alone
	if x.hasDevice {
		all := x.folding(ctx, x.all)
		whole, err := desired.Fold(all)
		switch {
		case err == nil:
			in, r = all, whole
		case !belongsToDevice(err):
			return err
		}
	}
	for _, text := range r.ConflictsOf(x.t.ID) {
		x.warn("%s", text)
	}
	facts := plan.Facts{APIPort: x.facts.APIPort, APIAddress: x.facts.APIAddress, System: sampleSystem,
		Roots: []string{fleet.DefaultFolderRoot}}
	if x.hasDevice {
		facts = x.guardFacts(ctx, x.in)
	}
	input := foldedInput(in, r, x.secrets)
	input.Facts = facts
	made, err := plan.Make(input)
	if err != nil {
		return x.warnOf(err)
	}
	if !x.hasDevice {
		facts.System = fleet.System{} // The sample has no daemon whose files a folder could contain.
	}
	for _, warning := range made.Warnings(x.t.ID, x.out.Changes, facts.System) {
		x.warn("%s", warning)
	}
	return nil
}

// warnOf turns an error that the template or the device causes into a warning and returns nil. It returns any other
// error.
func (x *evaluating) warnOf(err error) error {
	if !belongsToDevice(err) {
		return err
	}
	x.warn("%s", fleet.Reason(err))
	return nil
}

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// example picks the device that a template is evaluated for.
func (e *Engine) example(r *fleet.Registry, tags []fleet.Tag) fleet.DeviceID {
	all := make([]fleet.Device, 0, len(r.Devices))
	for _, d := range r.Devices {
		all = append(all, d.Device)
	}
	slices.SortFunc(all, fleet.CompareDevices)
	var best fleet.DeviceID
	rank := -1
	for _, d := range all {
		mine := 0
		if e.o.Daemon.Known(d.ID).Online {
			mine = 1
		}
		if slices.ContainsFunc(r.Devices[d.ID].Tags, func(tag fleet.Tag) bool { return slices.Contains(tags, tag) }) {
			mine += 2
		}
		if mine > rank {
			best, rank = d.ID, mine
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
	own     fleet.DeviceID
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
	x.own, x.config = stconfig.SampleID, stconfig.Sample()
	x.facts = template.SampleFacts
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
	x.facts, x.fleet, x.out.Device = j.view.facts(device), j.view.all().fleet, device
	if err := x.observe(ctx, j); err != nil {
		if !errors.Is(err, errNothingSeen) {
			x.log.Info("evaluated over the sample", "err", err)
		}
		x.warn("the configuration of %s was never read, or cannot be believed: evaluated over a sample configuration",
			device)
		return nil
	}
	x.j, x.own = j, device
	if j.entries, err = x.o.Store.BaseEntries(ctx, device); err != nil {
		return err
	}
	return x.soFar(ctx)
}

// before are the templates that come before this one.
func (x *evaluating) before() []fleet.Template {
	return slices.DeleteFunc(slices.Clone(x.j.templates), func(t fleet.Template) bool {
		return t.ID == x.t.ID || x.isBefore(t)
	})
}

// folding is a fold of some templates over the device.
func (x *evaluating) folding(ctx context.Context, templates []fleet.Template) desired.Input {
	return desired.Input{
		Device: x.j.m.id, OS: x.facts.OS, Observed: x.j.doc, Entries: x.j.entries, Templates: templates, Unread: x.j.unread,
		Registered: x.j.view.label, Evaluate: x.evaluate(ctx, x.j), Take: taking(ctx),
		Secret: x.secrets.scope, SecretBytes: x.secrets.bytes, Tags: x.facts.Tags, AdminSaved: fleet.Template.SavedByAdmin,
	}
}

// readPatterns reads the ignore patterns that this template and those before it are about. A template that fails says
// so when it is evaluated.
func (x *evaluating) readPatterns(ctx context.Context) {
	r, err := desired.Fold(x.folding(ctx, append(x.before(), x.t)))
	if err != nil || len(r.Ignores) == 0 {
		return
	}
	asking := asking{Engine: x.Engine}
	x.j.doc = withIgnores(x.j.doc, asking.patterns(ctx, x.j, r.Ignores, nil))
}

// soFar folds the templates that come before this one.
func (x *evaluating) soFar(ctx context.Context) error {
	x.readPatterns(ctx)
	in := x.folding(ctx, x.before())
	r, err := desired.Fold(in)
	if err != nil {
		if fleet.CodeOf(err) != fleet.CodeInvalid {
			return err
		}
		x.warn("evaluated over the configuration as it is, because another template fails: %s", fleet.Reason(err))
		in.Templates = nil
		if r, err = desired.Fold(in); err != nil {
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
	var label func(fleet.DeviceID) (string, bool)
	var unread map[string]string
	if x.j != nil {
		label, unread = x.j.view.label, x.j.unread
	}
	first := true
	fold := desired.Input{
		Device: x.own, OS: x.facts.OS, Observed: x.config, Templates: []fleet.Template{x.t}, Registered: label,
		Unread: unread,
		Take:   taking(ctx), Secret: x.secrets.scope, SecretBytes: x.secrets.bytes, Tags: x.facts.Tags,
		AdminSaved: fleet.Template.SavedByAdmin,
		Evaluate: func(t fleet.Template, config stconfig.Value) (desired.Fragment, error) {
			if first {
				first = false
				return desired.Fragment{Value: evaluated.Value, ReadsConfig: evaluated.ReadsConfig}, nil
			}
			again, err := x.o.Evaluator.Evaluate(ctx, t.Text, x.input(config))
			return desired.Fragment{Value: again.Value}, err
		},
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
		all := x.folding(ctx, x.withOthers())
		whole, err := desired.Fold(all)
		switch {
		case err == nil:
			in, r = all, whole
		case !reported(err):
			return err
		}
	}
	for _, c := range r.Conflicts {
		if c.Last.ID == x.t.ID || c.Overruled.ID == x.t.ID {
			x.warn("%s", c)
		}
	}
	made, err := plan.Make(plan.Input{Device: x.own, Observed: r.Observed(), Desired: r.Desired, Base: r.Base,
		Facts: x.guardFacts(ctx), MadeByAdmins: r.MadeByAdmins,
		ByAdmins: sync.OnceValue(func() stconfig.Value { return desired.ByAdmins(in, r) }),
		Why:      func(key stconfig.Key) plan.Why { return plan.Why(r.Why(key)) }, Secret: x.secrets.text})
	if err != nil {
		return x.warnOf(err)
	}
	for _, c := range made.Changes {
		if (c.Class == plan.Held || c.Class == plan.Refused) && x.asksFor(c) {
			x.warn("%s would be %s: %s", c.Key, c.Class, c.Reason)
		}
		if x.j != nil && c.Class == plan.Free && x.asksFor(c) && plan.MayBeTheDaemons(x.j.known.System, folderPath(c)) {
			x.warn("%s: the daemon has not named the directory of its own files. If they are at the path of this folder, "+
				"its keys are shared. Restart the daemon to have them protected", c.Key)
		}
	}
	return nil
}

// folderPath is where a change puts a folder; "" where it puts none.
func folderPath(c plan.Change) string {
	switch at := c.Key; {
	case at.Len() < 2 || !strings.EqualFold(at.At(0).Name, "folders"):
		return ""
	case at.Len() == 2:
		return c.To.Get("path").Str()
	case at.Len() == 3 && strings.EqualFold(at.At(2).Name, "path"):
		return c.To.Str()
	}
	return ""
}

// guardFacts are what the guard knows of the device.
func (x *evaluating) guardFacts(ctx context.Context) plan.Facts {
	if x.j == nil {
		return plan.Facts{APIPort: x.facts.APIPort, APIAddress: x.facts.APIAddress, System: sampleSystem,
			Roots: []string{fleet.DefaultFolderRoot}}
	}
	facts := FactsOf(x.j.current, x.own, x.j.known)
	facts.FolderPaths = func() ([]string, error) { return x.o.Store.FolderPaths(ctx, x.own) }
	return facts
}

// asksFor tells whether a planned change is this template's: others, and what an earlier text of it asked for, are
// not.
func (x *evaluating) asksFor(planned plan.Change) bool {
	return slices.Contains(planned.Templates, x.t.ID) && slices.ContainsFunc(x.out.Changes, func(c stconfig.Change) bool {
		return c.Key.HasPrefix(planned.Key) || planned.Key.HasPrefix(c.Key)
	})
}

// warnOf makes a warning of what is wrong with the template. Another error ends the evaluation.
func (x *evaluating) warnOf(err error) error {
	if !reported(err) {
		return err
	}
	x.warn("%s", fleet.Reason(err))
	return nil
}

package reconcile

import (
	"cmp"
	"context"
	"time"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// planned is a plan with the input that it was made from.
type planned struct {
	input
	result desired.Result    // result of the fold; empty for a person's change
	left   []plan.Change     // changes that a person's change leaves out, with the reason
	wanted []stconfig.Change // the differences that a person's change is to make
	plan   plan.Plan
	// letGo is the generation as of which the store was asked who took templates away from the device, because the plan
	// depends on the answer; 0 if it was not asked.
	letGo int64
	// reserved is how many reservations of copies there were before the plan was made.
	reserved int64
}

// makePlan makes the plan of an input. It does not read the daemon and changes nothing. Programs of templates run in
// the sandbox and see only what the input has. Besides the input a plan depends on the secrets (each has one value
// during a plan), on the folder paths that the store has of the device, and on the clock, because consents end.
func (e *Engine) makePlan(ctx context.Context, in input) (planned, error) {
	if in.change != nil {
		return e.planChange(ctx, in)
	}
	f, err := e.fold(ctx, in)
	if err != nil {
		return planned{input: in}, err
	}
	return e.planFolded(ctx, f)
}

// folded is what the templates make of an input.
type folded struct {
	input
	secrets *secretCache
	from    desired.Input
	result  desired.Result
}

// fold applies the templates of an input to its document. If the templates are known to fail (input.failed), it only
// removes the revoked devices.
func (e *Engine) fold(ctx context.Context, in input) (folded, error) {
	f := folded{input: in, secrets: e.newSecrets(ctx)}
	f.from = e.foldInput(ctx, in, f.secrets)
	f.from.Observed = desired.WithIgnores(in.doc, in.ignores)
	fold := desired.Fold
	if in.failed {
		f.from.Templates, fold = nil, desired.FoldAway
	}
	var err error
	f.result, err = fold(f.from)
	return f, cmp.Or(f.secrets.err, err)
}

// planFolded makes the plan from a fold: the changes from the observed to the desired document.
func (e *Engine) planFolded(ctx context.Context, f folded) (planned, error) {
	admins, reserved := e.newResponsible(f.input), e.going.count()
	made, err := plan.Make(e.planInput(ctx, f, admins))
	now := planned{input: f.input, result: f.result, plan: made, letGo: admins.asOf, reserved: reserved}
	return now, cmp.Or(f.secrets.err, admins.err, err)
}

// observed returns the document from which the plan was made. For a plan of templates it includes the ignore patterns
// of the folders for which templates set patterns.
func (p planned) observed() stconfig.Value {
	if p.change != nil {
		return p.doc
	}
	return p.result.Observed()
}

// foldInput returns the input for the fold of a device's templates.
func (e *Engine) foldInput(ctx context.Context, in input, secrets *secretCache) desired.Input {
	out := desired.Input{
		Device: in.id, OS: in.known.Version.OS, Observed: in.doc, Run: in.run, Entries: in.base, Templates: in.templates,
		Unread: in.unread, Registered: in.admitted.label, Evaluate: e.evaluate(ctx, in), Take: e.takeMemory(ctx),
		Secret: secrets.scope, SecretBytes: secrets.bytes, AdminSaved: fleet.Template.SavedByAdmin,
	}
	if d := in.admitted.registry.Devices[in.id]; d != nil {
		out.Tags = d.Tags
	}
	out.Away = awayOf(in.current, in.id)
	return out
}

// awayOf returns the revoked devices that this device's daemon may not have, each with a text that says since when
// it is revoked; nil without revocations.
func awayOf(r *fleet.Registry, id fleet.DeviceID) map[fleet.DeviceID]string {
	if len(r.Revocations) == 0 {
		return nil
	}
	away := make(map[fleet.DeviceID]string, len(r.Revocations))
	for _, other := range r.RevokedOn(id) {
		away[other] = r.Revocations[other].Since()
	}
	return away
}

// foldedInput returns the part of a plan's input that comes from the fold.
func foldedInput(fold desired.Input, r desired.Result, secrets *secretCache) plan.Input {
	return plan.Input{
		Device: fold.Device, Observed: r.Observed(), Desired: r.Desired, Base: r.Base, Cleared: r.Cleared(),
		Secret:       secrets.text,
		Why:          func(key stconfig.Key) plan.Why { return plan.Why(r.Why(key)) },
		ByAdmins:     func() (stconfig.Value, error) { return byAdmins(fold, r) },
		MadeByAdmins: r.MadeByAdmins,
	}
}

// byAdmins returns the document that the templates of admins make without the others. If these templates fail without
// the others, it returns Absent: no change then counts as asked for by admins. It returns an error that is not the
// templates' fault; the pass is then repeated.
func byAdmins(fold desired.Input, r desired.Result) (stconfig.Value, error) {
	alone, err := desired.ByAdmins(fold, r)
	if isLasting(err) {
		return stconfig.Value{}, nil
	}
	return alone, err
}

// planInput returns the whole input of a plan: the results of the fold, and the facts about the device.
func (e *Engine) planInput(ctx context.Context, f folded, admins *responsible) plan.Input {
	in := foldedInput(f.from, f.result, f.secrets)
	in.Generation, in.Digest, in.Facts = f.admitted.registry.Generation, f.digest, e.guardFacts(ctx, f.input)
	in.Facts.ByAdmin = func(template int64) bool { return admins.byAdmin(ctx, template) }
	in.SamePhrase = plan.SamePhrase(f.base, f.id, e.o.DigestKey)
	in.Consent = func(c plan.Change) bool { return f.answered(c, e.o.DigestKey) == fleet.AnswerConsent }
	in.Chosen = func(c plan.Change) string { return f.answered(c, e.o.DigestKey).Choice() }
	in.Stopped = func(key stconfig.Key) fleet.Stop { return f.stopped[key.String()] }
	for _, s := range f.result.Skipped {
		in.Skipped = append(in.Skipped, plan.Change{Key: s.Key, Templates: []int64{s.Template}, Reason: s.Reason})
	}
	return in
}

// answered returns a person's open answer to change c as it is planned now; "" without one.
func (in input) answered(c plan.Change, digestKey []byte) fleet.Answer {
	given, ok := in.answers[c.Key.String()]
	if !ok || given.Over(time.Now()) || !c.IsAnsweredBy(given, in.id, digestKey) {
		return ""
	}
	return given.Answer
}

// guardFacts returns what the guard of plans knows about a device.
func (e *Engine) guardFacts(ctx context.Context, in input) plan.Facts {
	current, admitted := in.current, in.admitted.registry
	return plan.Facts{
		APIPort: current.Devices[in.id].APIPort, APIAddress: in.known.Address, ByAgent: in.known.ByAgent,
		AddressFixed: in.known.AddressFixed,
		System:       in.known.System, Roots: current.RootsOf(in.id), AuthorKeys: current.AuthorKeysOf(in.id),
		Registered:  func(id fleet.DeviceID) bool { return current.Devices[id] != nil },
		FolderPaths: func() ([]string, error) { return e.o.Store.FolderPaths(ctx, in.id) },
		OthersVars:  func(template int64) []string { return othersVars(admitted, in.id, template) },
		AddressOf:   func(id fleet.DeviceID) string { return addressOf(admitted, id) },
		Copies:      e.copiesFor(in.id),
	}
}

func addressOf(r *fleet.Registry, id fleet.DeviceID) string {
	if d := r.Devices[id]; d != nil {
		return d.APIAddress
	}
	return ""
}

// othersVars returns the names of the device's vars that somebody below admin saved, if the template reads vars and an
// admin saved it. On this device such a template does not count as an admin's. For other templates the result is nil.
func othersVars(r *fleet.Registry, id fleet.DeviceID, template int64) []string {
	for t := range r.Applying(id) {
		if t.ID != template || !t.SavedByAdmin() {
			continue
		}
		reads := t.Reads.OrAll()
		if reads.Peers {
			return r.AllOthersVars()
		}
		if reads.ReadsVars() {
			return r.OthersVars(id)
		}
	}
	return nil
}

// evaluate returns the function that runs templates for a device.
func (e *Engine) evaluate(
	ctx context.Context,
	in input,
) func(fleet.Template, stconfig.Value) (desired.Fragment, error) {
	facts := in.admitted.facts(in.id, in.known)
	return func(t fleet.Template, config stconfig.Value) (desired.Fragment, error) {
		r, err := e.o.Evaluator.Evaluate(ctx, t.Text, template.Input{Device: facts, Config: config,
			Fleet: in.admitted.fleetFor(t)})
		return desired.Fragment{Value: r.Value, ReadsConfig: r.ReadsConfig}, err
	}
}

// takeMemory returns the function that takes memory for the work of this context.
func (e *Engine) takeMemory(ctx context.Context) func(bytes int64) error {
	return func(bytes int64) error { return e.o.Memory.Take(ctx, bytes) }
}

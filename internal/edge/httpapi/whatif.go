package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/edge/auth"
	"muster/internal/engine/change"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

const (
	maxWhatIfs = 1 // at a time: each plans a whole fleet, and its answer may be large
	whatIfTime = 2 * time.Minute
)

// WhatIf tells what an edit would do, and changes nothing.
type WhatIf interface {
	// Foresee is change.Changes.Foresee.
	Foresee(ctx context.Context, edit fleet.Edit, each func(then *fleet.Registry, effect plan.Effect)) (change.Foreseen,
		error)
	// NeedsApproval is why it would wait for an admin's approval, "" when it would not: it would touch many devices.
	NeedsApproval(ctx context.Context, now, then *fleet.Registry) string
	// Waves gives the sizes of the waves of the rollout that it would be; nil where it would be admitted at once.
	Waves(ctx context.Context, now, then *fleet.Registry) []int
	// Planned gives the changes that the plans of devices have under the present registry, or why there is no plan;
	// devices that were never read are left out. each is called by one goroutine at a time, in any order.
	Planned(ctx context.Context, now *fleet.Registry, devices []fleet.DeviceID,
		each func(id fleet.DeviceID, changes []plan.Change, failed error)) error
}

// PlanningHandlers say what an edit would do, and make it.
type PlanningHandlers struct {
	*base
	Checker Checker
	WhatIf  WhatIf
	Rows    Rows
	Secrets Secrets // nil: warnings name no secret
}

func (s PlanningHandlers) routes(b *base) []route {
	s.base = b
	return slices.Concat(s.whatIfRoutes(), s.differenceRoutes(), s.changeRoutes(), s.fleetRoutes())
}

func (s PlanningHandlers) whatIfRoutes() []route {
	return []route{
		{
			method: http.MethodPost,
			path:   Prefix + "/plan",
			name:   "planWhatIf",
			summary: "What would become of the fleet with other templates, tags, vars and revocations; changes " +
				"nothing. New and changed templates and vars need the role author, revocations the role admin",
			permission: auth.WriteTags,
			body:       reflect.TypeFor[api.WhatIf](),
			reply:      reflect.TypeFor[api.WhatIfPlan](),
			volatile:   true,
			conflicts:  true,
			off:        s.WhatIf == nil,
			handle:     s.planWhatIf,
		},
	}
}

func (s PlanningHandlers) planWhatIf(r *request) (reply, error) {
	body, err := decode[api.WhatIf](r)
	if err != nil {
		return reply{}, err
	}
	seen, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	edit, err := s.readEdit(r, seen, body)
	if err != nil {
		return reply{}, err
	}
	return s.planned(r, s.whatIfs, func(ctx context.Context) (reply, error) {
		out, _, err := s.foresee(ctx, edit, func(*plan.Effect) {})
		if err != nil {
			return reply{}, unknownInBody(err)
		}
		return show(out)
	})
}

// planned makes an answer for which the whole fleet is planned, when its turn comes. The turn ends when the answer is
// written, or when the work panics.
func (s PlanningHandlers) planned(r *request, turn turns, work func(context.Context) (reply, error)) (out reply,
	err error) {
	ctx, cancel := context.WithTimeout(r.Context(), whatIfTime)
	defer cancel()
	release, err := turn.take(ctx)
	if err != nil {
		return reply{}, err
	}
	defer func() {
		if out.release == nil {
			release()
		}
	}()
	out, err = work(ctx)
	out.release = release
	return out, err
}

// foresee is what an edit would do, as the caller sees it. each is told the effects on all devices before they are
// added up, and may take out of them what the caller may not answer.
func (s PlanningHandlers) foresee(
	ctx context.Context,
	edit fleet.Edit,
	each func(*plan.Effect),
) (api.WhatIfPlan, change.Foreseen,
	error) {
	inside, err := s.insideOf(ctx)
	if err != nil {
		return api.WhatIfPlan{}, change.Foreseen{}, err
	}
	sum := view.NewEffectSum(fleet.ScopeIn(ctx), inside)
	f, err := s.WhatIf.Foresee(ctx, edit, func(then *fleet.Registry, effect plan.Effect) {
		if edit.Undo == nil {
			effect.Answerable = nil
		}
		each(&effect)
		sum.Add(then, effect)
	})
	if err != nil {
		return api.WhatIfPlan{}, f, err
	}
	effects := sum.Effects()
	out := wireEffects(effects)
	out.Generation, out.NewTemplates = f.Now.Generation, append([]int64{}, f.New...)
	course := view.Course{Broken: f.Broken}
	if edit.Undo == nil { // An undo needs no approval, and has one wave.
		course.Approval, course.Waves = s.WhatIf.NeedsApproval(ctx, f.Now, f.Then), s.WhatIf.Waves(ctx, f.Now, f.Then)
	}
	course = sum.Course(course)
	out.Warnings, out.Approval = s.warningsOf(ctx, edit), course.Approval
	out.Warnings = slices.Concat(out.Warnings, effects.Summary.Warnings)
	if edit.Undo == nil {
		seen := f.Then.Within(fleet.ScopeIn(ctx))
		out.Warnings = append(out.Warnings, view.EditWarnings(edit, seen, f.New)...)
	}
	if edit.OnlyRevokes() {
		out.Warnings, course.Broken = append(out.Warnings, brokenWarnings(course.Broken, f.Then)...), nil
	}
	out.Broken, out.Waves = wireBroken(course.Broken, f.Then), append([]int{}, course.Waves...)
	return out, f, nil
}

func wireEffects(e view.Effects) api.WhatIfPlan {
	device := func(d view.DeviceEffect) api.DeviceEffect {
		return api.DeviceEffect{
			DeviceID: string(d.Device),
			Label:    d.Label,
			Unread:   d.Unread,
			Error:    d.Failure,
			FailsNow: d.FailsNow,
			Changes:  mapped(d.Changes, wireShown),
			Dropped:  mapped(d.Dropped, wireShown),
		}
	}
	return api.WhatIfPlan{
		Devices:   mapped(e.Devices, device),
		Touched:   api.Touched(e.Touched),
		Summary:   wireSentences(e.Summary),
		Truncated: e.Truncated,
		Folders: mapped(e.Folders, func(c view.DeviceCount) api.TouchedFolder {
			return api.TouchedFolder{Folder: c.Name, Devices: c.Devices}
		}),
		Keys: mapped(
			e.Keys,
			func(c view.DeviceCount) api.TouchedKey { return api.TouchedKey{Key: c.Name, Devices: c.Devices} },
		),
	}
}

// maxBroken is as many broken assertions as a person reads.
const maxBroken = 100

func wireBroken(broken []fleet.BrokenAssertion, r *fleet.Registry) []api.BrokenAssertion {
	out := make([]api.BrokenAssertion, 0, min(len(broken), maxBroken))
	for _, b := range broken[:cap(out)] {
		one := api.BrokenAssertion{Source: b.Source, Name: b.Name, DeviceID: string(b.Device), Key: b.Key,
			Expected: b.Expected, Got: b.Got}
		if device := r.Devices[b.Device]; device != nil {
			one.Label = device.Label
		}
		out = append(out, one)
	}
	return out
}

// brokenWarnings are the assertions that a revocation would break. They do not stop it.
func brokenWarnings(broken []fleet.BrokenAssertion, r *fleet.Registry) (warnings []string) {
	for _, b := range broken[:min(len(broken), maxBroken)] {
		warnings = append(warnings, fmt.Sprintf("source %q asserts what would not be true any more: %s", b.Source,
			b.Text(r.Label(b.Device))))
	}
	return warnings
}

// editWarnings are those that a write gives about what was stored, as the caller sees the fleet now.
func (s *base) editWarnings(ctx context.Context, edit fleet.Edit, made []int64) []string {
	registry, err := s.Registry.Registry(ctx)
	if err != nil {
		return nil // It is stored all the same.
	}
	return view.SavedWarnings(edit, registry, made)
}

// readEdit checks a body as far as it can be checked without a device.
func (s PlanningHandlers) readEdit(r *request, now *fleet.Registry, body api.WhatIf) (edit fleet.Edit, err error) {
	templates, tags := or(body.Templates, api.WhatIfTemplates{}), or(body.Tags, api.WhatIfTags{})
	if needed := auth.WriteTemplates; len(templates.New)+len(templates.Changed) > 0 && !r.who.May(needed) {
		return edit, r.who.Lacks(needed, "may not evaluate new templates")
	}
	for i, one := range templates.New {
		made, err := s.newTemplate(r.Context(), one, body.AllowFailing)
		if err != nil {
			return edit, inside("templates.new."+strconv.Itoa(i), err)
		}
		edit.New = append(edit.New, made)
	}
	for i, one := range templates.Changed {
		changed, err := s.changedTemplate(r.Context(), now, one, body.AllowFailing)
		if err != nil {
			return edit, inside("templates.changed."+strconv.Itoa(i), err)
		}
		edit.Changed = append(edit.Changed, changed)
	}
	edit.Deleted = templates.Deleted
	vars := or(body.Vars, api.WhatIfVars{})
	if needed := auth.WriteTemplates; len(vars.Devices)+len(vars.Tags) > 0 && !r.who.May(needed) {
		return edit, r.who.Lacks(needed, "may not change vars")
	}
	if edit.Vars, err = varsEdits(vars); err != nil {
		return edit, err
	}
	if needed := auth.WriteDevices; body.Revocations != nil && !r.who.May(needed) {
		return edit, r.who.Lacks(needed, "may not revoke devices")
	}
	if err := revocationEdits(&edit, now, or(body.Revocations, api.WhatIfRevocations{})); err != nil {
		return edit, err
	}
	if edit.Tag, err = taggings("tags.added.", tags.Added); err != nil {
		return edit, err
	}
	edit.Untag, err = taggings("tags.removed.", tags.Removed)
	return edit, err
}

func (s PlanningHandlers) newTemplate(ctx context.Context, body api.WhatIfNew,
	allowFailing bool) (made fleet.TaggedTemplate, err error) {
	made.Template, err = completeTemplate(api.PutTemplate{Label: body.Label, Priority: body.Priority, Op: body.Op,
		Key: body.Key, Template: body.Template})
	if err != nil {
		return made, err
	}
	if made.Tags, err = parseTags(body.Tags); err != nil {
		return made, err
	}
	made.Reads, err = s.check(ctx, made.Template, allowFailing)
	return made, err
}

func (s PlanningHandlers) changedTemplate(
	ctx context.Context,
	now *fleet.Registry,
	body api.WhatIfChanged,
	allowFailing bool,
) (fleet.Template, error) {
	if err := missing(map[string]bool{"id": body.ID == nil}); err != nil {
		return fleet.Template{}, err
	}
	is := now.Template(*body.ID)
	if is == nil {
		return fleet.Template{}, fleet.Invalidf("id", "there is no template %d", *body.ID)
	}
	changed, err := templateFrom(api.PutTemplate{
		Label: new(or(body.Label, is.Label)), Priority: new(or(body.Priority, is.Priority)),
		Op:  new(or(body.Op, string(is.Op))),
		Key: new(or(body.Key, is.Key)), Template: new(or(body.Template, is.Text)),
	})
	if err != nil {
		return fleet.Template{}, err
	}
	changed.ID = is.ID
	changed.Reads, err = s.check(ctx, changed, allowFailing)
	return changed, err
}

// check checks a template of an edit, and finds what it reads. It checks strictly unless the caller allows what fails.
func (s PlanningHandlers) check(ctx context.Context, t fleet.Template, allowFailing bool) (fleet.Inputs, error) {
	if allowFailing {
		return s.Checker.CheckTemplate(ctx, t)
	}
	return s.Checker.CheckStrictly(ctx, t)
}

func taggings(place string, bodies []api.WhatIfTag) ([]fleet.Tagging, error) {
	var out []fleet.Tagging
	for i, body := range bodies {
		tagging, err := taggingFrom(body)
		if err != nil {
			return nil, inside(place+strconv.Itoa(i), err)
		}
		out = append(out, tagging)
	}
	return out, nil
}

func taggingFrom(body api.WhatIfTag) (out fleet.Tagging, err error) {
	if err := missing(map[string]bool{"tag": body.Tag == nil}); err != nil {
		return out, err
	}
	if out.Tag, err = fleet.ParseTag(*body.Tag); err != nil {
		return out, err
	}
	switch {
	case (body.Device == nil) == (body.Template == nil):
		return out, fleet.Invalidf("", "a tag is on a device or on a template: name one of the two")
	case body.Template != nil:
		out.Template = *body.Template
	default:
		if out.Device, err = fleet.ParseDeviceID(*body.Device); err != nil {
			return out, at("device", err)
		}
	}
	return out, nil
}

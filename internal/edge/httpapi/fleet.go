package httpapi

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/edge/auth"
	"muster/internal/engine/change"
	"muster/internal/fleet"
)

// maxFleetBody is the largest body that says a whole fleet, in bytes.
const maxFleetBody = 32 << 20

func (s PlanningHandlers) fleetRoutes() []route {
	const all = Prefix + "/fleet"
	planned := reflect.TypeFor[api.FleetPlan]()
	return []route{
		{method: http.MethodGet, path: all, name: "getFleet",
			summary:    "The fleet as files say it: all templates, and what devices are called, tagged and set to",
			permission: auth.Read, reply: reflect.TypeFor[api.Fleet](), handle: s.ofRegistry(s.getFleet)},
		{method: http.MethodPost, path: all + "/plan", name: "planFleet",
			summary: "What would become of the fleet with what files say; changes nothing. Other templates need the " +
				"role author, other labels and settings of devices the role admin",
			permission: auth.WriteTags, body: reflect.TypeFor[api.PlanFleet](), reply: planned, volatile: true,
			conflicts: true, off: s.WhatIf == nil, maxBody: maxFleetBody, handle: s.planFleet},
		{method: http.MethodPost, path: all + "/apply", name: "applyFleet",
			summary:    "Bring the fleet to what files say, all in one generation and one rollout",
			permission: auth.WriteTags, body: reflect.TypeFor[api.ApplyFleet](),
			reply: reflect.TypeFor[api.AppliedFleet](), volatile: true, based: true, conflicts: true,
			off: s.WhatIf == nil, maxBody: maxFleetBody, handle: s.applyFleet},
		{method: http.MethodDelete, path: Prefix + "/sources/{source}", name: "forgetSource",
			summary:    "Give a source of files up: its templates stay, and are changed by everybody who may",
			permission: auth.WriteSettings, handle: s.forgetSource},
	}
}

func (s PlanningHandlers) getFleet(r *request, registry *fleet.Registry) (reply, error) {
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		out := wireFleet(registry)
		if err := s.addSystems(ctx, registry, out); err != nil {
			return reply{}, err
		}
		return show(out)
	})
}

// addSystems adds what daemons tell of their software, which templates can read.
func (s PlanningHandlers) addSystems(ctx context.Context, registry *fleet.Registry, out api.Fleet) error {
	if s.Rows == nil {
		return nil
	}
	rows, err := s.Rows.Rows(ctx, registry)
	if err != nil {
		return err
	}
	for _, row := range rows {
		id := string(row.Device.ID)
		if device, there := out.Devices[id]; there && row.Version != "" {
			device.System = &api.FleetSystem{OS: row.OS, Arch: row.Arch, Version: row.Version}
			out.Devices[id] = device
		}
	}
	return nil
}

func wireFleet(r *fleet.Registry) api.Fleet {
	out := api.Fleet{Generation: r.Generation, FolderRoots: append([]string{}, r.Roots[""]...),
		Devices: map[string]api.FleetDevice{}, Tags: map[string]api.FleetTag{},
		Templates: map[string]api.FleetTemplate{}, Sources: map[string]api.FleetSource{}}
	for id, d := range r.Devices {
		set := wireSettings(d.Settings)
		out.Devices[string(id)] = api.FleetDevice{Label: d.Label, Tags: wireTags(d.Tags),
			Settings: api.FleetSettings{Mode: set.Mode, AllowPlain: set.AllowPlain, Restart: set.Restart, Way: set.Way},
			Vars:     d.Vars.Vars.Values()}
	}
	set := slices.Concat(slices.Collect(maps.Keys(r.TagModes)), slices.Collect(maps.Keys(r.Roots)),
		slices.Collect(maps.Keys(r.Protected)), slices.Collect(maps.Keys(r.TagVars)))
	for _, tag := range set {
		if tag != "" {
			out.Tags[string(tag)] = api.FleetTag{Mode: string(r.TagModes[tag].OrOn()),
				FolderRoots: append([]string{}, r.Roots[tag]...), Protected: r.Protected[tag],
				Vars: r.TagVars[tag].Vars.Values()}
		}
	}
	names := r.TemplateNames()
	for _, t := range r.Templates {
		out.Templates[names[t.ID]] = api.FleetTemplate{ID: t.ID, Label: t.Label, Priority: t.Priority, Op: string(t.Op),
			Key: t.Key, Template: t.Text, Tags: wireTags(t.Tags), Source: r.Origins[t.ID].Source}
	}
	for name, source := range r.Sources {
		out.Sources[name] = api.FleetSource{ReadOnly: source.ReadOnly, Assertions: wireAssertions(source.Tests)}
	}
	return out
}

func wireAssertions(all []fleet.Assertion) []api.Assertion {
	return mapped(all, func(a fleet.Assertion) api.Assertion { return api.Assertion(a) })
}

// adjusting is what a body with files asks for, compared with the registry.
type adjusting struct {
	now    *fleet.Registry
	edit   fleet.Edit
	digest string
	files  fleet.Adjustment // the whole comparison: the edit and the templates without a file
}

// adjustmentFor reads a body, and checks what the caller may do of it.
func (s PlanningHandlers) adjustmentFor(r *request, body api.PlanFleet) (x adjusting, err error) {
	declared, err := declaredFrom(body)
	if err != nil {
		return x, err
	}
	if x.now, err = s.wholeRegistry(r.Context()); err != nil {
		return x, err
	}
	if x.files, err = x.now.Adjustment(declared); err != nil {
		return x, err
	}
	x.edit = x.files.Edit
	if err := r.who.MayMake(x.edit); err != nil {
		return x, err
	}
	if x.digest, err = x.edit.Digest(x.now.Generation); err != nil {
		return x, err
	}
	for _, one := range body.Assertions {
		x.edit.Files.Tests = append(x.edit.Files.Tests, fleet.Assertion(one))
	}
	if err := s.checkTemplates(r, x, body.AllowFailing); err != nil {
		return x, err
	}
	return x, x.edit.Check()
}

// checkTemplates checks new and changed templates, and notes what they read.
func (s PlanningHandlers) checkTemplates(r *request, x adjusting, allowFailing bool) (err error) {
	names := x.now.TemplateNames()
	check := func(t *fleet.Template, name string) error {
		t.Reads, err = s.check(r.Context(), *t, allowFailing)
		return inside("templates."+name, err)
	}
	for i := range x.edit.New {
		if err := check(&x.edit.New[i].Template, x.edit.Files.NewNames[i]); err != nil {
			return err
		}
	}
	for i := range x.edit.Changed {
		if err := check(&x.edit.Changed[i], names[x.edit.Changed[i].ID]); err != nil {
			return err
		}
	}
	return nil
}

func (s PlanningHandlers) planFleet(r *request) (reply, error) {
	body, err := decode[api.PlanFleet](r)
	if err != nil {
		return reply{}, err
	}
	x, err := s.adjustmentFor(r, body)
	if err != nil {
		return reply{}, err
	}
	return s.planned(r, s.whatIfs, func(ctx context.Context) (reply, error) {
		out, err := s.fleetPlan(ctx, x)
		if err != nil {
			return reply{}, unknownInBody(err) // a device may be gone by now
		}
		return show(out)
	})
}

func (s PlanningHandlers) fleetPlan(ctx context.Context, x adjusting) (out api.FleetPlan, err error) {
	asks := plan.Asks{}
	planned, foreseen, err := s.foresee(ctx, x.edit, func(effect *plan.Effect) { asks.Add(effect.Brings) })
	if err != nil {
		return out, err
	}
	out = api.FleetPlan{WhatIfPlan: planned, Digest: x.digest, Differs: !x.edit.Empty(), Changes: []api.FleetChange{},
		Asks: asks.Texts(planned.Approval), PrunesMany: x.files.PrunesMany,
		Leftovers: x.unfiled(x.files.Leftovers), WithoutSource: x.unfiled(x.files.WithoutSource)}
	for _, one := range change.Described(x.edit, x.now, foreseen.Then) {
		out.Changes = append(out.Changes, api.FleetChange(one))
	}
	return out, nil
}

func (s PlanningHandlers) applyFleet(r *request) (reply, error) {
	body, err := decode[api.ApplyFleet](r, "digest")
	if err != nil {
		return reply{}, err
	}
	x, err := s.adjustmentFor(r, body.PlanFleet)
	if err != nil {
		return reply{}, err
	}
	if x.digest != *body.Digest {
		return reply{}, &fleet.Error{Code: fleet.CodePrecondition,
			Message: "the plan is another by now: files, templates, tags or settings were changed since it was made",
			Hint:    "Plan again, look at that plan, and apply it."}
	}
	if err := x.files.CheckPruning(body.PruneMany); err != nil {
		return reply{}, err
	}
	done, err := s.Changes.Apply(r.Context(), x.edit, fleet.Basis{Generation: &x.now.Generation,
		RefuseFailing: !body.AllowFailing})
	if err != nil {
		return reply{}, err
	}
	out := api.AppliedFleet{Generation: done.Generation, Changed: !x.edit.Empty(), Warnings: []string{}}
	if out.Changed {
		var made []int64
		for _, template := range done.New {
			made = append(made, template.ID)
		}
		out.Warnings = append(s.warningsOf(r.Context(), x.edit), s.editWarnings(r.Context(), x.edit, made)...)
	}
	return show(out)
}

func (s PlanningHandlers) forgetSource(r *request) (reply, error) {
	_, err := s.change(r, fleet.Edit{Forget: r.segment("source")}, nil)
	return nothing(err)
}

package httpapi

import (
	"net/http"
	"reflect"
	"slices"

	"muster/api"
	"muster/internal/core/form"
	"muster/internal/core/stconfig"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

func (s TemplateHandlers) formRoutes() []route {
	return []route{
		{method: http.MethodGet, path: Prefix + "/forms", name: "listForms",
			summary: "The forms that can be filled in instead of writing a template, with their fields", permission: auth.Read,
			reply: reflect.TypeFor[[]api.FormKind](), handle: s.listForms},
		{method: http.MethodGet, path: Prefix + "/config-settings", name: "listConfigSettings",
			summary:    "Every field of Syncthing's configuration that one can set by itself, with type, default and help",
			permission: auth.Read, reply: reflect.TypeFor[[]api.ConfigSetting](), handle: s.listConfigSettings},
		{method: http.MethodPost, path: Prefix + "/templates/form", name: "writeForm",
			summary:    "Turn what a person filled in into a template, and the change that stores it; changes nothing",
			permission: auth.WriteTemplates, body: reflect.TypeFor[api.WriteForm](),
			reply: reflect.TypeFor[api.WrittenForm](), volatile: true, looksUp: true, handle: s.writeForm},
		{method: http.MethodGet, path: Prefix + "/templates/{templateID}/form", name: "getTemplateForm",
			summary:    "The form that a template can be edited as, if its text is one that a form writes",
			permission: auth.Read, reply: reflect.TypeFor[api.TemplateForm](), handle: s.ofTemplate(s.getTemplateForm)},
	}
}

func (s TemplateHandlers) listForms(*request) (reply, error) {
	return show(mapped(form.Kinds(), func(k *form.Kind) api.FormKind {
		return api.FormKind{Name: k.Name, Title: k.Title, Help: k.Help, Fields: mapped(k.Fields, wireField)}
	}))
}

func wireField(f form.Field) api.FormField {
	field := api.FormField{Name: f.Name, Label: f.Label, Help: f.Help, Type: string(f.Type), Example: f.Example,
		Default: f.Default, Required: f.Required, Least: f.Least, Most: f.Most,
		Choices: mapped(f.Choices, func(c form.Choice) api.FormChoice { return api.FormChoice(c) })}
	if f.OnlyIf != nil {
		field.OnlyIf = &api.FormCondition{Field: f.OnlyIf.Field, Is: f.OnlyIf.Is}
	}
	return field
}

func (s TemplateHandlers) listConfigSettings(*request) (reply, error) {
	return show(mapped(stconfig.Settings(), func(s stconfig.Setting) api.ConfigSetting {
		return api.ConfigSetting{Key: s.Key, Type: string(s.Type), Choices: s.Choices, Default: s.DefaultTexts(),
			Help: s.Help}
	}))
}

func (s TemplateHandlers) writeForm(r *request) (reply, error) {
	body, err := decode[api.WriteForm](r)
	if err != nil {
		return reply{}, err
	}
	filled, label, err := formFrom(body)
	if err != nil {
		return reply{}, inside("form", err)
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	written, id := filled.Write(), or(body.Template, 0)
	out := api.WrittenForm{Label: label, Op: string(written.Op), Key: written.Key, Template: written.Text,
		Tags: wireTags(written.Tags), Warnings: append([]string{}, filled.Warnings(registry, id)...)}
	if body.Template == nil {
		out.Change = newFromForm(out)
		out.Warnings = append(out.Warnings, s.overruled(r, written, fleet.Template{})...)
		return show(out)
	}
	stored := registry.Template(id)
	if stored == nil {
		return reply{}, noTemplate(id)
	}
	if body.Label == "" {
		out.Label = stored.Label
	}
	out.Change = changedByForm(out, *stored)
	out.Warnings = append(out.Warnings, s.overruled(r, written, stored.Template)...)
	return show(out)
}

// overruled says which keys of a written form have no effect, because another template has the last word, and the other
// way round. stored is the template that becomes the form.
func (s TemplateHandlers) overruled(r *request, written form.Written, stored fleet.Template) []string {
	if !r.who.Scope.Whole() { // The other template may be one that the caller does not see.
		return nil
	}
	stored.Op, stored.Key, stored.Text = written.Op, written.Key, written.Text
	return s.Checker.Contradictions(r.Context(), fleet.TaggedTemplate{Template: stored, Tags: written.Tags})
}

func newFromForm(w api.WrittenForm) api.WhatIf {
	return api.WhatIf{Templates: &api.WhatIfTemplates{New: []api.WhatIfNew{{Label: &w.Label, Op: &w.Op, Key: &w.Key,
		Template: &w.Template, Tags: w.Tags}}}}
}

// changedByForm keeps the priority, and makes the tags those of the form.
func changedByForm(w api.WrittenForm, stored fleet.TaggedTemplate) api.WhatIf {
	change := api.WhatIf{Templates: &api.WhatIfTemplates{Changed: []api.WhatIfChanged{{ID: &stored.ID, Label: &w.Label,
		Op: &w.Op, Key: &w.Key, Template: &w.Template}}}, Tags: &api.WhatIfTags{}}
	had := wireTags(stored.Tags)
	for _, tag := range w.Tags {
		if !slices.Contains(had, tag) {
			change.Tags.Added = append(change.Tags.Added, api.WhatIfTag{Tag: &tag, Template: &stored.ID})
		}
	}
	for _, tag := range had {
		if !slices.Contains(w.Tags, tag) {
			change.Tags.Removed = append(change.Tags.Removed, api.WhatIfTag{Tag: &tag, Template: &stored.ID})
		}
	}
	return change
}

func (s TemplateHandlers) getTemplateForm(r *request, template *fleet.TaggedTemplate) (reply, error) {
	whole, err := s.wholeRegistry(r.Context())
	if err != nil {
		return reply{}, err
	}
	all := *template
	if known := whole.Template(template.ID); known != nil {
		all.Tags = known.Tags // The caller may know some of them only, and a form is read with all of them.
	}
	filled, isForm := form.Read(all)
	if !isForm {
		return show(api.TemplateForm{Edited: form.Edited(all)})
	}
	return show(api.TemplateForm{Form: wireForm(filled, template.Tags)})
}

// formFrom is a valid form, and the label of its template.
func formFrom(body api.WriteForm) (filled form.Form, label string, err error) {
	switch given := or(body.Form, api.Form{}); {
	case given.Share != nil:
		filled, label = filledShare(*given.Share), given.Share.Label
	case given.Filled != nil:
		values, err := form.Fill(given.Filled.Name, given.Filled.Fields)
		if err != nil {
			return nil, "", err
		}
		filled, label = values, values.Label()
	default:
		return nil, "", fleet.Invalidf("", "which form is it? Give one of its fields, for example share")
	}
	if body.Label != "" {
		label = body.Label
	}
	return filled, label, filled.Validate()
}

// wireForm shows these tags of the template of a form. A share names its tags in its text.
func wireForm(filled form.Form, tags []fleet.Tag) *api.Form {
	switch filled := filled.(type) {
	case form.Share:
		return &api.Form{Share: shareForm(filled)}
	case form.Filled:
		filled.Values["tags"] = wireTags(tags)
		return &api.Form{Filled: &api.FilledForm{Name: filled.Kind.Name, Fields: filled.Values}}
	default:
		return nil
	}
}

func filledShare(body api.ShareForm) form.Share {
	share := form.Share{Folder: body.Folder, Label: body.Label, Paths: body.Paths, Encrypted: tagsOf(body.Encrypted),
		ReceiveOnly: tagsOf(body.ReceiveOnly), SendOnly: tagsOf(body.SendOnly), SendReceive: tagsOf(body.SendReceive),
		Hubs: tagsOf(body.Hubs), Secret: body.Secret, Ignores: body.Ignores, KeepFreePercent: body.KeepFreePercent}
	if share.Folder == "" {
		share.Folder = form.FolderID(body.Label)
	}
	if v := body.Versioning; v != nil {
		share.Versioning = &form.Versioning{Type: v.Type, Params: v.Params}
	}
	return share
}

func shareForm(s form.Share) *api.ShareForm {
	share := api.ShareForm{Folder: s.Folder, Label: s.Label, Paths: s.Paths, Encrypted: wireTags(s.Encrypted),
		ReceiveOnly: wireTags(s.ReceiveOnly), SendOnly: wireTags(s.SendOnly), SendReceive: wireTags(s.SendReceive),
		Hubs: wireTags(s.Hubs), Secret: s.Secret, Ignores: s.Ignores, KeepFreePercent: s.KeepFreePercent}
	if v := s.Versioning; v != nil {
		share.Versioning = &api.VersioningForm{Type: v.Type, Params: v.Params}
	}
	return &share
}

// tagsOf takes the tags of a form as they are: the form checks them.
func tagsOf(texts []string) []fleet.Tag {
	return mapped(texts, func(text string) fleet.Tag { return fleet.Tag(text) })
}

package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// Checker checks what a template says before it is kept: syntax of the text, grammar of the key, op and the key's
// first name. Errors are invalid, with line and column.
type Checker interface {
	// Describe gives what a text reads, and runs nothing.
	Describe(ctx context.Context, text string) (fleet.Inputs, error)
	// It gives what the template reads.
	CheckTemplate(ctx context.Context, template fleet.Template) (fleet.Inputs, error)
	// CheckStrictly also refuses values of another type than their field's, and units that daemons read as bytes. A
	// single write of a template is stored in spite of them.
	CheckStrictly(ctx context.Context, template fleet.Template) (fleet.Inputs, error)
	// Warnings say what is most probably wrong with a template that was checked, as far as that can be told without a
	// device.
	Warnings(ctx context.Context, template fleet.Template) []string
	// Contradictions say for which keys another template of the same devices asks another value, and which one counts.
	Contradictions(ctx context.Context, template fleet.TaggedTemplate) []string
}

// TemplateHandlers keep and evaluate templates.
type TemplateHandlers struct {
	*base
	Checker     Checker
	Evaluator   Evaluator
	Versions    TemplateHistory
	evaluations turns
}

func (s TemplateHandlers) routes(b *base) []route {
	s.base = b
	s.evaluations = newTurns(maxEvaluations)
	return slices.Concat(s.templateRoutes(), s.templateHistoryRoutes(), s.evaluateRoutes(), s.formRoutes())
}

func (s TemplateHandlers) templateRoutes() []route {
	const all, one, tags, tag = Prefix + "/templates", Prefix + "/templates/{templateID}", Prefix +
		"/templates/{templateID}/tags", Prefix + "/templates/{templateID}/tags/{tag}"
	template, body, names := reflect.TypeFor[api.Template](), reflect.TypeFor[api.PutTemplate](),
		reflect.TypeFor[[]string]()
	return []route{
		{method: http.MethodGet, path: all, name: "listTemplates", summary: "All templates, in the order of the fold",
			permission: auth.Read,
			query:      []parameter{searchParam, tagParam, limitParam, afterParam},
			reply:      reflect.TypeFor[[]api.Template](), handle: s.listTemplates},
		{method: http.MethodPost, path: all, name: "createTemplate", summary: "Create a template",
			permission: auth.WriteTemplates,
			body:       body, reply: template, creates: true, onlyCreates: true, warns: true, handle: s.createTemplate},
		{method: http.MethodGet, path: one, name: "getTemplate", summary: "One template", permission: auth.Read,
			reply: template, handle: s.ofTemplate(s.getTemplate)},
		{method: http.MethodPut, path: one, name: "putTemplate", summary: "Replace a template",
			permission: auth.WriteTemplates,
			body:       body, reply: template, conditional: true, warns: true, conflicts: true, handle: s.putTemplate},
		{method: http.MethodDelete, path: one, name: "deleteTemplate", summary: "Delete a template",
			permission:  auth.WriteTemplates,
			conditional: true, conflicts: true, handle: s.deleteTemplate},
		{method: http.MethodGet, path: one + "/saver", name: "getTemplateSaver",
			summary: "Who last saved op, key and text of a template, with what role", permission: auth.Read,
			reply: reflect.TypeFor[api.TemplateSaver](), handle: s.ofTemplate(s.getTemplateSaver)},
		{method: http.MethodGet, path: tags, name: "getTemplateTags", summary: "Tags of a template",
			permission: auth.Read, reply: names, handle: s.ofTemplate(s.getTemplateTags)},
		{method: http.MethodPut, path: tag, name: "tagTemplate", summary: "Attach a tag to a template; gives its tags",
			permission: auth.WriteTags,
			reply:      names, conditional: true, warns: true, conflicts: true, handle: s.tagTemplate},
		{method: http.MethodDelete, path: tag, name: "untagTemplate",
			summary: "Take a tag off a template; gives its tags", permission: auth.WriteTags,
			reply: names, conditional: true, conflicts: true, handle: s.untagTemplate},
	}
}

func (s TemplateHandlers) listTemplates(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	return s.templatesWith(r, q, func(*fleet.TaggedTemplate) bool { return true })
}

// templatesWith is the list of the templates that also pass a condition of the path.
func (s *base) templatesWith(r *request, q listQuery, passes func(*fleet.TaggedTemplate) bool) (reply, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return s.answered(r, view.OfRegistry(registry), "", func() (reply, error) {
		members := make([]*fleet.TaggedTemplate, len(registry.Templates))
		for i := range registry.Templates {
			members[i] = &registry.Templates[i]
		}
		return showList(r, q, members, listing[*fleet.TaggedTemplate, api.Template]{
			matches: func(t *fleet.TaggedTemplate) bool {
				return passes(t) && q.holds(t.Label, t.Key) && q.carries(t.Tags)
			},
			cursor: templateCursor, beyond: beyondTemplate,
			wire: func(t *fleet.TaggedTemplate) api.Template { return wireTemplate(t.Template) },
		})
	})
}

func templateCursor(t *fleet.TaggedTemplate) string { return fmt.Sprintf("%d.%d", t.Priority, t.ID) }

func beyondTemplate(cursor string, t *fleet.TaggedTemplate) (bool, error) {
	priority, id, _ := strings.Cut(cursor, ".")
	var place fleet.Template
	var err, errID error
	place.Priority, err = strconv.ParseInt(priority, 10, 64)
	place.ID, errID = strconv.ParseInt(id, 10, 64)
	if err != nil || errID != nil {
		return false, errors.New("no cursor of a template")
	}
	return fleet.CompareTemplates(t.Template, place) > 0, nil
}

func (s TemplateHandlers) getTemplate(r *request, template *fleet.TaggedTemplate) (reply, error) {
	return show(wireTemplate(template.Template))
}

func (s TemplateHandlers) createTemplate(r *request) (reply, error) {
	template, err := s.readTemplate(r)
	if err != nil {
		return reply{}, err
	}
	done, err := s.change(r, fleet.Edit{New: []fleet.TaggedTemplate{{Template: template}}}, nil)
	if err != nil {
		return reply{}, err
	}
	stored := done.New[0]
	out, err := showCreated(wireTemplate(stored), true, templatePath(stored.ID))
	out.warning = headerText(s.Checker.Warnings(r.Context(), stored))
	return out, err
}

// headerText joins warnings for a header, because templates and lists of tags have exactly the contract's fields.
func headerText(warnings []string) string {
	const most = 5
	if left := len(warnings) - most; left > 0 {
		warnings = append(warnings[:most:most], fmt.Sprintf("and %d more", left))
	}
	quoted := strconv.QuoteToASCII(strings.Join(warnings, "; ")) // a header holds no more
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func (s TemplateHandlers) putTemplate(r *request) (reply, error) {
	old, err := s.stored(r) // an unknown ID is told before what is wrong with the body
	if err != nil {
		return reply{}, err
	}
	template, err := s.readTemplate(r)
	if err != nil {
		return reply{}, err
	}
	template.ID = old.ID
	done, err := s.change(r, fleet.Edit{Changed: []fleet.Template{template}}, condition(r, shownTemplate))
	if err != nil {
		return reply{}, orNotFound(err, noTemplate(template.ID))
	}
	stored := done.Changed[0]
	out, err := show(wireTemplate(stored))
	tagged := old.Saved(stored)
	out.warning = headerText(slices.Concat(s.Checker.Warnings(r.Context(), stored),
		s.Checker.Contradictions(r.Context(), tagged),
		s.editWarnings(r.Context(), fleet.Edit{Changed: []fleet.Template{stored}}, nil)))
	return out, err
}

// readTemplate reads and checks a body as far as a template can be checked without a device.
func (s TemplateHandlers) readTemplate(r *request) (fleet.Template, error) {
	body, err := decode[api.PutTemplate](r)
	if err != nil {
		return fleet.Template{}, err
	}
	template, err := completeTemplate(body)
	if err != nil {
		return fleet.Template{}, err
	}
	template.Reads, err = s.Checker.CheckTemplate(r.Context(), template)
	return template, err
}

// completeTemplate makes a template of a body that must say what it does.
func completeTemplate(body api.PutTemplate) (fleet.Template, error) {
	if err := missing(map[string]bool{"op": body.Op == nil, "key": body.Key == nil,
		"template": body.Template == nil}); err != nil {
		return fleet.Template{}, err
	}
	return templateFrom(body)
}

func templateFrom(body api.PutTemplate) (fleet.Template, error) {
	op, err := fleet.ParseOp(or(body.Op, string(fleet.OpSet)))
	if err != nil {
		return fleet.Template{}, err
	}
	template := fleet.Template{
		Label: or(body.Label, ""), Priority: or(body.Priority, 0), Op: op, Key: or(body.Key, ""),
		Text: or(body.Template, ""),
	}
	return template, template.Validate()
}

func (s TemplateHandlers) deleteTemplate(r *request) (reply, error) {
	id, err := r.templateID()
	if err != nil {
		return reply{}, err
	}
	_, err = s.change(r, fleet.Edit{Deleted: []int64{id}}, condition(r, shownTemplate))
	return nothing(orNotFound(err, noTemplate(id)))
}

func (s TemplateHandlers) getTemplateSaver(r *request, template *fleet.TaggedTemplate) (reply, error) {
	return show(api.TemplateSaver{Name: template.SavedBy, Role: string(template.SavedRole)})
}

func (s TemplateHandlers) getTemplateTags(r *request, template *fleet.TaggedTemplate) (reply, error) {
	return show(wireTags(template.Tags))
}

func (s TemplateHandlers) tagTemplate(r *request) (reply, error) {
	tagging, err := r.tagOfTemplate()
	if err != nil {
		return reply{}, err
	}
	edit := fleet.Edit{Tag: []fleet.Tagging{tagging}}
	out, err := s.changeTagsOfTemplate(r, edit, tagging.Template)
	if err != nil {
		return out, err
	}
	tagged, err := s.stored(r)
	if err != nil {
		return out, nil //nolint:nilerr // deleted meanwhile: the tag was attached all the same
	}
	warnings := tagging.Tag.Doubts()
	if r.who.Scope.Whole() { // a contradiction may be one with a template that the caller does not see
		warnings = append(warnings, s.Checker.Contradictions(r.Context(), *tagged)...)
	}
	out.warning = headerText(append(warnings, s.editWarnings(r.Context(), edit, nil)...))
	return out, nil
}

func (s TemplateHandlers) untagTemplate(r *request) (reply, error) {
	tagging, err := r.tagOfTemplate()
	if err != nil {
		return reply{}, err
	}
	return s.changeTagsOfTemplate(r, fleet.Edit{Untag: []fleet.Tagging{tagging}}, tagging.Template)
}

func (s TemplateHandlers) changeTagsOfTemplate(r *request, edit fleet.Edit, id int64) (reply, error) {
	check, err := s.conditionOnTags(r)
	if err != nil {
		return reply{}, err
	}
	done, err := s.change(r, edit, check)
	if err != nil {
		return reply{}, orNotFound(err, noTemplate(id))
	}
	return s.showTagsFor(r, done.Tags)
}

// tagOfTemplate is the tag and the template that a path names.
func (r *request) tagOfTemplate() (tagging fleet.Tagging, err error) {
	if tagging.Template, err = r.templateID(); err != nil {
		return tagging, err
	}
	tagging.Tag, err = r.tag()
	return tagging, err
}

func shownTemplate(is fleet.Found) any { return wireTemplate(*is.Template) }

func wireTemplate(t fleet.Template) api.Template {
	return api.Template{
		ID: t.ID, Label: t.Label, Priority: t.Priority, Op: string(t.Op), Key: t.Key, Template: t.Text,
		CreatedAt: api.Time{Time: t.CreatedAt}, UpdatedAt: api.Time{Time: t.UpdatedAt},
	}
}

package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/core/template"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// Evaluator evaluates a template for one device: the given one, or, when device is "", one that carries a tag of the
// template, else the first online one, else the first, else a built-in sample. A text that fails is invalid, with
// line, column and traceback.
type Evaluator interface {
	Evaluate(ctx context.Context, template fleet.TaggedTemplate, device fleet.DeviceID) (Evaluation, error)
}

// Evaluation is what a template makes of one device's configuration, secrets masked already; see template.
type Evaluation = template.Evaluation

var evaluatedDevice = deviceParam("ID of the device to evaluate for, instead of one that the service picks")

func (s TemplateHandlers) evaluateRoutes() []route {
	query := []parameter{evaluatedDevice}
	evaluation := reflect.TypeFor[api.Evaluation]()
	return []route{
		{method: http.MethodGet, path: Prefix + "/templates/{templateID}/evaluate", name: "evaluateTemplate",
			summary:    "Evaluate a stored template for one device; changes nothing",
			permission: auth.Read, query: query, reply: evaluation, volatile: true, handle: s.ofTemplate(s.evaluateStored)},
		{method: http.MethodPost, path: Prefix + "/templates/evaluate", name: "evaluateNewTemplate",
			summary:    "Evaluate a template that is not stored; changes nothing",
			permission: auth.WriteTemplates, query: query, body: reflect.TypeFor[api.EvaluateTemplate](), reply: evaluation,
			volatile: true, looksUp: true, handle: s.evaluateNew},
	}
}

func (s TemplateHandlers) evaluateStored(r *request, template *fleet.TaggedTemplate) (reply, error) {
	return s.evaluate(r, *template)
}

func (s TemplateHandlers) evaluateNew(r *request) (reply, error) {
	body, err := decode[api.EvaluateTemplate](r, "template")
	if err != nil {
		return reply{}, err
	}
	template, err := templateFrom(api.PutTemplate(body))
	if err != nil {
		return reply{}, err
	}
	template.SavedBy, template.SavedRole = r.who.Name, r.who.Role
	// What a text reads is found without running it.
	if template.Reads, err = s.Checker.Describe(r.Context(), template.Text); err != nil {
		return reply{}, err
	}
	return s.evaluate(r, fleet.TaggedTemplate{Template: template})
}

func (s TemplateHandlers) evaluate(r *request, template fleet.TaggedTemplate) (reply, error) {
	if template.Reads.Peers && !r.who.Scope.Whole() {
		return reply{}, fleet.OutOfScope(
			"the template reads the vars or addresses of all devices, also of those outside of " +
				"the part: its plan shows what your devices get",
		)
	}
	device, err := s.chosenDevice(r, evaluatedDevice)
	if err == nil && !r.who.Scope.Whole() {
		device, err = s.exampleInside(r.Context(), template, device)
	}
	if err != nil {
		return reply{}, err
	}
	end, err := s.evaluations.take(r.Context())
	if err != nil {
		return reply{}, err
	}
	defer end()
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		made, err := s.Evaluator.Evaluate(ctx, template, device)
		if err != nil {
			return reply{}, err
		}
		if !r.who.Scope.Whole() { // The program may print facts of any device.
			made.Output, made.Steps = []string{}, 0
		}
		return s.showEvaluation(ctx, made)
	})
}

// exampleInside returns the device on which a template is evaluated for a caller with a scope: the one that they
// chose, else the first that has a tag of the template. The result for other devices is not shown.
func (s TemplateHandlers) exampleInside(
	ctx context.Context,
	t fleet.TaggedTemplate,
	chosen fleet.DeviceID,
) (fleet.DeviceID,
	error) {
	registry, err := s.Registry.Registry(ctx)
	if err != nil {
		return "", err
	}
	for _, d := range view.SortedDevices(registry) {
		if t.AppliesTo(d) && (chosen == "" || chosen == d.ID) {
			return d.ID, nil
		}
	}
	return "", fleet.OutOfScope("the template applies to none of the devices in question: it shares no tag with them")
}

const (
	maxEvaluations  = 2         // at a time: each plans for a device
	maxValueShown   = 4 << 20   // bytes of a value as JSON
	maxChangesShown = 512 << 10 // bytes of all changes as JSON
)

func (s TemplateHandlers) showEvaluation(ctx context.Context, made Evaluation) (reply, error) {
	size := made.Value.JSONSize(maxValueShown)
	if size >= maxValueShown {
		return reply{}, fleet.Invalidf("template", "the value is larger than %d MiB", maxValueShown>>20)
	}
	var changes []api.KeyChange
	left := maxChangesShown
	for _, change := range made.Changes {
		key := change.Key.String()
		left -= len(key) + change.From.JSONSize(left) + change.To.JSONSize(left)
		if left <= 0 {
			made.Warnings = append(made.Warnings, fmt.Sprintf("%d more changes are not shown", len(made.Changes)-len(changes)))
			break
		}
		changes = append(changes, api.KeyChange{Key: key, From: change.From.JSON(), To: change.To.JSON()})
	}
	const copies = 3 // how often the answer is in memory while it is being made
	if err := s.take(ctx, int64(copies*(size+maxChangesShown-max(left, 0)))); err != nil {
		return reply{}, err
	}
	return show(api.Evaluation{
		DeviceID: string(made.Device), Language: string(made.Language), Value: made.Value.JSON(), Changes: changes,
		Warnings: made.Warnings, Output: made.Output, Steps: made.Steps, DurationMs: made.Took.Milliseconds(),
	})
}

// chosenDevice returns the device in the parameter, or "" when the client leaves the choice to the server.
func (s *base) chosenDevice(r *request, by param[fleet.DeviceID]) (fleet.DeviceID, error) {
	id, err := by.of(r)
	if err != nil || id == "" {
		return "", err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return "", err
	}
	if registry.Devices[id] == nil {
		return "", noDevice(id)
	}
	return id, nil
}

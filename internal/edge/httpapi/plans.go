package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// Plans says what would be changed on a device now, and changes it.
type Plans interface {
	// Plan of a device whose configuration was never read: not_found.
	Plan(ctx context.Context, id fleet.DeviceID) (plan.Plan, error)
	// Apply does what the plan with this digest says, and answers once the daemon was read back, with what was done and
	// what the plan still asks for. answers has, by key, what a person answers to held changes. When the plan is another
	// by now: conflict.
	Apply(
		ctx context.Context, id fleet.DeviceID, digest string, answers map[string]fleet.Answer,
	) (done, waiting []plan.Change, err error)
}

// PlanHandlers show and apply the plans of devices.
type PlanHandlers struct {
	*base
	Plans  Plans
	States States
}

func (s PlanHandlers) routes(b *base) []route {
	s.base = b
	return []route{
		{
			method: http.MethodGet, path: Prefix + "/devices/{deviceID}/plan", name: "getDevicePlan", permission: auth.Read,
			summary: "What would be changed on the device now, and why",
			reply:   reflect.TypeFor[api.Plan](), handle: s.ofDevice(s.getPlan),
		},
		{
			method: http.MethodPost, path: Prefix + "/devices/{deviceID}/apply", name: "applyDevicePlan",
			summary: "Apply the plan that was looked at, with consent to what is held; " +
				"gives the state that came of it, what was done and what still waits",
			permission: auth.Apply, body: reflect.TypeFor[api.ApplyPlan](), reply: reflect.TypeFor[api.AppliedPlan](),
			volatile: true, conflicts: true, handle: s.applyPlan,
		},
	}
}

func (s PlanHandlers) getPlan(r *request, device *fleet.Registered) (reply, error) {
	end, err := s.planInTurn(r.Context())
	if err != nil {
		return reply{}, err
	}
	defer end()
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		made, err := s.Plans.Plan(ctx, device.ID)
		if err != nil {
			return reply{}, notSeen(err)
		}
		if err := s.takeFor(ctx, made.Changes); err != nil {
			return reply{}, err
		}
		registry, err := s.Registry.Registry(ctx)
		if err != nil {
			return reply{}, err
		}
		return show(wirePlan(made, registry))
	})
}

// maxPlans is how many plans are made for readers at a time: what Muster recorded of the device is read before it is
// known how much memory the plan needs.
const maxPlans = 2

// planInTurn waits until a plan may be made; end is called when it is.
func (s *base) planInTurn(ctx context.Context) (end func(), err error) { return s.plans.take(ctx) }

// takeFor asks for the memory that changes need on their way to the wire.
func (s *base) takeFor(ctx context.Context, changes []plan.Change) error {
	const copies, all = 3, 64 << 20
	size := 0
	for _, change := range changes {
		size += change.ShownSize(all)
	}
	return s.take(ctx, int64(copies*size))
}

func wirePlan(made plan.Plan, registry *fleet.Registry) api.Plan {
	sentences := view.NewSentenceSum(registry.Label)
	sentences.Add(made.Device, made.Changes, nil)
	return api.Plan{Digest: made.Digest, Generation: made.Generation, Changes: wireChanges(made.Changes, registry),
		Summary: wireSentences(sentences.Summary())}
}

func wireSentences(s view.Summary) api.Summary {
	return api.Summary{MoreChanges: s.MoreChanges, MoreDevices: s.MoreDevices,
		MoreWithoutPlan: s.MoreWithoutPlan, Removals: s.Removals, Removal: s.Removal,
		Sentences: mapped(s.Sentences, func(one view.Sentence) api.Sentence {
			return api.Sentence{Text: one.Text, Subject: one.Subject, Kind: string(one.Kind), Class: string(one.Class),
				Devices: one.Devices, Changes: one.Changes, Labels: one.Labels}
		})}
}

// named is a text for a person in which devices have names instead of IDs.
func named(registry *fleet.Registry, text string) string {
	return fleet.WithNames(text, func(id fleet.DeviceID) string {
		if registry == nil {
			return ""
		}
		return registry.Label(id)
	})
}

func wireChanges(changes []plan.Change, registry *fleet.Registry) []api.PlannedChange {
	return mapped(changes, func(c plan.Change) api.PlannedChange { return wireShown(view.PlannedChangeOf(c, registry)) })
}

func wireShown(c view.PlannedChange) api.PlannedChange {
	return api.PlannedChange{Key: c.Key, From: c.From, To: c.To, Templates: c.Templates, Class: string(c.Class),
		Reason: c.Reason, Drift: c.Drift, Returns: c.Returns, Consented: c.Consented,
		Answers: c.Answers, Choices: wireChoices(c.Choices), Digest: c.Digest}
}

func wireChoices(choices []fleet.Choice) []api.Choice {
	return mapped(choices, func(c fleet.Choice) api.Choice { return api.Choice{Name: c.Name, Does: c.Does} })
}

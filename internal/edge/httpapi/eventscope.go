package httpapi

import (
	"context"
	"encoding/json"

	"muster/api"
	"muster/internal/engine/event"
	"muster/internal/fleet"
)

// eventFor is an event as the caller sees it, nil when it is not for them. Texts in it name devices by their labels, so
// what a state or a rollout says is read again for the caller. A device that went out of scope is deleted for them.
func (s *EventHandlers) eventFor(ctx context.Context, e *event.Event) (*event.Event, error) {
	scope := fleet.ScopeIn(ctx)
	if e.Type == event.TypeLog {
		return s.logEventFor(ctx, e)
	}
	if scope.Whole() || e.Type == event.TypeMissed {
		return e, nil
	}
	if e.Type == event.TypeTemplate {
		return s.templateEventFor(ctx, e)
	}
	if e.Type == event.TypeRollout {
		return s.rolloutEventFor(ctx, e)
	}
	inside, err := s.insideOf(ctx)
	if err != nil {
		return nil, err
	}
	switch isIn := inside(e.Device); {
	case !isIn && e.Type == event.TypeDevice && scope.Covers(e.Tags):
		return withData(e, scope.Among(e.Tags), api.DeviceEvent{Deleted: true})
	case !isIn:
		return nil, nil //nolint:nilnil // not for this caller
	case e.Type == event.TypeInventory:
		return s.rowEventFor(ctx, e)
	case e.Type == event.TypeDevice || e.Type == event.TypePlan:
		state, err := s.States.State(ctx, e.Device)
		if fleet.CodeOf(err) == fleet.CodeNotFound {
			return nil, nil //nolint:nilnil // deleted since: another event says so
		}
		if err != nil {
			return nil, err
		}
		return withData(e, e.Tags, stateEvent(state))
	}
	return e, nil
}

// templateEventFor tells of a template. One that applies to no device inside, or to none any more, is deleted for the
// caller.
func (s *EventHandlers) templateEventFor(ctx context.Context, e *event.Event) (*event.Event, error) {
	var of api.TemplateEvent
	if err := json.Unmarshal(e.Data, &of); err != nil {
		return nil, err
	}
	registry, err := s.Registry.Registry(ctx)
	if err != nil {
		return nil, err
	}
	if registry.Template(of.ID) != nil {
		return e, nil
	}
	return withData(e, nil, api.TemplateEvent{ID: of.ID, Deleted: true})
}

// rowEventFor is the row as the caller sees it.
func (s *EventHandlers) rowEventFor(ctx context.Context, e *event.Event) (*event.Event, error) {
	registry, err := s.Registry.Registry(ctx)
	if err != nil || s.Rows == nil {
		return nil, err
	}
	row, err := s.Rows.Row(ctx, registry, e.Device)
	if err != nil || row == nil {
		return nil, err
	}
	return withData(e, e.Tags, api.InventoryEvent{Row: wireRow(row)})
}

func (s *EventHandlers) rolloutEventFor(ctx context.Context, e *event.Event) (*event.Event, error) {
	var of struct {
		ID int64 `json:"id"`
	}
	if err := json.Unmarshal(e.Data, &of); err != nil || s.Rollouts == nil {
		return nil, err
	}
	rollout, err := s.Rollouts.Rollout(ctx, of.ID)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return nil, nil //nolint:nilnil // no member is inside
	}
	if err != nil {
		return nil, err
	}
	registry, err := s.Registry.Registry(ctx)
	if err != nil {
		return nil, err
	}
	return withData(e, nil, wireRollout(rollout, registry))
}

func withData(e *event.Event, tags []fleet.Tag, data any) (*event.Event, error) {
	text, err := json.Marshal(data)
	seen := *e
	seen.Tags, seen.Data = tags, text
	return &seen, err
}

package openapi

import (
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/engine/event"
)

// eventData is the type of an event's data, and what it says, by type of event.
var eventData = map[event.Type]struct {
	data reflect.Type
	says string
}{
	event.TypeDevice:    {reflect.TypeFor[api.DeviceEvent](), "How a device stands now"},
	event.TypeStatus:    {reflect.TypeFor[api.StatusEvent](), "What a daemon tells of itself"},
	event.TypeFolder:    {reflect.TypeFor[api.FolderEvent](), "How a folder stands on a device"},
	event.TypeConfig:    {reflect.TypeFor[api.ConfigEvent](), "Which configuration a daemon has"},
	event.TypePlan:      {reflect.TypeFor[api.DeviceEvent](), "How a device stands whose plan has changed"},
	event.TypeRollout:   {reflect.TypeFor[api.Rollout](), "A rollout as it is now"},
	event.TypePending:   {reflect.TypeFor[api.OverviewOfPending](), "Who asks to be let in"},
	event.TypeInventory: {reflect.TypeFor[api.InventoryEvent](), "A device as the inventory has it"},
	event.TypeTemplate:  {reflect.TypeFor[api.TemplateEvent](), "Which template was stored or deleted"},
	event.TypeAgent:     {reflect.TypeFor[api.AgentEvent](), "How an agent is connected"},
	event.TypeLog:       {reflect.TypeFor[api.LogEntry](), "The new entry of the log"},
	event.TypeMissed:    {reflect.TypeFor[api.MissedEvent](), "Which events are missing"},
}

// describeEvents describes the stream of events at a path. It gives the document's Event one alternative for each type
// of event, each with the schema of its data. A client that is generated from the document knows from `type` what
// `data` holds.
func describeEvents(spec *huma.OpenAPI, path string) {
	schemas := spec.Components.Schemas
	base := schemas.Map()["Event"]
	if base == nil {
		return
	}
	var alternatives []*huma.Schema
	for _, t := range append(slices.Clip(event.Types), event.TypeMissed) {
		one := *base
		one.Properties = map[string]*huma.Schema{}
		for name, property := range base.Properties {
			one.Properties[name] = property
		}
		one.Properties["type"] = &huma.Schema{Type: huma.TypeString, Enum: []any{string(t)},
			Description: "Tells what data holds"}
		data := *schemas.Schema(eventData[t].data, true, "")
		data.Description = eventData[t].says
		one.Properties["data"] = &data
		nullable(schemas.SchemaFromRef(data.Ref))
		alternatives = append(alternatives, &one)
	}
	schemas.Map()["Event"] = &huma.Schema{OneOf: alternatives,
		Description: "What happened. The type tells what data holds; missed: events are missing that can no longer " +
			"be had, read the state anew"}
	stream := spec.Paths[path].Get.Responses["200"].Content[api.EventStream]
	stream.Example = exampler{types: schemas}.of("", alternatives[0], 0)
}

// nullable lets the members of an event's data that are null in some events be null: huma cannot say it of references.
func nullable(data *huma.Schema) {
	for _, name := range []string{"state", "status", "version"} {
		if member := data.Properties[name]; member != nil && member.Ref != "" {
			data.Properties[name] = &huma.Schema{Description: member.Description,
				OneOf: []*huma.Schema{member, {Type: "null"}}}
		}
	}
}

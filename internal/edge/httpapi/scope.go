package httpapi

import (
	"context"

	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// A caller may have a scope: the devices with certain tags. Three things keep it, and no handler has to:
//   - the registry that handlers read has nothing that is outside (fleet.ScopedRegistry);
//   - a route whose path names a device outside answers as if it were not registered (mayReach);
//   - every route that such a caller's role reaches is in reaches; one that is not there is forbidden.
//
// A handler that lists what does not come from the registry leaves out what insideOf does not know. What a caller
// changes is judged by what the templates make of devices outside; see change.Changes.

// reach is what a caller with a scope may do on a route.
type reach int

const (
	byDevice   reach = iota + 1 // the path names a device: one outside is not there
	byView                      // the handler shows and changes only what is inside
	own                         // it is about the caller, and no device
	shared                      // it is for all alike: they read it and change nothing
	wholeFleet                  // it is about the whole fleet: forbidden
)

// reaches are the routes that viewers and operators may use, by name. Nobody else has a scope.
var reaches = map[string]reach{
	"getDevice": byDevice, "getDeviceTags": byDevice, "tagDevice": byDevice, "untagDevice": byDevice,
	"getDeviceStatus": byDevice, "getDeviceVersion": byDevice, "getDeviceConfig": byDevice, "getDeviceState": byDevice,
	"getDeviceTrust": byDevice, "getDevicePlan": byDevice, "applyDevicePlan": byDevice, "listRevisions": byDevice,
	"getRevision": byDevice, "compareRevisions": byDevice, "restoreRevision": byDevice, "getDeviceSettings": byDevice,
	"putDeviceSettings": byDevice, "getDeviceWhy": byDevice, "listManagedKeys": byDevice, "listDeviceTemplates": byDevice,
	"restartDevice": byDevice, "rescanDevice": byDevice, "pauseDevice": byDevice, "resumeDevice": byDevice,
	"upgradeDevice":     byDevice,
	"listDeviceFolders": byDevice, "getDeviceVars": byDevice, "getEffectiveVars": byDevice,

	"listDevices": byView, "listStates": byView, "listTags": byView, "listTagDevices": byView, "getTagSettings": byView,
	"getTagProtection": byView, "getTagVars": byView,
	"listConsents": byView, "answerConsents": byView, "listGivenConsents": byView,
	"planWhatIf": byView, "listRollouts": byView, "getRollout": byView, "getRolloutRest": byView,
	"pauseRollout": byView, "resumeRollout": byView,
	"haltRollout": byView, "putRolloutWaves": byView, "listStops": byView, "evaluateTemplate": byView,
	"listFolders": byView, "getFolder": byView, "followEvents": byView, "listEventLog": byView,
	"listAudit": byView, "listRecentChanges": byView, "listPending": byView, "listRevocations": byView,
	"getRevocation": byDevice, "listRevocationProofs": byDevice,
	"dismissPending": byView, "getOverview": byView, "getInventory": byView, "listDifferences": byView,
	"applyChanges": byView, "listWaiting": byView, "restartTag": byView,
	"rescanTag": byView, "pauseTag": byView, "resumeTag": byView, "upgradeTag": byView,
	"listOrders": byView, "createOrder": byView, "getOrder": byView,
	"listFolderOverviews": byView, "listTagOverviews": byView,

	"tagTemplate": byView, "untagTemplate": byView, "deleteTag": byView,

	"getDeviceLog": byDevice, "listDeviceDisks": byDevice, "listFileOnDevices": byView, "listFailedItems": byView,
	"listConflictFiles": byView, "getFolderCopies": byView, "getDeviceAtRisk": byDevice,
	"listFolderDevices": byView, "getFolderState": byView,
	"listFolderShares": byView, "getFolderMatrix": byView, "listOneSidedShares": byView,

	"listTemplates": shared, "getTemplate": shared, "getTemplateSaver": shared, "getTemplateTags": shared,
	"listTemplateVersions": shared, "getTemplateVersion": shared, "getTemplateForm": byView,
	"listForms": shared, "listConfigSettings": shared,
	"listTagTemplates": shared,
	"putTagSettings":   shared, "getConfigurator": shared, "putConfigurator": shared, "getFolderRoots": shared,
	"getAuthorKeys": shared,
	"getOpenAPI":    shared, "getVersion": shared,

	"logout": own, "whoami": own, "createTicket": own, "listSessions": own, "endSession": own, "changePassword": own,

	"listSettings": wholeFleet, "getSetting": wholeFleet, // roles by groups name tags
	"listChannels": wholeFleet, "listRoutes": wholeFleet, "listSilences": wholeFleet, // messages are about all devices
	"createSilence": wholeFleet, "endSilence": wholeFleet,
	"getMetrics": wholeFleet, "getHistory": wholeFleet, "getFolderHistory": wholeFleet,
	"verifyAudit": wholeFleet, "signAudit": wholeFleet, "listEnrollments": wholeFleet,
	"countEnrollments": wholeFleet, "getFleet": byView, "planFleet": wholeFleet, "applyFleet": wholeFleet,
}

// mayReach checks a caller's scope against a route.
func (s *server) mayReach(r *request, rt route) error {
	if r.who.Scope.Whole() {
		return nil
	}
	switch at := reaches[rt.name]; {
	case at == byDevice:
		_, err := s.registered(r)
		return err
	case at == byView, at == own, at == shared && reads(r.Request):
		return nil
	}
	return fleet.OutOfScope("that is for the whole fleet, and this token is for " + r.who.Scope.Devices() + " only")
}

// ofRegistry is the handler of a route that shows something of the registry.
func (s *base) ofRegistry(handle func(*request, *fleet.Registry) (reply, error)) func(*request) (reply, error) {
	return func(r *request) (reply, error) {
		registry, err := s.Registry.Registry(r.Context())
		if err != nil {
			return reply{}, err
		}
		return handle(r, registry)
	}
}

// wholeRegistry is for what is computed of the whole fleet before a part of it is shown.
func (s *base) wholeRegistry(ctx context.Context) (*fleet.Registry, error) {
	return s.Registry.Registry(fleet.WithScope(ctx, fleet.Scope{}))
}

// asCaller is a context for work that the caller asked for.
func asCaller(ctx context.Context, who auth.Principal) context.Context {
	ctx = fleet.WithPerson(fleet.WithActor(ctx, who.Name), who.Person)
	return fleet.WithScope(fleet.WithRole(ctx, who.Role), who.Scope)
}

// insideOf tells the devices that the caller may know of.
func (s *base) insideOf(ctx context.Context) (func(fleet.DeviceID) bool, error) {
	return view.InsideOf(ctx, s.Registry.Registry)
}

// tagsFor are the tags of a template, or of all that there is, as the caller sees them.
func (s *base) tagsFor(ctx context.Context, tags []fleet.Tag) ([]fleet.Tag, error) {
	whole, err := s.wholeRegistry(ctx)
	if err != nil {
		return nil, err
	}
	return whole.TagsWithin(fleet.ScopeIn(ctx), tags), nil
}

// conditionOnTags is the condition of a write to the tags of a template, or of all that there is.
func (s *base) conditionOnTags(r *request) (func(fleet.Found) error, error) {
	whole, err := s.wholeRegistry(r.Context())
	return condition(r, func(is fleet.Found) any { return wireTags(whole.TagsWithin(r.who.Scope, is.Tags)) }), err
}

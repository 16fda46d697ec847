package httpapi

import (
	"log/slog"
	"net/http"
	"reflect"
	"regexp"

	"muster/internal/edge/auth"
	"muster/internal/edge/openapi"
)

func (s *server) openAPIRoute() route {
	return route{method: http.MethodGet, path: Prefix + "/openapi.json", name: "getOpenAPI", summary: "This document",
		permission: auth.Read, reply: reflect.TypeFor[map[string]any](),
		handle: func(*request) (reply, error) { return reply{body: s.openAPI()}, nil }}
}

// OpenAPIDocument is the OpenAPI document of a server that has everything.
func OpenAPIDocument() []byte {
	return newServer(Options{Log: slog.New(slog.DiscardHandler)}).openAPI()
}

// document is the OpenAPI document of routes. To make it takes longer than to start the rest of the server.
func document(routes []route) []byte {
	return openapi.Document(Prefix, mapped(routes, route.operation))
}

// operation is what the OpenAPI document is told of a route.
func (rt route) operation() openapi.Operation {
	o := openapi.Operation{
		Method: rt.method, Path: rt.path, Name: rt.name, Summary: rt.summary, Permission: rt.permission,
		PathParams: pathParamsOf(rt.path), Body: rt.body, BodyOptional: rt.bodyOptional, Reply: rt.reply, Media: rt.media,
		Creates: rt.creates, OnlyCreates: rt.onlyCreates, Conditional: rt.conditional, Volatile: rt.volatile, Pins: rt.pins,
		Conflicts: rt.conflicts, Based: rt.based, LooksUp: rt.looksUp, Warns: rt.warns,
		RefusesParameters: rt.refusesParameters(),
		TakesMessage:      isWrite(rt.method) && rt.permission != auth.Public && rt.permission != auth.Enroll,
	}
	for _, param := range rt.query {
		described := param.document()
		o.Params = append(o.Params, described)
		o.Paged = o.Paged || described.Name == limitParam.name
	}
	return o
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func pathParamsOf(path string) (params []openapi.PathParam) {
	for _, found := range pathParam.FindAllStringSubmatch(path, -1) {
		name := found[1]
		params = append(params, openapi.PathParam{Name: name, Description: describedInPaths[name],
			IsNumber: numbered[name] != ""})
	}
	return params
}

// describedInPaths says what each parameter of paths is.
var describedInPaths = map[string]string{
	"deviceID": "Syncthing device ID, in any spelling", "tag": "A tag, percent-encoded, a slash too",
	"folderID": "Syncthing folder ID, percent-encoded, a slash too", "templateID": "ID of a template",
	"name": "Name of a token", "user": "Name of a user", "session": "ID of a session",
	"secret": "Name of a secret, percent-encoded, a slash too", "pendingID": "ID of something pending",
	"rolloutID": "ID of a rollout", "orderID": "Number of an order",
	"setting": "Name of a setting of the server", "generation": "Number of a generation",
	"channel": "Name of a channel", "route": "Name of a route", "silence": "ID of a silence", "sink": "Name of a sink",
	"enrollKey": "ID of an enrol key", "source": "Name of a source of files, percent-encoded",
	"number": "Number of a revision", "other": "Number of the revision to compare with",
}

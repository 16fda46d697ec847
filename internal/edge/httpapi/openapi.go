package httpapi

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"regexp"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/edge/auth"
)

func (s *server) openAPIRoute() route {
	return route{method: http.MethodGet, path: Prefix + "/openapi.json", name: "getOpenAPI", summary: "This document",
		permission: auth.Read, reply: reflect.TypeFor[map[string]any](),
		handle: func(*request) (reply, error) { return s.openAPI(), nil }}
}

// OpenAPIDocument is the OpenAPI document of a server that has everything.
func OpenAPIDocument() []byte {
	return newServer(Options{Log: slog.New(slog.DiscardHandler)}).openAPI().body
}

// messageParam is the name of the declaration of api.MessageHeader, to which all writes refer.
const messageParam = "message"

// newSpec is the document without its routes.
func newSpec() *huma.OpenAPI {
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Muster", Version: "1",
			Description: "Manages fleets of Syncthing daemons: devices, templates of configuration, tags, folders.",
			License:     &huma.License{Name: "Apache-2.0", URL: "https://www.apache.org/licenses/LICENSE-2.0"},
			Contact:     &huma.Contact{Name: "Muster"},
		},
		Servers: []*huma.Server{{URL: "/", Description: "The server that gave this document"}},
		Tags:    specTags(),
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
			Parameters: map[string]*huma.Param{messageParam: {Name: api.MessageHeader, In: "header",
				Schema: &huma.Schema{Type: huma.TypeString}, Description: "What the change is for: one line of UTF-8 text of at " +
					"most 200 characters, percent-encoded. It becomes the title of the change and of its rollout, and is in the " +
					"audit"}},
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"bearer": {Type: "http", Scheme: "bearer"},
				"apiKey": {Type: "apiKey", In: "header", Name: "X-API-Key"},
				"session": {Type: "apiKey", In: "cookie", Name: auth.HostPrefix + auth.SessionCookie,
					Description: "Set by logging in. Over plain HTTP on the server's own machine its name is " + auth.SessionCookie +
						". It counts only beside the header " + auth.SessionHeader + "."},
				"half": {Type: "apiKey", In: "header", Name: auth.SessionHeader,
					Description: "The other half of a browser's session, as the answer of the log-in gives it."},
			},
		},
	}
}

// document is the OpenAPI document of routes. To make it takes longer than to start the rest of the server.
func document(routes []route) reply {
	spec := newSpec()
	for _, rt := range routes {
		spec.AddOperation(operation(spec, rt))
	}
	describeEvents(spec)
	body, err := json.Marshal(spec)
	if err != nil {
		// a mistake in a route table: no request can cause it
		panic(fmt.Sprintf("the OpenAPI document cannot be encoded: %v", err))
	}
	return reply{body: append(body, '\n')}
}

// operation is what the document says of a route.
func operation(spec *huma.OpenAPI, rt route) *huma.Operation {
	op := &huma.Operation{
		OperationID: rt.name, Method: rt.method, Path: rt.path, Summary: rt.summary, Tags: tagOf(rt.path),
		Parameters: pathParams(rt.path),
		Responses:  map[string]*huma.Response{},
	}
	switch rt.permission {
	case auth.Public:
		op.Security = []map[string][]string{}
		op.Description = "Needs no token."
	case auth.Enroll:
		op.Security = []map[string][]string{{"bearer": {}}, {"apiKey": {}}}
		op.Description = "Needs an enrol key in the place of a token."
	default:
		op.Security = []map[string][]string{{"bearer": {}}, {"apiKey": {}}, {"session": {}, "half": {}}}
		op.Description = "Needs the role " + string(rt.permission.Needs()) + "."
	}
	schemas := spec.Components.Schemas
	if rt.body != nil {
		op.RequestBody = &huma.RequestBody{Required: !rt.bodyOptional,
			Content: jsonContent(schemas.Schema(rt.body, true, rt.name), exampler{schemas, true})}
	}
	headers := rt.headers(op)
	for _, status := range rt.statuses() {
		response := &huma.Response{Description: http.StatusText(status), Headers: headers[status]}
		if status != http.StatusNoContent && status != http.StatusNotModified {
			response.Content = jsonContent(schemas.Schema(rt.reply, true, rt.name), exampler{types: schemas})
			if rt.media != "" {
				response.Content = map[string]*huma.MediaType{rt.media: response.Content["application/json"]}
			}
		}
		op.Responses[strconv.Itoa(status)] = response
	}
	problem := map[string]*huma.MediaType{api.ProblemType: {Schema: schemas.Schema(reflect.TypeFor[api.Problem](), true,
		"")}}
	for _, status := range rt.failures() {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: problem}
	}
	return op
}

func jsonContent(schema *huma.Schema, examples exampler) map[string]*huma.MediaType {
	if schema.Type == huma.TypeArray {
		schema.Nullable = false // huma's default, because a nil slice could be sent; here none can
	}
	return map[string]*huma.MediaType{"application/json": {Schema: schema, Example: examples.of("", schema, 0)}}
}

// statuses are those of success.
func (rt route) statuses() []int {
	var all []int
	switch {
	case rt.reply == nil:
		return []int{http.StatusNoContent}
	case !rt.onlyCreates:
		all = append(all, http.StatusOK)
	}
	if rt.creates {
		all = append(all, http.StatusCreated)
	}
	if rt.method == http.MethodGet && !rt.volatile {
		all = append(all, http.StatusNotModified)
	}
	return all
}

// failures are the statuses that a problem can come with.
func (rt route) failures() []int {
	all := []int{http.StatusMisdirectedRequest, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if rt.permission != auth.Public || rt.method != http.MethodGet {
		all = append(all, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
	}
	params := len(pathParams(rt.path)) > 0
	if params || rt.looksUp {
		all = append(all, http.StatusNotFound)
	}
	if rt.body != nil {
		all = append(all, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if params || rt.body != nil || len(rt.query) > 0 || rt.refusesParameters() {
		all = append(all, http.StatusUnprocessableEntity)
	}
	if rt.conditional || rt.based {
		all = append(all, http.StatusPreconditionFailed)
	}
	if rt.conflicts {
		all = append(all, http.StatusConflict)
	}
	return all
}

// headers documents the headers of the replies by status, and adds those of the request to the operation.
func (rt route) headers(op *huma.Operation) map[int]map[string]*huma.Header {
	text := &huma.Schema{Type: huma.TypeString}
	headers := map[int]map[string]*huma.Header{http.StatusOK: {}, http.StatusCreated: {}, http.StatusNotModified: {}}
	if rt.reply != nil && !rt.volatile {
		for _, of := range headers {
			of["ETag"] = &huma.Header{Description: "Changes whenever the body does", Schema: text}
		}
	}
	headers[http.StatusCreated]["Location"] = &huma.Header{Description: "Path of what was created", Schema: text}
	if rt.warns {
		for _, status := range []int{http.StatusOK, http.StatusCreated} {
			headers[status][api.WarningHeader] = &huma.Header{Description: "What is most probably a mistake: a secret in " +
				"clear, a misspelled field, a template that overrules another, another label of a device whose templates use it",
				Schema: text}
		}
	}
	for _, param := range rt.query {
		op.Parameters = append(op.Parameters, param.document())
		if param.document().Name == limitParam.name {
			headers[http.StatusOK]["Link"] = &huma.Header{Description: `With rel="next" when there is more`, Schema: text}
		}
	}
	if rt.pins {
		op.Parameters = append(op.Parameters, &huma.Param{Name: api.PinHeader, In: "header", Schema: text,
			Description: "sha256:<hex> of the certificate that the daemon's API has to show, also on first contact. It " +
				"replaces the pin that is there; without it that stays"})
	}
	if isWrite(rt.method) && rt.permission != auth.Public && rt.permission != auth.Enroll {
		op.Parameters = append(op.Parameters, &huma.Param{Ref: "#/components/parameters/" + messageParam})
	}
	switch {
	case rt.conditional:
		op.Parameters = append(op.Parameters,
			&huma.Param{Name: "If-Match", In: "header", Description: "Write only if the ETag is still this, or *: if it exists",
				Schema: text},
			&huma.Param{Name: "If-None-Match", In: "header", Description: "*: write only if it does not exist", Schema: text})
	case rt.method == http.MethodGet && !rt.volatile:
		op.Parameters = append(op.Parameters,
			&huma.Param{Name: "If-None-Match", In: "header", Description: "Answer 304 if the ETag is still this", Schema: text})
	}
	return headers
}

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

func pathParams(path string) []*huma.Param {
	describe := map[string]string{
		"deviceID": "Syncthing device ID, in any spelling", "tag": "A tag, percent-encoded, a slash too",
		"folderID": "Syncthing folder ID, percent-encoded, a slash too", "templateID": "ID of a template",
		"name": "Name of a token", "user": "Name of a user", "session": "ID of a session",
		"secret": "Name of a secret, percent-encoded, a slash too", "pendingID": "ID of something pending",
		"rolloutID": "ID of a rollout", "orderID": "Number of an order", "generation": "Number of a generation",
		"enrollKey": "ID of an enrol key", "source": "Name of a source of files, percent-encoded",
		"number": "Number of a revision", "other": "Number of the revision to compare with",
	}
	var params []*huma.Param
	for _, found := range pathParam.FindAllStringSubmatch(path, -1) {
		schema := &huma.Schema{Type: huma.TypeString}
		if numbered[found[1]] != "" {
			schema = &huma.Schema{Type: huma.TypeInteger, Format: "int64"}
		}
		params = append(params, &huma.Param{Name: found[1], In: "path", Required: true, Description: describe[found[1]],
			Schema: schema})
	}
	return params
}

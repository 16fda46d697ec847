// Package openapi makes the OpenAPI document of the API from its operations: parameters, schemas, statuses, headers,
// examples.
package openapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/edge/auth"
)

// messageParam is the name of the declaration of api.MessageHeader, to which all writes refer.
const messageParam = "message"

// Document is the OpenAPI document of operations, as JSON. prefix is where the paths of the API begin. The types of
// events describe the stream at the path /events below it.
func Document(prefix string, operations []Operation) []byte {
	spec := newSpec()
	for _, o := range operations {
		spec.AddOperation(describe(spec, o, strings.TrimPrefix(o.Path, prefix)))
	}
	describeEvents(spec, prefix+"/events")
	refuseNullLists(spec.Components.Schemas)
	body, err := json.Marshal(spec)
	if err != nil {
		// a mistake in a route table: no request can cause it
		panic(fmt.Sprintf("the OpenAPI document cannot be encoded: %v", err))
	}
	return append(body, '\n')
}

// newSpec is the document without its operations.
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
		Tags:    tags(),
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

// describe is what the document says of an operation. path is its path below the prefix of the API.
func describe(spec *huma.OpenAPI, o Operation, path string) *huma.Operation {
	op := &huma.Operation{
		OperationID: o.Name, Method: o.Method, Path: o.Path, Summary: o.Summary, Tags: chapterOf(path),
		Responses: map[string]*huma.Response{},
	}
	for _, p := range o.PathParams {
		op.Parameters = append(op.Parameters, p.document())
	}
	switch o.Permission {
	case auth.Public:
		op.Security = []map[string][]string{}
		op.Description = "Needs no token."
	case auth.Enroll:
		op.Security = []map[string][]string{{"bearer": {}}, {"apiKey": {}}}
		op.Description = "Needs an enrol key in the place of a token."
	default:
		op.Security = []map[string][]string{{"bearer": {}}, {"apiKey": {}}, {"session": {}, "half": {}}}
		op.Description = "Needs the role " + string(o.Permission.Needs()) + "."
	}
	schemas := spec.Components.Schemas
	if o.Body != nil {
		op.RequestBody = &huma.RequestBody{Required: !o.BodyOptional,
			Content: jsonContent(schemas.Schema(o.Body, true, o.Name), exampler{schemas, true})}
	}
	op.Parameters = append(op.Parameters, o.params()...)
	headers := o.headers()
	for _, status := range o.statuses() {
		response := &huma.Response{Description: http.StatusText(status), Headers: headers[status]}
		if status != http.StatusNoContent && status != http.StatusNotModified {
			response.Content = jsonContent(schemas.Schema(o.Reply, true, o.Name), exampler{types: schemas})
			if o.Media != "" {
				response.Content = map[string]*huma.MediaType{o.Media: response.Content["application/json"]}
			}
		}
		op.Responses[strconv.Itoa(status)] = response
	}
	problem := map[string]*huma.MediaType{api.ProblemType: {Schema: schemas.Schema(reflect.TypeFor[api.Problem](), true,
		"")}}
	for _, status := range o.Failures() {
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

// refuseNullLists describes the lists that are values of maps as they are: never null. The default of huma is that they
// may be null, and no tag of a field reaches them.
func refuseNullLists(schemas huma.Registry) {
	for _, schema := range schemas.Map() {
		for _, field := range schema.Properties {
			if values, isMap := field.AdditionalProperties.(*huma.Schema); isMap && values.Type == huma.TypeArray {
				values.Nullable = false
			}
		}
	}
}

// headers are those of the replies, by status.
func (o Operation) headers() map[int]map[string]*huma.Header {
	text := &huma.Schema{Type: huma.TypeString}
	headers := map[int]map[string]*huma.Header{http.StatusOK: {}, http.StatusCreated: {}, http.StatusNotModified: {}}
	if o.Reply != nil && !o.Volatile {
		for _, of := range headers {
			of["ETag"] = &huma.Header{Description: "Changes whenever the body does", Schema: text}
		}
	}
	headers[http.StatusCreated]["Location"] = &huma.Header{Description: "Path of what was created", Schema: text}
	if o.Warns {
		for _, status := range []int{http.StatusOK, http.StatusCreated} {
			headers[status][api.WarningHeader] = &huma.Header{Description: "What is most probably a mistake: a secret in " +
				"clear, a misspelled field, a template that overrules another, another label of a device whose templates use it",
				Schema: text}
		}
	}
	if o.Paged {
		headers[http.StatusOK]["Link"] = &huma.Header{Description: `With rel="next" when there is more`, Schema: text}
	}
	return headers
}

// params are the parameters besides those of the path: the operation's own, and headers that several operations heed.
func (o Operation) params() []*huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	all := append([]*huma.Param{}, o.Params...)
	if o.Pins {
		all = append(all, &huma.Param{Name: api.PinHeader, In: "header", Schema: text,
			Description: "sha256:<hex> of the certificate that the daemon's API has to show, also on first contact. It " +
				"replaces the pin that is there; without it that stays"})
	}
	if o.TakesMessage {
		all = append(all, &huma.Param{Ref: "#/components/parameters/" + messageParam})
	}
	switch {
	case o.Conditional:
		all = append(all,
			&huma.Param{Name: "If-Match", In: "header", Description: "Write only if the ETag is still this, or *: if it exists",
				Schema: text},
			&huma.Param{Name: "If-None-Match", In: "header", Description: "*: write only if it does not exist", Schema: text})
	case o.Method == http.MethodGet && !o.Volatile:
		all = append(all,
			&huma.Param{Name: "If-None-Match", In: "header", Description: "Answer 304 if the ETag is still this", Schema: text})
	}
	return all
}

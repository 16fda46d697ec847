package openapi

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"muster/internal/edge/auth"
)

// Operation is one method on one path of the API, as far as the document describes it.
type Operation struct {
	Method, Path string
	Name         string // operationId
	Summary      string
	Permission   auth.Permission
	PathParams   []PathParam
	Params       []*huma.Param // parameters of the query and of headers
	Body         reflect.Type  // The type of the JSON body; nil: it has no body.
	BodyOptional bool          // A request without a body is fine.
	Reply        reflect.Type  // The type of the JSON reply; nil: 204.
	Media        string        // The type of the reply; "": JSON.

	Creates           bool // may answer 201 with Location
	OnlyCreates       bool // never answers 200
	Conditional       bool // a write that heeds If-Match and If-None-Match
	Volatile          bool // the reply is made for this request: no ETag
	Paged             bool // may answer with a Link to the next page
	Pins              bool // heeds api.PinHeader
	TakesMessage      bool // heeds api.MessageHeader
	Conflicts         bool // may answer 409
	Based             bool // may answer 412 for the generation in its body
	LooksUp           bool // may answer 404 although its path names nothing
	Warns             bool // may carry api.WarningHeader
	RefusesParameters bool // answers 422 for a parameter that it does not have
}

// PathParam is a parameter of a path.
type PathParam struct {
	Name, Description string
	IsNumber          bool
}

func (p PathParam) document() *huma.Param {
	schema := &huma.Schema{Type: huma.TypeString}
	if p.IsNumber {
		schema = &huma.Schema{Type: huma.TypeInteger, Format: "int64"}
	}
	return &huma.Param{Name: p.Name, In: "path", Required: true, Description: p.Description, Schema: schema}
}

// statuses are those of success.
func (o Operation) statuses() []int {
	var all []int
	switch {
	case o.Reply == nil:
		return []int{http.StatusNoContent}
	case !o.OnlyCreates:
		all = append(all, http.StatusOK)
	}
	if o.Creates {
		all = append(all, http.StatusCreated)
	}
	if o.Method == http.MethodGet && !o.Volatile {
		all = append(all, http.StatusNotModified)
	}
	return all
}

// Failures are the statuses that a problem can come with.
func (o Operation) Failures() []int {
	all := []int{http.StatusMisdirectedRequest, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if o.Permission != auth.Public || o.Method != http.MethodGet {
		all = append(all, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
	}
	if len(o.PathParams) > 0 || o.LooksUp {
		all = append(all, http.StatusNotFound)
	}
	if o.Body != nil {
		all = append(all, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if len(o.PathParams) > 0 || o.Body != nil || len(o.Params) > 0 || o.RefusesParameters {
		all = append(all, http.StatusUnprocessableEntity)
	}
	if o.Conditional || o.Based {
		all = append(all, http.StatusPreconditionFailed)
	}
	if o.Conflicts {
		all = append(all, http.StatusConflict)
	}
	return all
}

package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// route is one method on one path: who may call it, what it takes and gives, and the handler that does it. The mux,
// the permission check and the OpenAPI document are all made from it. huma makes the schemas of the document only: the
// statuses of its decoding are not the contract's (a wrong type is 400 here, 422 there), and lists are sent as they
// were encoded once.
type route struct {
	method, path string
	name         string // operationId
	summary      string
	permission   auth.Permission
	query        []parameter
	body         reflect.Type // The type of the JSON body; nil: it has no body.
	bodyOptional bool         // A request without a body is fine.
	reply        reflect.Type // The type of the JSON reply; nil: 204.
	media        string       // The type of the reply; "": JSON.
	creates      bool         // may answer 201 with Location
	onlyCreates  bool         // never answers 200
	conditional  bool         // a write that heeds If-Match and If-None-Match
	volatile     bool         // the reply is made for this request: no ETag
	pins         bool         // heeds api.PinHeader
	conflicts    bool         // may answer 409
	based        bool         // may answer 412 for the generation in its body
	looksUp      bool         // may answer 404 although its path names nothing
	warns        bool         // may carry api.WarningHeader
	maxBody      int64        // of the body, in bytes; 0: maxBody
	off          bool         // this server was made without what the route stands on
	handle       func(*request) (reply, error)
}

// request is a request on its way through a handler.
type request struct {
	*http.Request
	who        auth.Principal
	keysMasked bool       // also for those who may see API keys
	values     url.Values // of the query; nil: it was not taken apart yet
}

func (s *server) register(rt route) {
	s.methods[rt.path] = append(s.methods[rt.path], rt.method)
	s.mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s.answer(w, r, rt)
		if rec, ok := w.(*recorder); ok && s.options.Measured != nil && rt.media != api.EventStream {
			s.options.Measured(rt.name, rec.status, time.Since(began))
		}
	})
}

// answer runs a handler and writes what came of it.
func (s *server) answer(w http.ResponseWriter, r *http.Request, rt route) {
	who, err := s.permit(r, rt.permission)
	if err != nil {
		s.traceRefusal(r, who, rt.name, err)
		s.fail(w, r, err)
		return
	}
	s.renew(w, r, who)
	req := &request{Request: r.WithContext(asCaller(r.Context(), who)), who: who}
	message, err := messageIn(r, who)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	req.Request = req.WithContext(fleet.WithMessage(req.Context(), message)) //nolint:contextcheck // it has the caller's

	err = s.mayReach(req, rt) //nolint:contextcheck // it has the context of its caller
	if err != nil {
		s.traceRefusal(r, who, rt.name, err)
		s.fail(w, r, err)
		return
	}
	if rt.off {
		s.fail(w, r, &fleet.Error{
			Code: fleet.CodeUnavailable, Message: "this server does not have that",
			Hint: "Ask those who run it; another start of it may have it.",
		})
		return
	}
	if err := req.knownQuery(rt); err != nil {
		s.fail(w, r, err)
		return
	}
	if rt.body != nil {
		if err := limitBody(w, req.Request, cmp.Or(rt.maxBody, maxBody)); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	out, err := s.handle(req, rt) //nolint:contextcheck // the request has it
	if out.release != nil {
		defer out.release()
		endsSoon(w)
	}
	if err != nil {
		s.traceRefusal(r, who, rt.name, err)
		s.fail(w, r, err)
		return
	}
	if out.stream != nil {
		out.stream(w)
		return
	}
	if out.secret = rt.volatile || out.reveals != "" || out.uncached; out.secret {
		w.Header().Set("Cache-Control", "no-store")
	}
	out.write(w, r)
}

// handle runs a handler. Where the reply shows API keys that is in the audit first; while it cannot be, they are
// masked.
func (s *server) handle(r *request, rt route) (reply, error) {
	out, err := rt.handle(r)
	if err != nil || out.stream != nil {
		return out, err
	}
	if rt.volatile {
		out.etag = ""
	} else if out.etag == "" && len(out.body) > 0 {
		out.etag = etagOf(out.body)
	}
	if out.reveals == "" || out.unchanged(r.Request) || s.traceReading(r, out.reveals) {
		return out, nil
	}
	if out.release != nil {
		out.release()
	}
	masked := *r
	masked.keysMasked = true
	return s.handle(&masked, rt)
}

// permit authenticates, unless the route is public, and checks the permission. The principal of an error says who was
// refused, as far as that is known.
func (s *base) permit(r *http.Request, permission auth.Permission) (auth.Principal, error) {
	if permission == auth.Public {
		return auth.Principal{}, nil
	}
	who, err := s.Auth.Authenticate(r)
	if err != nil {
		return who, err
	}
	if !who.May(permission) {
		return who, who.Lacks(permission, "may not do that")
	}
	return who, nil
}

// unknown answers requests that match no route: with 405 when a route has the path with a different method, else with
// 404.
func (s *server) unknown(w http.ResponseWriter, r *http.Request) {
	if who, err := s.Auth.Authenticate(r); err != nil {
		s.traceRefusal(r, who, "", err)
		s.fail(w, r, err)
		return
	}
	allowed := s.allowed(r)
	if len(allowed) == 0 {
		s.fail(w, r, unknownPath())
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.fail(w, r, &statusError{status: http.StatusMethodNotAllowed, says: fleet.Error{
		Message: r.Method + " is not possible here",
		Hint:    "Use one of: " + strings.Join(allowed, ", ") + ".",
	}})
}

// allowed are the methods that some route takes on the request's path, HEAD with GET.
func (s *server) allowed(r *http.Request) []string {
	methods := s.methods[r.URL.EscapedPath()]
	if methods == nil {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
			if _, pattern := s.mux.Handler(probe); pattern != "/" {
				methods = append(methods, method)
			}
		}
	}
	var allowed []string
	for _, method := range methods {
		allowed = append(allowed, method)
		if method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	return allowed
}

func unknownPath() error {
	return &fleet.Error{
		Code: fleet.CodeNotFound, Message: "there is nothing at this path",
		Hint: "All paths are in " + Prefix + "/openapi.json. Percent-encode a slash inside a tag or folder ID as %2F.",
		See:  notOfAPI,
	}
}

package httpapi

import (
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

func (s *server) healthRoutes() []route {
	health := reflect.TypeFor[api.Health]()
	return []route{
		{method: http.MethodGet, path: "/healthz", name: "healthz", summary: "The process answers", permission: auth.Public, reply: health, volatile: true,
			handle: func(*request) (reply, error) { return show(api.Health{Status: "ok"}) }},
		{method: http.MethodGet, path: "/readyz", name: "readyz", summary: "The service can do its work", permission: auth.Public, reply: health, volatile: true,
			handle: s.readyz},
	}
}

func (s *server) readyz(r *request) (reply, error) {
	if s.Ready != nil {
		if err := s.Ready(r.Context()); err != nil {
			return reply{}, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the service is not ready yet", Hint: "Wait a moment. If it stays, the server's log says why.", Err: err}
		}
	}
	return show(api.Health{Status: "ok"})
}

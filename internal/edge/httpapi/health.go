package httpapi

import (
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Health says which parts of the service do not work as they should. It answers at once.
type Health interface {
	Impairments() []fleet.Impairment
}

// HealthHandlers say whether the service can do its work.
type HealthHandlers struct {
	Health Health // nil: all parts work
}

func (s HealthHandlers) routes(*base) []route {
	health := reflect.TypeFor[api.Health]()
	return []route{
		{method: http.MethodGet, path: "/healthz", name: "healthz", summary: "The process answers", permission: auth.Public,
			reply: health, volatile: true,
			handle: func(*request) (reply, error) { return show(api.Health{Status: "ok"}) }},
		{method: http.MethodGet, path: "/readyz", name: "readyz", summary: "The service can do its work",
			permission: auth.Public, reply: health, volatile: true,
			handle: s.readyz},
	}
}

func (s HealthHandlers) readyz(*request) (reply, error) {
	var broken []fleet.Detail
	var impaired []string
	for _, i := range s.impairments() {
		if i.Blocking {
			broken = append(broken, fleet.Detail{Field: string(i.Part), Message: i.Reason + ". " + i.Next})
		} else {
			impaired = append(impaired, string(i.Part))
		}
	}
	if len(broken) > 0 {
		return reply{}, &fleet.Error{
			Code:    fleet.CodeUnavailable,
			Message: "the service cannot do its work: " + broken[0].Field + ": " + broken[0].Message,
			Hint:    "`muster status` and the server's log say what does not work.", Details: broken,
		}
	}
	return show(api.Health{Status: "ok", Impaired: impaired})
}

func (s HealthHandlers) impairments() []fleet.Impairment {
	if s.Health == nil {
		return nil
	}
	return s.Health.Impairments()
}

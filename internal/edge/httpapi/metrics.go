package httpapi

import (
	"net/http"
	"reflect"

	"muster/internal/edge/auth"
)

// MetricHandlers show numbers for Prometheus.
type MetricHandlers struct {
	Metrics http.Handler
}

func (s MetricHandlers) routes(*base) []route {
	return []route{
		{method: http.MethodGet, path: "/metrics", name: "getMetrics", summary: "Numbers for Prometheus",
			permission: auth.ReadMetrics,
			reply:      reflect.TypeFor[string](), media: "text/plain", volatile: true, off: s.Metrics == nil,
			handle: s.getMetrics},
	}
}

func (s MetricHandlers) getMetrics(r *request) (reply, error) {
	return reply{stream: func(w http.ResponseWriter) { s.Metrics.ServeHTTP(w, r.Request) }}, nil
}

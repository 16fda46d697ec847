package httpapi

import (
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

type versionHandlers struct {
	Build fleet.Build
}

func (s versionHandlers) versionRoutes() []route {
	return []route{{
		method: http.MethodGet, path: Prefix + "/version", name: "getVersion", summary: "Which Muster the server runs",
		permission: auth.Read, reply: reflect.TypeFor[api.Version](), handle: s.serverVersion,
	}}
}

func (s versionHandlers) serverVersion(*request) (reply, error) {
	return show(api.Version{Version: s.Build.Version, Commit: s.Build.Commit})
}

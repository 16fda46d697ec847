package httpapi

import (
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// VersionHandlers say which program runs.
type VersionHandlers struct {
	Build fleet.Build
}

func (s VersionHandlers) routes(*base) []route {
	return []route{{
		method: http.MethodGet, path: Prefix + "/version", name: "getVersion", summary: "Which Muster the server runs",
		permission: auth.Read, reply: reflect.TypeFor[api.Version](), handle: s.serverVersion,
	}}
}

func (s VersionHandlers) serverVersion(*request) (reply, error) {
	return show(api.Version{Version: s.Build.Version, Commit: s.Build.Commit})
}

package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Sealing rotates the seal key.
type Sealing interface {
	Seal() fleet.SealKeys
	// RotateSeal begins a rotation, or leaves one that is under way to itself.
	RotateSeal(ctx context.Context) error
}

// SealHandlers show and change the keys that seal the database.
type SealHandlers struct {
	*base
	Sealing Sealing
}

func (s SealHandlers) routes(b *base) []route {
	s.base = b
	reply := reflect.TypeFor[api.Seal]()
	return []route{
		{method: http.MethodGet, path: Prefix + "/seal", name: "getSeal",
			summary:    "How the keys stand that seal the database",
			permission: auth.ManageSeal, reply: reply, volatile: true, off: s.Sealing == nil, handle: s.getSeal},
		{method: http.MethodPost, path: Prefix + "/seal/rotate", name: "rotateSeal",
			summary:    "Seal the database with a new key; what was sealed before is sealed anew while the server serves",
			permission: auth.ManageSeal, reply: reply, volatile: true, conflicts: true, off: s.Sealing == nil,
			handle: s.rotateSeal},
	}
}

func (s SealHandlers) getSeal(*request) (reply, error) {
	now := s.Sealing.Seal()
	return show(api.Seal{Key: now.Key, Older: append([]string{}, now.Older...), Trouble: now.Trouble})
}

func (s SealHandlers) rotateSeal(r *request) (reply, error) {
	if err := s.Sealing.RotateSeal(r.Context()); err != nil {
		return reply{}, err
	}
	return s.getSeal(r)
}

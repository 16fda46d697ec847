package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/revocation"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// Certificates is revocation.Prover.
type Certificates interface {
	Certificate(ctx context.Context, registry *fleet.Registry, revoked fleet.Revocation,
		inside func(fleet.DeviceID) bool) (revocation.Certificate, error)
}

var proofState = queryParam("state", "Only devices in this state: there, unproven or gone",
	enumSchema([]string{string(revocation.There), string(revocation.Unproven), string(revocation.Gone)}), parseProofState)

func parseProofState(text string) (revocation.State, error) {
	switch state := revocation.State(text); state {
	case revocation.There, revocation.Unproven, revocation.Gone:
		return state, nil
	}
	return "", fleet.Invalidf("state", "a state is there, unproven or gone")
}

func (s RevocationHandlers) certificateRoutes() []route {
	const one = Prefix + "/revocations/{deviceID}"
	off := s.Certificates == nil
	return []route{
		{method: http.MethodGet, path: one, name: "getRevocation",
			summary: "The certificate of a revocation: on how many managed devices the device is proven to be gone, " +
				"what cannot be known, and the passwords and keys that it knew",
			permission: auth.Read, reply: reflect.TypeFor[api.RevocationCertificate](), volatile: true, off: off,
			handle: s.getRevocation},
		{method: http.MethodGet, path: one + "/devices", name: "listRevocationProofs",
			summary:    "What is proven about a revoked device on each managed device, by label",
			permission: auth.Read, query: []parameter{searchParam, proofState, limitParam, afterParam},
			reply: reflect.TypeFor[[]api.RevocationProof](), volatile: true, off: off, handle: s.listRevocationProofs},
	}
}

func (s RevocationHandlers) certificate(r *request) (c revocation.Certificate, registry *fleet.Registry, err error) {
	id, err := r.deviceID()
	if err != nil {
		return c, nil, err
	}
	if registry, err = s.wholeRegistry(r.Context()); err != nil {
		return c, nil, err
	}
	inside, err := s.insideOf(r.Context())
	if err != nil {
		return c, nil, err
	}
	revoked, is := registry.Revocations[id]
	if !is || !inside(id) {
		return c, nil, fleet.NotRevoked(id)
	}
	c, err = s.Certificates.Certificate(r.Context(), registry, revoked, inside)
	return c, registry, err
}

func (s RevocationHandlers) getRevocation(r *request) (reply, error) {
	c, registry, err := s.certificate(r)
	if err != nil {
		return reply{}, err
	}
	of := c.Revocation
	return show(api.RevocationCertificate{DeviceID: string(of.Device), Label: of.Label, Reason: of.Reason,
		RevokedBy: of.By, RevokedAt: api.Time{Time: of.At}, At: api.Time{Time: c.At}, Devices: c.Total(), Gone: c.Gone,
		There: c.There(), Percent: c.Percent(), Complete: c.Complete(), Since: moment(c.Since),
		Unmanaged: mapped(c.Unmanaged, func(u revocation.Unmanaged) api.UnmanagedPeer {
			return api.UnmanagedPeer{DeviceID: string(u.Device), KnownBy: u.KnownBy}
		}), MoreUnmanaged: c.More, Revoked: namedDevices(c.Revoked, registry), Knew: wireKnew(c.Knew, registry),
		Says: c.Says(fleet.ScopeIn(r.Context()).Whole())})
}

func wireKnew(k revocation.Knew, registry *fleet.Registry) api.RevokedKnew {
	return api.RevokedKnew{ReadAt: moment(k.ReadAt), SameKey: namedDevices(k.SameKey, registry),
		Secrets: append([]string{}, k.Secrets...),
		Passwords: mapped(k.Passwords, func(p revocation.Password) api.RevokedPassword {
			return api.RevokedPassword{Folder: p.Folder, Label: p.Label, With: string(p.With)}
		})}
}

func (s RevocationHandlers) listRevocationProofs(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	var state revocation.State
	if err := proofState.read(r, &state); err != nil {
		return reply{}, err
	}
	c, registry, err := s.certificate(r)
	if err != nil {
		return reply{}, err
	}
	return showList(r, q, c.ByLabel(registry), listing[revocation.Row, api.RevocationProof]{
		matches: func(row revocation.Row) bool {
			return (state == "" || row.State == state) && q.holds(registry.Label(row.Device), string(row.Device))
		},
		cursor: func(row revocation.Row) string { return view.DeviceCursor(registry.Devices[row.Device]) },
		beyond: func(cursor string, row revocation.Row) (bool, error) {
			return view.BeyondDevice(cursor, registry.Devices[row.Device])
		},
		wire: func(row revocation.Row) api.RevocationProof { return wireProof(row, registry) },
	})
}

func wireProof(row revocation.Row, registry *fleet.Registry) api.RevocationProof {
	p := row.Proof
	return api.RevocationProof{DeviceID: string(row.Device), Label: registry.Label(row.Device), State: string(row.State),
		Reason: row.Reason, ConfigAt: moment(p.ConfigAt), ConfigDigest: p.Digest, ConnectionsAt: moment(p.ConnectionsAt),
		Returns: p.Returns, ReturnedAt: moment(p.ReturnedAt)}
}

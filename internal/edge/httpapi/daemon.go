package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Mirror returns what daemons last reported, also while they are offline. Before the first contact its error is
// not_found.
type Mirror interface {
	Status(ctx context.Context, id fleet.DeviceID) (fleet.Status, error)
	Version(ctx context.Context, id fleet.DeviceID) (fleet.Version, error)
	// MaskedConfig returns the last known configuration, with every secret masked.
	MaskedConfig(ctx context.Context, id fleet.DeviceID) (Document, error)
}

// MirrorHandlers show what daemons said last.
type MirrorHandlers struct {
	*base
	Mirror Mirror
}

func (s MirrorHandlers) routes(b *base) []route {
	s.base = b
	const one = Prefix + "/devices/{deviceID}"
	return []route{
		{
			method: http.MethodGet, path: one + "/status", name: "getDeviceStatus", permission: auth.Read,
			summary: "What the daemon last said about itself",
			reply:   reflect.TypeFor[api.DeviceStatus](), handle: s.ofDevice(s.getStatus),
		},
		{
			method: http.MethodGet, path: one + "/version", name: "getDeviceVersion", permission: auth.Read,
			summary: "The software that the daemon runs",
			reply:   reflect.TypeFor[api.DeviceVersion](), handle: s.ofDevice(s.getVersion),
		},
		{
			method: http.MethodGet, path: one + "/config", name: "getDeviceConfig", permission: auth.Read,
			summary: "The configuration last seen, secrets masked",
			reply:   reflect.TypeFor[map[string]any](), handle: s.ofDevice(s.getConfig),
		},
	}
}

func (s MirrorHandlers) getStatus(r *request, device *fleet.Registered) (reply, error) {
	status, err := s.Mirror.Status(r.Context(), device.ID)
	if err != nil {
		return reply{}, notSeen(err)
	}
	return show(wireStatus(status))
}

func wireStatus(status fleet.Status) api.DeviceStatus {
	return api.DeviceStatus{
		MyID: string(status.MyID), Alloc: status.Alloc, CPUPercent: status.CPUPercent,
		DiscoveryEnabled: status.DiscoveryEnabled, DiscoveryMethods: status.DiscoveryMethods, GoRoutines: status.GoRoutines,
		PathSeparator: status.PathSeparator, Sys: status.Sys, Tilde: status.Tilde, Uptime: status.Uptime,
		CreatedAt: api.Time{Time: status.CreatedAt}, UpdatedAt: api.Time{Time: status.UpdatedAt},
	}
}

func (s MirrorHandlers) getVersion(r *request, device *fleet.Registered) (reply, error) {
	version, err := s.Mirror.Version(r.Context(), device.ID)
	if err != nil {
		return reply{}, notSeen(err)
	}
	return show(wireVersion(version))
}

func wireVersion(version fleet.Version) api.DeviceVersion {
	return api.DeviceVersion{
		Device: string(version.Device), Arch: version.Arch, Codename: version.Codename, LongVersion: version.LongVersion,
		OS: version.OS, Version: version.Version,
		CreatedAt: api.Time{Time: version.CreatedAt}, UpdatedAt: api.Time{Time: version.UpdatedAt},
	}
}

func (s MirrorHandlers) getConfig(r *request, device *fleet.Registered) (reply, error) {
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		config, err := s.Mirror.MaskedConfig(ctx, device.ID)
		if err != nil {
			return reply{}, notSeen(err)
		}
		return showStream(config)
	})
}

// notSeen explains why a registered device has no data in the mirror.
func notSeen(err error) error {
	if fleet.CodeOf(err) != fleet.CodeNotFound {
		return err
	}
	return &fleet.Error{
		Code: fleet.CodeNotFound, Message: "the device is registered, but its daemon has not been reached yet",
		Hint: "GET devices/{deviceID}/state says what is in the way, and what to do.", Err: err,
		See: fleet.Reference{Subject: fleet.SeeDeviceState},
	}
}

package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Trust knows the certificates of daemons and pins them.
type Trust interface {
	// Certificates are the one behind which the device answered last, and the one that was shown last.
	Certificates(id fleet.DeviceID) (proven fleet.Certificate, shown fleet.Shown)
	// TrustDevice pins a certificate in place of whatever was pinned.
	TrustDevice(ctx context.Context, id fleet.DeviceID, pin string) (fleet.DeviceSettings, error)
}

// TrustHandlers show and pin certificates of daemons.
type TrustHandlers struct {
	*base
	Trust Trust
}

func (s TrustHandlers) routes(b *base) []route {
	s.base = b
	const path = Prefix + "/devices/{deviceID}/trust"
	trust := reflect.TypeFor[api.DeviceTrust]()
	return []route{
		{method: http.MethodGet, path: path, name: "getDeviceTrust",
			summary:    "The certificate that proves a device, and the one that was shown last",
			permission: auth.Read, reply: trust, off: s.Trust == nil, handle: s.ofDevice(s.getTrust)},
		{method: http.MethodPost, path: path, name: "trustDevice", summary: "Pin the certificate that a device showed last",
			permission: auth.WriteSettings, body: reflect.TypeFor[api.TrustDevice](), reply: trust, conflicts: true,
			off: s.Trust == nil, handle: s.ofDevice(s.trustDevice)},
	}
}

func (s TrustHandlers) getTrust(r *request, device *fleet.Registered) (reply, error) {
	return show(s.wireTrust(device))
}

// trustDevice pins only what the person looked at: what is presented may be another one by now.
func (s TrustHandlers) trustDevice(r *request, device *fleet.Registered) (reply, error) {
	body, err := decode[api.TrustDevice](r, "fingerprint")
	if err != nil {
		return reply{}, err
	}
	fingerprint, err := fleet.ParsePin(*body.Fingerprint)
	if err != nil {
		return reply{}, at("fingerprint", err)
	}
	_, shown := s.Trust.Certificates(device.ID)
	switch {
	case shown.Fingerprint == fingerprint, device.Altered: // The device was not contacted, so it has shown no certificate.
	case shown.Fingerprint == "":
		return reply{}, &fleet.Error{Code: fleet.CodeConflict, Message: "no certificate of this device was seen yet",
			Hint: "Its state says why. To pin one before the first contact, PUT it as pin to " + devicePath(device.ID) +
				"/settings.", See: fleet.Reference{Subject: fleet.SeeDeviceSettings, ID: string(device.ID)}}
	default:
		return reply{}, &fleet.Error{Code: fleet.CodeConflict,
			Message: "another certificate was shown last: " + shown.Fingerprint + " at " + shown.Address,
			Hint:    "GET " + devicePath(device.ID) + "/trust, compare it with the daemon's own, and trust that one.",
			See:     fleet.Reference{Subject: fleet.SeeDeviceTrust, ID: string(device.ID)}}
	}
	settings, err := s.Trust.TrustDevice(r.Context(), device.ID, fingerprint)
	if err != nil {
		return reply{}, err
	}
	return show(s.wireTrust(&fleet.Registered{Device: device.Device, Settings: settings}))
}

func (s TrustHandlers) wireTrust(device *fleet.Registered) api.DeviceTrust {
	settings := device.Settings
	proven, shown := s.Trust.Certificates(device.ID)
	pinned := fleet.Certificate{Fingerprint: settings.Pin}
	for _, seen := range []fleet.Certificate{proven, shown.Certificate} {
		if seen.Fingerprint == settings.Pin {
			pinned = seen
		}
	}
	return api.DeviceTrust{
		Pinned: wireCertificate(pinned), Origin: string(settings.PinOrigin),
		Presented: api.PresentedCertificate{
			Certificate: wireCertificate(shown.Certificate), Address: shown.Address, FoundBy: shown.FoundBy,
			At: moment(shown.At),
		},
		Altered: device.Altered,
	}
}

func wireCertificate(c fleet.Certificate) api.Certificate {
	return api.Certificate{Fingerprint: c.Fingerprint, NotBefore: moment(c.NotBefore), NotAfter: moment(c.NotAfter)}
}

// pinOf is the pin that comes with a registration, "" without one.
func pinOf(r *request) (string, error) {
	values := r.Header.Values(api.PinHeader)
	if len(values) == 0 {
		return "", nil
	}
	pin, err := fleet.ParsePin(values[0])
	if err != nil || len(values) > 1 {
		return "", fleet.Invalidf(api.PinHeader,
			"a pin is sha256: and the 64 hexadecimal digits of the certificate's SHA-256")
	}
	return pin, nil
}

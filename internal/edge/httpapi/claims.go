package httpapi

import (
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/netip"
	"reflect"
	"strings"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/enrollment"
	"muster/internal/fleet"
)

// ClaimHandlers serve `muster enroll`.
type ClaimHandlers struct {
	*base
	Claims Claims
}

// routes returns the routes for `muster enroll`, which runs on the machine of a daemon without an agent.
func (s ClaimHandlers) routes(b *base) []route {
	s.base = b
	const path = Prefix + "/enroll"
	claim, device := reflect.TypeFor[api.DeviceClaim](), reflect.TypeFor[api.Device]()
	routes := []route{
		{method: http.MethodPost, path: path + "/challenge", name: "enrollChallenge",
			summary: "What a device signs with its claim, within two minutes", permission: auth.Public,
			reply: reflect.TypeFor[api.Challenge](), volatile: true, handle: s.enrollChallenge},
		{method: http.MethodPost, path: path, name: "enroll",
			summary:    "Register the device that signed the claim, by an enrol key, with the tags of the key",
			permission: auth.Enroll, body: claim, reply: device, creates: true, onlyCreates: true, conflicts: true,
			handle: s.enroll},
		{method: http.MethodPost, path: path + "/renew", name: "renewEnrollment",
			summary: "Replace API key, port and pin of the registered device that signed the claim", permission: auth.Public,
			body: claim, reply: device, looksUp: true, volatile: true, conflicts: true, handle: s.renewEnrollment},
	}
	for i := range routes {
		routes[i].off = s.Claims == nil
	}
	return routes
}

func (s ClaimHandlers) enrollChallenge(*request) (reply, error) {
	text, until := s.Claims.Challenge()
	return show(api.Challenge{Challenge: text, ExpiresAt: api.Time{Time: until}})
}

func (s ClaimHandlers) enroll(r *request) (reply, error) {
	claim, proof, err := claimOf(r)
	if err != nil {
		return reply{}, err
	}
	stored, err := s.Claims.Enroll(r.Context(), r.who.EnrollKey, claim, proof, sourceOf(r.Request))
	if err != nil {
		return reply{}, err
	}
	return showCreated(r.wireDevice(stored), true, devicePath(stored.ID))
}

func (s ClaimHandlers) renewEnrollment(r *request) (reply, error) {
	claim, proof, err := claimOf(r)
	if err != nil {
		return reply{}, err
	}
	stored, err := s.Claims.Renew(fleet.WithActor(r.Context(), "daemon"), claim, proof, sourceOf(r.Request))
	if err != nil {
		return reply{}, err
	}
	return show(r.wireDevice(stored))
}

// sourceOf returns where a request came from. A request that a proxy forwarded never counts as coming from this
// machine.
func sourceOf(r *http.Request) enrollment.Source {
	ip, err := netip.ParseAddr(remoteHost(r))
	if err != nil {
		return enrollment.Source{}
	}
	return enrollment.Source{IP: ip.Unmap(), Local: ip.Unmap().IsLoopback() && !auth.Forwarded(r)}
}

// claimOf reads a device's claim and its proof.
func claimOf(r *request) (claim fleet.DeviceClaim, proof fleet.DeviceProof, err error) {
	body, err := decode[api.DeviceClaim](r, "challenge", "certificate", "signature", "apiKey")
	if err != nil {
		return claim, proof, err
	}
	port, err := portFrom(body.APIPort)
	if err != nil {
		return claim, proof, err
	}
	claim = fleet.DeviceClaim{Challenge: *body.Challenge, Label: or(body.Label, ""), APIPort: port,
		APIKey: fleet.NewSecret(*body.APIKey), Address: body.APIAddress, Pin: or(body.Pin, "")}
	if claim.Pin != "" {
		pin, err := fleet.ParsePin(claim.Pin)
		if err != nil {
			return claim, proof, err
		}
		if pin != claim.Pin {
			return claim, proof, fleet.Invalidf("pin", "the pin is written %s", pin)
		}
	}
	block, rest := pem.Decode([]byte(*body.Certificate))
	if block == nil || block.Type != "CERTIFICATE" || strings.TrimSpace(string(rest)) != "" {
		return claim, proof, fleet.Invalidf("certificate", "certificate is one certificate in PEM: the file cert.pem")
	}
	proof.Certificate = block.Bytes
	if proof.Signature, err = base64.StdEncoding.DecodeString(*body.Signature); err != nil {
		return claim, proof, fleet.Invalidf("signature", "signature is in base64")
	}
	return claim, proof, nil
}

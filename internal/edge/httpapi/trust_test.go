package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster/internal/adapter/store"
	"muster/internal/fleet"
)

// trusting is the store with certificates that a test makes up.
type trusting struct {
	*store.Store
	proven fleet.Certificate
	shown  fleet.Shown
}

func (s *trusting) Certificates(fleet.DeviceID) (fleet.Certificate, fleet.Shown) {
	return s.proven, s.shown
}

func (s *trusting) TrustDevice(ctx context.Context, id fleet.DeviceID, pin string) (fleet.DeviceSettings, error) {
	return s.Store.TrustDevice(ctx, id, pin)
}

func TestACertificateIsTrustedAsItWasLookedAt(t *testing.T) {
	w := newWorld(t)
	old, renewed, other := "sha256:"+strings.Repeat("aa", 32), "sha256:"+strings.Repeat("bb", 32),
		"sha256:"+strings.Repeat("cc", 32)
	made := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	certificate := func(fingerprint string) fleet.Certificate {
		return fleet.Certificate{Fingerprint: fingerprint, NotBefore: made, NotAfter: made.AddDate(2, 0, 0)}
	}
	known := &trusting{Store: w.store}
	w.with(func(o *setup) { o.Trust = known })
	const path = Prefix + "/devices/" + string(idA) + "/trust"
	w.want(http.StatusCreated, call{method: http.MethodPut, path: Prefix + "/devices/" + string(idA),
		body:   `{"apiKey":"` + key + `"}`,
		header: http.Header{"Muster-Pin": {old}}})
	const blank = `{"fingerprint":"","notBefore":null,"notAfter":null,"address":"","foundBy":"","at":null}`
	if got := w.get(
		path,
	); got != `{"pinned":{"fingerprint":"`+old+`","notBefore":null,"notAfter":null},"origin":"given","presented":`+blank+`,"altered":false}` {
		t.Errorf("before the first contact: %s", got)
	}
	trust := func(fingerprint string) call {
		return call{method: http.MethodPost, path: path, body: `{"fingerprint":"` + fingerprint + `"}`}
	}
	w.problem(http.StatusConflict, trust(renewed))

	known.proven, known.shown = certificate(old), fleet.Shown{Certificate: certificate(renewed), Address: "10.0.0.7:8384",
		FoundBy: "record", At: made}
	valid := `","notBefore":"2026-01-02T00:00:00.000Z","notAfter":"2028-01-02T00:00:00.000Z"`
	shown := `"presented":{"fingerprint":"` + renewed + valid + `,"address":"10.0.0.7:8384","foundBy":"record","at":"2026-01-02T00:00:00.000Z"},"altered":false}`
	if got := w.get(path); got != `{"pinned":{"fingerprint":"`+old+valid+`},"origin":"given",`+shown {
		t.Errorf("got %s", got)
	}
	w.problem(http.StatusConflict, trust(old))
	w.problem(http.StatusConflict, trust(other))
	w.problem(http.StatusUnprocessableEntity, trust("sha256:bb"))
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: path, body: `{}`})
	w.problem(http.StatusForbidden, call{method: http.MethodPost, path: path, body: trust(renewed).body,
		role: fleet.RoleAuthor})
	if got := w.want(http.StatusOK,
		trust(strings.ToUpper(renewed))); got != `{"pinned":{"fingerprint":"`+renewed+valid+`},"origin":"given",`+shown {
		t.Errorf("got %s", got)
	}

	device := Prefix + "/devices/" + string(idA)
	w.put(device, `{"apiAddress":"elsewhere.example","apiPort":1,"label":"moved"}`)
	if got := w.get(device + "/settings"); !strings.Contains(got, renewed) {
		t.Errorf("another address lost the pin: %s", got)
	}
	for _, pins := range [][]string{{""}, {"sha256:12"}, {old, other}} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPut, path: device, body: `{}`,
			header: http.Header{"Muster-Pin": pins}})
	}
	w.want(http.StatusOK, call{method: http.MethodPut, path: device, body: `{"label":"nas"}`,
		header: http.Header{"Muster-Pin": {other}}})
	if got := w.get(device + "/settings"); !strings.Contains(got, other) {
		t.Errorf("the pin of the registration is not kept: %s", got)
	}
}

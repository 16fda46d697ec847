package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// Devices whose record was altered in the database were left out without a word: the operator took them for trusted.
func TestTrustOfATagNamesTheDevicesThatWereAltered(t *testing.T) {
	t.Setenv("MUSTER_TOKEN", "any")
	altered, renewed := fleet.DeviceIDOf([32]byte{1}), fleet.DeviceIDOf([32]byte{2})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		trust := api.DeviceTrust{Altered: strings.Contains(r.URL.Path, string(altered)),
			Pinned: api.Certificate{Fingerprint: "sha256:01"}}
		if !trust.Altered {
			trust.Presented = api.PresentedCertificate{Certificate: api.Certificate{Fingerprint: "sha256:02"},
				FoundBy: "record"}
		}
		switch {
		case r.Method == http.MethodPost:
			if trust.Altered {
				t.Error("an altered device was trusted")
			}
			trust.Pinned = trust.Presented.Certificate
			_ = json.NewEncoder(w).Encode(trust)
		case strings.HasSuffix(r.URL.Path, "/trust"):
			_ = json.NewEncoder(w).Encode(trust)
		default:
			_ = json.NewEncoder(w).Encode(api.Inventory{Matched: 2, Devices: []api.InventoryDevice{
				{DeviceID: string(altered), Label: "nas"}, {DeviceID: string(renewed), Label: "desk"}}})
		}
	}))
	t.Cleanup(server.Close)
	code, out, errs := run(t, "device", "trust", "--tag", "office", "--yes", "--server", server.URL)
	if code != 0 || !strings.Contains(out, "desk") || !strings.Contains(out, "sha256:02 is pinned") {
		t.Errorf("got %d, %s%s", code, out, errs)
	}
	for _, want := range []string{"nas", "not written by Muster",
		"muster device trust " + altered.Short() + " --fingerprint"} {
		if !strings.Contains(out, want) {
			t.Errorf("got %s, want %q", out, want)
		}
	}
}

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

// How a device is reached could be chosen by the API only.
func TestTheWayOfADeviceIsASetting(t *testing.T) {
	t.Setenv("MUSTER_TOKEN", "any")
	id := string(fleet.DeviceIDOf([32]byte{1}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			_ = json.NewEncoder(w).Encode([]api.Device{{DeviceID: id, Label: "laptop"}})
			return
		}
		var settings api.PutDeviceSettings
		if err := json.NewDecoder(r.Body).Decode(&settings); err != nil || settings.Mode != nil || settings.Way == nil {
			t.Errorf("the body is %+v, %v", settings, err)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"way": *settings.Way})
	}))
	t.Cleanup(server.Close)
	code, out, errs := run(t, "device", "settings", "laptop", "--way", "agent", "--server", server.URL)
	if code != exitDone || !strings.Contains(out, "agent") {
		t.Errorf("got %d and\n%s%s", code, out, errs)
	}
}

package rollout_test

import (
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/server"
)

// waitReason waits until a device is online with a reason that has, or has not, this in it.
func (w *world) waitReason(id fleet.DeviceID, part string, there bool) (state api.DeviceState) {
	w.t.Helper()
	w.WaitState(id, part, func(s api.DeviceState) bool {
		state = s
		return s.Connection == string(fleet.Online) && s.Configuration == string(fleet.ConfigInSync) &&
			strings.Contains(s.Reason, part) == there
	})
	return state
}

func TestARestartIsSaidAndDoneWhereASettingAllowsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, server.Options{})
	d := w.farm.Daemon(0)
	w.template("options", `{"auditEnabled": true}`)
	said := w.waitReason(d.ID(), "restart required", true)
	if !strings.Contains(said.Next, "--no-restart") {
		t.Errorf("got the next step %q", said.Next)
	}
	allowed := true
	settings, err := w.Client.PutDeviceSettings(t.Context(), string(d.ID()), api.PutDeviceSettings{Restart: &allowed})
	if err != nil || !settings.Restart {
		t.Fatalf("got %+v, %v", settings, err)
	}
	w.waitReason(d.ID(), "restart required", false)
	if option(d, "auditEnabled") != "true" || d.Counters().Writes != 2 { // the change, and the restart
		t.Errorf("auditEnabled is %s after %d writes", option(d, "auditEnabled"), d.Counters().Writes)
	}
}

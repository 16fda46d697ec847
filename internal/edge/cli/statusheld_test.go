package cli

import (
	"strings"
	"testing"

	"muster/api"
)

// A device may be failed or contended and have held changes as well: they were left out.
func TestStatusHasTheHeldChangesOfDevicesInAnyState(t *testing.T) {
	for _, configuration := range []string{"held", "failed", "contended", "pending"} {
		states := []api.ListedState{{DeviceID: idLaptop, DeviceState: api.DeviceState{Connection: "online",
			Configuration: configuration, Reason: "template 3 fails"}}}
		address, _ := serving(t, map[string]any{"states": states, "overview": api.Overview{},
			"devices": []api.Device{{DeviceID: idLaptop, Label: "laptop"}}, "consents": heldInTwoPlaces()})
		_, out, errs := run(t, "status", "--server", address, "--token", "x")
		if errs != "" || strings.Count(out, "held: it would be an introducer") != 1 {
			t.Errorf("%s: got\n%s%s", configuration, out, errs)
		}
	}
}

func TestStatusForProgramsHasAListWhereNothingIsHeld(t *testing.T) {
	states := []api.ListedState{{DeviceID: idNAS, DeviceState: api.DeviceState{Connection: "online",
		Configuration: "inSync"}}}
	for name, known := range map[string][]api.ListedState{"a device": states, "no devices": {}} {
		address, _ := serving(t, map[string]any{"states": known, "overview": api.Overview{}, "devices": []api.Device{},
			"consents": []api.HeldGroup{}})
		code, out, errs := run(t, "status", "--server", address, "--token", "x", "-o", "json")
		if code != exitDone || !strings.Contains(out, `"held": []`) {
			t.Errorf("%s: got %d\n%s%s", name, code, out, errs)
		}
	}
}

// Where the held changes cannot be read, the rest of the status was not shown either.
func TestStatusWarnsWhereTheHeldChangesCannotBeRead(t *testing.T) {
	states := []api.ListedState{{DeviceID: idNAS, DeviceState: api.DeviceState{Connection: "online",
		Configuration: "inSync"}}}
	address, _ := serving(t, map[string]any{"states": states, "overview": api.Overview{}, "devices": []api.Device{}})
	for _, output := range []string{"table", "json"} {
		code, out, errs := run(t, "status", "--server", address, "--token", "x", "-o", output)
		if code != exitDone || !strings.HasPrefix(errs, "Warning: the held changes could not be read: ") ||
			!strings.Contains(out, "online") {
			t.Errorf("%s: got %d\n%s%s", output, code, out, errs)
		}
	}
}
